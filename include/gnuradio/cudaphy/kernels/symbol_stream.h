/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <functional>
#include <gnuradio/cudaphy/kernels/symbol_sync.h>

namespace gr::cudaphy::kernels {

class carrier_search;

/*!
 * \brief Samples in the host's memory to symbols in the host's memory: symbol_sync on any
 * backend, behind a search for the carrier.
 *
 * The search compares spectra a symbol rate apart (carrier_search.h), on the host. Until
 * it has found a carrier, the last 34 to 36 pieces of samples are held back, of 512 to
 * 2048 symbols each. After every 2 pieces the search looks at the last 8, 16 and 32 of
 * them: a strong signal shows itself in a part of a piece. When there is a carrier three
 * times on end, all that is held is given, so that no symbol is lost if a signal comes.
 * From then on nothing is held back, and one piece in 16 is looked at, or in 64 before a
 * GPU. If 32 of them show an offset that differs from what is removed by more than
 * roll_off / 8 symbol rates, or the first 8 by three times as much, it is removed from
 * the next sample on; smaller ones stay on the symbols. Samples are held back again if
 * the line at the symbol rate stays weak.
 */
class CUDAPHY_API symbol_stream
{
public:
    //! Makes memory of the host for results.
    using allocator = std::function<std::shared_ptr<void>(size_t bytes)>;

    /*!
     * \param most_offset  of the carrier, in symbol rates, 0..0.5; 0: no search. The band
     *                     with its offset must fit into the sample rate: if not, less is
     *                     searched.
     * \param memory       page-locked for a GPU; empty: ordinary
     * \throws as symbol_sync::make(); std::invalid_argument if most_offset is out of
     * range
     */
    symbol_stream(const symbol_sync_parameters& p,
                  double most_offset,
                  const resolved_backend& on,
                  allocator memory = {});
    ~symbol_stream();

    //! Samples that feed() takes at once.
    size_t most_samples() const { return d_parameters.most_samples; }
    const symbol_sync_parameters& parameters() const { return d_parameters; }
    //! A line that noise alone does not make: 2.5 times that of noise.
    double line_of_signal() const { return 2.5 * d_kernel->line_of_noise(); }
    //! The carrier offset that is removed from samples now, in cycles a sample.
    double frequency() const { return d_frequency; }

    //! Computes what most_samples() samples at most give. `end`: a new stream begins
    //! behind them.
    void feed(const void* samples, size_t count, bool end);
    void restart();

    //! From a sample of the stream on, so much is removed, in cycles a sample.
    struct carrier_change {
        int64_t sample;
        double frequency;
    };

    // What the last feed() has given.
    view<const symbol_block> blocks() const { return d_blocks; }
    view<const complex64> symbols() const { return d_symbols; }
    //! Changes that the last feed() has made.
    const std::vector<carrier_change>& changes() const { return d_changes; }

private:
    //! What one run of the kernel gives, in the host's memory.
    struct result {
        view<const symbol_block> blocks;
        view<const complex64> symbols;
    };
    result run(const unsigned char* samples, size_t count, bool end);
    result follow(const unsigned char* samples, size_t count, bool end);
    void keep(const result& got);
    bool has_pieces(bool end) const;
    bool search_held(bool end);
    bool follow_held(bool end);
    void run_held(size_t bytes, bool searched, bool end);
    void watch(const unsigned char* samples, size_t count);
    double least_change() const;
    void remove(double offset, double least);
    void watch_line(view<const symbol_block> blocks);

    symbol_sync_parameters d_parameters;
    std::unique_ptr<queue> d_queue;
    std::unique_ptr<symbol_sync> d_kernel;
    std::unique_ptr<carrier_search> d_search; //!< none: no search
    allocator d_allocator;
    size_t d_sample_bytes;
    size_t d_pieces_between; //!< that are not looked at

    double d_frequency = 0;
    int64_t d_computed = 0; //!< samples of the stream that the kernel has taken
    std::vector<carrier_change> d_changes;
    bool d_holds = false;
    int d_found = 0;                    //!< times on end that a search found a carrier
    size_t d_weak = 0;                  //!< blocks on end whose line may be one of noise
    std::vector<unsigned char> d_held;  //!< samples that wait for the search
    size_t d_searched = 0;              //!< pieces of these that were looked at
    size_t d_ahead = 0;                 //!< behind these, whose spectra were compared
    std::vector<unsigned char> d_piece; //!< the one that is looked at
    size_t d_skip = 0;                  //!< samples before the next piece
    size_t d_watched = 0;               //!< pieces that were looked at, of a signal

    array<unsigned char> d_samples;          //!< on a GPU
    array<unsigned char> d_results;          //!< blocks, and then symbols
    std::shared_ptr<void> d_memory;          //!< of the host, for the results
    std::vector<symbol_block> d_held_blocks; //!< what was held gives
    std::vector<complex64> d_held_symbols;
    view<const symbol_block> d_blocks;
    view<const complex64> d_symbols;
};

} // namespace gr::cudaphy::kernels
