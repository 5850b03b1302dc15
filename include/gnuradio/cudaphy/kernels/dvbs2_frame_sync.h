/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <gnuradio/cudaphy/api.h>
#include <gnuradio/cudaphy/kernels/dvb_mode.h>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>
#include <vector>

namespace gr::cudaphy::kernels {

//! The data symbols of a physical layer frame, and what is known of them.
struct dvbs2_frame {
    dvb_mode mode;
    uint64_t first = 0; //!< the header's first symbol, counted from the first taken
    //! Of the carrier amid the frame, in cycles a symbol, with what was removed before.
    double frequency = 0;
    double noise_variance = 1; //!< E|n|^2 beside symbols of unit energy
    //! mode.symbols() of them, of unit mean energy: header, pilots and scrambling are
    //! gone, frequency and phase are corrected. Of pi/2-BPSK 1 and -1 are left; symbols
    //! that are sent repeatedly are added up, and noise_variance is that of their mean.
    //! Of next() alone.
    std::vector<std::complex<float>> symbols;

    //! Of a symbol as it was sent.
    double es_n0() const { return 1 / (noise_variance * mode.repeats); }
};

/*!
 * \brief Finds the frames of a DVB-S2 or S2X signal among symbols, and takes the carrier
 * off.
 *
 * In: one sample a symbol, of any amplitude, the carrier off by a quarter of the symbol
 * rate or less. Each frame's PLS code says its MODCOD, its size and whether it has
 * pilots, so that they may differ from frame to frame (CCM, VCM, ACM). A frame counts as
 * found if the next one's header is where its own one says. What came before the first
 * frame that was found is searched backwards, as far as 2^19 symbols.
 *
 * Frequency and phase are estimated by headers and pilots; in frames without pilots by
 * the data symbols too. No frame is put out before the frequency is certain. Frames wait
 * for that, for 40 frames at most; none is lost.
 *
 * What is decided is decided on the host. On CUDA the symbols of frames are corrected on
 * the GPU, which reads them from page-locked memory of the host, and lie there.
 * The 990 symbols of a VL-SNR frame's headers are enough for a lock, at an Es/N0 of -10
 * dB. Looking for them takes time without a lock, and makes the others wait for 900
 * symbols, so it is an option.
 *
 * Symbols that are not finite or are larger than 1e15 count as zeros. Memory is bounded
 * if next() is called until it gives no more. One thread at a time.
 * (ETSI EN 302 307-1, section 5.5; EN 302 307-2, section 5.5.)
 */
class CUDAPHY_API dvbs2_frame_sync
{
public:
    struct parameters {
        int gold_code = 0; //!< of the physical layer scrambling, 0 to 262142
        //! Of the frames that are put out, as dvb_mode has them; empty: all.
        std::vector<int> pls;
        double most_frequency = 0.25; //!< of the carrier, cycles a symbol, at most 0.25
        //! Look for VL-SNR frames too. Any of `pls` that is one implies it.
        bool vl_snr = false;
        backend where = backend::cpu; //!< that corrects the symbols; automatic: cuda
        int device = 0;               //!< index of the GPU
    };

    //! What happened since the object was made.
    struct counts {
        uint64_t frames = 0;       //!< put out
        uint64_t dummy_frames = 0; //!< skipped
        uint64_t filtered = 0;     //!< found, and not among parameters::pls
        uint64_t cut = 0;          //!< frames that a gap cut
        uint64_t lost_locks = 0;   //!< times that headers were not where they must be
    };

    virtual ~dvbs2_frame_sync() = default;

    virtual void take(const std::complex<float>* symbols, size_t count) = 0;
    /*!
     * Says that another carrier offset is removed before, from the next symbol on. Frames
     * stay in lock, because what changes is put back.
     * \param offset  in cycles a symbol
     * \param turns   what it has taken from the next symbol more than the offset before
     *                would have, in cycles
     */
    virtual void removed(double offset, double turns) = 0;
    //! Symbols are missing between what was taken and what will be.
    virtual void gap() = 0;
    //! No more symbols come: frames that wait are put out. take() begins anew.
    virtual void finish() = 0;
    //! The next frame, with its symbols; false if there is none by now. All symbols of
    //! frames that next_without_symbols() gave must have been written.
    virtual bool next(dvbs2_frame& frame) = 0;
    //! The next frame without its symbols, which symbols() gives.
    virtual bool next_without_symbols(dvbs2_frame& frame) = 0;
    //! Submits the writing of symbols of the frames that next_without_symbols() gave: as
    //! many as `out` has room for, from the first one on that was not written yet.
    //! \param out  memory that the queue reaches
    //! \param work_queue  of the backend and device of the parameters
    //! \throws std::invalid_argument if there are not so many, or the queue is of another
    //! backend; cuda_error; std::bad_alloc
    virtual void symbols(view<std::complex<float>> out, queue& work_queue) = 0;

    //! No frame that next() gives later begins before this symbol.
    virtual uint64_t oldest() const = 0;

    virtual counts so_far() const = 0;
    virtual bool is_locked() const = 0;
    //! Of the last frame, dummy frames and filtered ones too: 0 before the first.
    virtual double frequency() const = 0;
    virtual double es_n0() const = 0;

    //! \throws std::invalid_argument if a parameter is out of range, backend_unavailable,
    //! std::bad_alloc if CUDA has no page-locked memory
    static std::unique_ptr<dvbs2_frame_sync> make(const parameters& p);
};

} // namespace gr::cudaphy::kernels
