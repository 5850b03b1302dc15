/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/dvb/frame_sync/frame_layout.h"
#include "kernels/dvb/frame_sync/frequency_search.h"
#include "kernels/dvb/frame_sync/header_tracker.h"
#include "kernels/dvb/frame_sync/phase_table.h"
#include "kernels/dvb/frame_sync/phase_tracker.h"
#include <map>
#include <memory>
#include <optional>

namespace gr::cudaphy::kernels {

constexpr size_t most_frame_symbols = 1 << 16;

//! The carrier of a frame's data symbols.
struct corrected_frame {
    double frequency;      //!< amid the frame, in cycles a symbol
    double noise_variance; //!< beside symbols of unit energy
    std::vector<carrier_segment> segments;
};

//! Estimates frequency, phase, amplitude and noise of the frames of a signal, one after
//! another.
class frame_carrier
{
public:
    explicit frame_carrier(int gold_code);

    //! Another signal: nothing is known.
    void restart();
    //! Whether the frequency is known, so that follow() may be called. follow() may give
    //! it up: then learn() begins with the next frame.
    bool is_certain() const { return d_is_certain; }
    //! Learns the frequency from frames in their order. `next`: the header behind it, if
    //! there is one.
    void learn(const symbol_buffer& symbols,
               const frame_header& frame,
               const frame_header* next);
    //! No more is learnt: takes the likeliest frequency.
    void settle();
    //! Follows the carrier over a frame, each frame in turn from the first one learnt.
    //! Segments count from the frame's first symbol.
    corrected_frame follow(const symbol_buffer& symbols,
                           const frame_header& frame,
                           const frame_header* next);

    double frequency() const { return d_tracker.frequency(); }

private:
    struct known_part {
        int at, count;
        const std::complex<float>* conjugate; //!< of the symbols that were sent
    };
    struct mode_kind {
        dvb_mode mode;
        frame_layout layout;
        std::vector<std::complex<float>> points; //!< empty: phases tell nothing
    };

    //! The mean energy of a header's symbols, and the signal's part of it.
    struct header_energies {
        double of_symbols, of_signal;
    };
    //! Sums over the last frames that were followed, older ones with less weight.
    struct followed_frames {
        double frames = 0, symbols = 0, real = 0, header_power = 0;

        //! Known symbols, their real parts without carrier, and the power of the signal
        //! by the header alone.
        void add(double known, double real_sum, double power)
        {
            constexpr double memory = 0.8;
            frames = memory * frames + 1;
            symbols = memory * symbols + known;
            real = memory * real + real_sum;
            header_power = memory * header_power + power;
        }
    };

    const mode_kind& kind_of(int pls);
    std::vector<known_part> known_parts(const frame_header& frame,
                                        const frame_header* next);
    known_part header_part(int pls, int at);
    static std::vector<known_part> split(const std::vector<known_part>& parts);
    //! The table for data of this kind at the present noise; null if there is none.
    const phase_table* table_of(int pls);
    header_energies energies_of_header(const symbol_buffer& symbols,
                                       const frame_header& frame);
    bool is_astray() const;
    void measure_header(const symbol_buffer& symbols, const frame_header& frame);
    void check_frequency(const frame_header& frame, double frequency);
    void measure_parts(const symbol_buffer& symbols,
                       const frame_header& frame,
                       const std::vector<known_part>& parts,
                       const std::vector<phase_point>& points,
                       double frequency);
    void add_segments(const mode_kind& kind,
                      const std::vector<phase_point>& points,
                      double frequency,
                      std::vector<carrier_segment>& to) const;
    std::complex<float> clipped(std::complex<float> symbol) const;

    std::vector<std::complex<float>> d_pilots; //!< conjugate, of each place in a frame
    std::map<int, mode_kind> d_kinds;
    std::map<int, std::vector<std::complex<float>>> d_headers;
    std::map<std::pair<std::string, int>, phase_table> d_tables;

    bool d_is_certain = false;
    std::optional<frequency_search> d_search;
    phase_tracker d_tracker;
    //! How far headers are from the frequency, averaged over so many, and the variance of
    //! that.
    double d_error = 0, d_error_spread = 0;
    int d_checked = 0;
    int d_misfits = 0; //!< frames one after another that the tracker did not fit
    //! Of known symbols, older ones with less weight: their number, their real parts
    //! without carrier, and their energy.
    double d_weight = 0, d_real = 0, d_energy = 0;
    double d_amplitude = 1, d_noise = 1;
    followed_frames d_followed;
    int d_most_bits = 0; //!< a symbol, of the frames that were learnt from
    double d_header_power = 0, d_header_energy = 0;
    int d_headers_measured = 0;
    std::vector<std::complex<float>> d_sums;
};

} // namespace gr::cudaphy::kernels
