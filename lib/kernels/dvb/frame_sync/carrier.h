/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <gnuradio/cudaphy/kernels/queue.h>
#include <memory>

namespace gr::cudaphy::kernels {

//! Data symbols that follow one another, over which the carrier's frequency is constant.
struct carrier_segment {
    size_t in;        //!< first symbol of the input
    size_t out;       //!< first symbol of the output
    uint32_t count;   //!< symbols
    uint32_t place;   //!< of the first symbol in the scrambling sequence
    double phase;     //!< of the carrier at the first symbol, in cycles
    double frequency; //!< cycles a symbol
    float gain;       //!< by which amplitudes are multiplied
};

/*!
 * \brief Takes carrier and scrambling off data symbols:
 * out[i] = gain in[i] exp(-2 pi j (phase + frequency i)) j^-R(place + i).
 *
 * R are the quarter turns of pl_scrambling(). Segments may lie in any order.
 */
class carrier_corrector
{
public:
    struct parameters {
        int gold_code = 0;
        size_t most_place = 1 << 16; //!< symbols of the scrambling sequence
    };
    virtual ~carrier_corrector() = default;

    //! Submits the correction to a queue of the corrector's backend.
    //! \param in  memory of the host, on CUDA page-locked: symbols stay there until
    //! wait() returns. The segments are read before run() returns.
    //! \param out  memory that the queue reaches
    virtual void run(const std::complex<float>* in,
                     std::complex<float>* out,
                     const carrier_segment* segments,
                     size_t count,
                     queue& queue) const = 0;
    //! Waits until all symbols have been read.
    virtual void wait() const {}

    //! \throws std::invalid_argument if there is no such Gold code, backend_unavailable
    static std::unique_ptr<carrier_corrector>
    make(const parameters& p, backend where = backend::cpu, int device = 0);
};

std::unique_ptr<carrier_corrector>
make_carrier_corrector_reference(const carrier_corrector::parameters& p);
std::unique_ptr<carrier_corrector>
make_carrier_corrector_cpu(const carrier_corrector::parameters& p);
std::unique_ptr<carrier_corrector>
make_carrier_corrector_cuda(const carrier_corrector::parameters& p, int device);

} // namespace gr::cudaphy::kernels
