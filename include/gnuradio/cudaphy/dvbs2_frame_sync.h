/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/cudaphy/api.h>
#include <string>
#include <vector>

namespace gr::cudaphy {

/*!
 * \brief Finds the frames of a DVB-S2 or S2X signal, and puts out their data symbols.
 * \ingroup cudaphy
 *
 * In: complex symbols, one sample each, of any amplitude; the carrier may be off by a
 * quarter of the symbol rate. Out: of each frame the data symbols as a packet: header,
 * pilots and scrambling are gone, frequency and phase are corrected, the mean energy is
 * 1. kernels::dvbs2_frame_sync says how. Each frame's PLS code says its MODCOD, its size
 * and whether it has pilots. Dummy frames are skipped and counted.
 *
 * Places, codes, frequencies and phases are decided on the CPU. The symbols of frames are
 * corrected there or on a GPU, where they stay for the block behind.
 *
 * Frames that came before the lock, and the last one before the stream's end, are put
 * out too. If a tag `rx_time` comes behind the first symbol, symbols are missing before
 * it: the frame that is cut is dropped and counted. Symbols that are not finite or are
 * larger than 1e15 count as zeros. Tags `carrier_offset` and `carrier_turns` of Symbol
 * Sync say that it removes another carrier offset: what changes is put back, so that no
 * frame is lost, and frequencies below include what Symbol Sync removes.
 *
 * Tags on a packet's first symbol: the length tag (long); `pls` (long); `modcod` (symbol,
 * such as "QPSK 1/2 normal, pilots"); `constellation`, `bit_interleaver`, `ldpc_code` and
 * `bch_code` (symbols: names that kernels::dvb_mode gives); `noise_variance` (double,
 * E|n|^2 beside symbols of unit energy); `esn0` (double, dB); `frequency` (double, cycles
 * a symbol). Of VL-SNR frames, `pls` is 256 and the number of the VL-SNR header, and
 * `esn0` is that of a symbol as it was sent, before what is sent repeatedly is added up.
 * `rx_time`, `rx_rate` and `rx_freq` go to the next frame that begins at them
 * or later; other tags are dropped.
 *
 * Message ports: `noise_variance`, a double for each frame, for Soft Demapper; `status`
 * once a second while symbols come, a dictionary: locked (bool), modcod (symbol), esn0
 * (dB), frequency (cycles a symbol), frames, dummy_frames, filtered, dropped, lost_locks.
 */
class CUDAPHY_API dvbs2_frame_sync : virtual public gr::block
{
public:
    typedef std::shared_ptr<dvbs2_frame_sync> sptr;

    /*!
     * \param gold_code       of the physical layer scrambling, 0 to 262142
     * \param pls             of the frames that are put out, as kernels::dvb_mode has
     *                        them; empty: all
     * \param length_tag_key  names the tag with a packet's length
     * \param most_frequency  of the carrier that is searched, in cycles a symbol, up to
     *                        0.25
     * \param vl_snr          look for VL-SNR frames of S2X too; any of `pls` that is one,
     *                        256 and more, implies it
     * \param backend         that corrects the frames' symbols: "auto", "cuda", "cpu" or
     *                        "reference"; "auto" is the GPU if a block behind takes the
     *                        symbols there, else the CPU
     * \param device          index of the GPU
     * \throws std::invalid_argument if a parameter is out of range, or the key is empty;
     * backend_unavailable
     */
    static sptr make(int gold_code = 0,
                     const std::vector<int>& pls = {},
                     const std::string& length_tag_key = "packet_len",
                     double most_frequency = 0.25,
                     bool vl_snr = false,
                     const std::string& backend = "auto",
                     int device = 0);

    // Since the flowgraph started. Any thread may call these.

    virtual bool locked() const = 0;
    virtual uint64_t frames() const = 0;       //!< put out
    virtual uint64_t dummy_frames() const = 0; //!< skipped
    virtual uint64_t filtered() const = 0; //!< of other PLS codes than those asked for
    virtual uint64_t dropped() const = 0;  //!< cut where symbols are missing
    //! How often headers were no longer where they must be.
    virtual uint64_t lost_locks() const = 0;
    virtual double frequency() const = 0; //!< of the last frame, in cycles a symbol
    virtual double esn0() const = 0;      //!< of the last frame, in dB
    //! Of the last frame that was put out; empty before.
    virtual std::string modcod() const = 0;
    //! The backend in use: "cuda", "cpu" or "reference". Of "auto", once it has started.
    virtual std::string backend() const = 0;
};

} // namespace gr::cudaphy
