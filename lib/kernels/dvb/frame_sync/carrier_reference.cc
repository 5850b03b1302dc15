/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/pi.h"
#include "kernels/dvb/frame_sync/carrier.h"
#include "kernels/dvb/frame_sync/pl_scrambler.h"
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

class corrector_reference : public carrier_corrector
{
public:
    explicit corrector_reference(const parameters& p)
        : d_turns(pl_scrambling(p.gold_code, p.most_place))
    {
    }

    void run(const std::complex<float>* in,
             std::complex<float>* out,
             const carrier_segment* segments,
             size_t count,
             queue&) const override
    {
        for (size_t s = 0; s < count; ++s) {
            const auto& one = segments[s];
            for (uint32_t i = 0; i < one.count; ++i) {
                const double cycles =
                    one.phase + one.frequency * i + 0.25 * d_turns[one.place + i];
                const auto turn =
                    std::polar<double>(one.gain, -2 * pi * std::remainder(cycles, 1.0));
                out[one.out + i] = static_cast<std::complex<float>>(
                    static_cast<std::complex<double>>(in[one.in + i]) * turn);
            }
        }
    }

private:
    const std::vector<uint8_t> d_turns;
};

} // namespace

std::unique_ptr<carrier_corrector>
make_carrier_corrector_reference(const carrier_corrector::parameters& p)
{
    return std::make_unique<corrector_reference>(p);
}

} // namespace gr::cudaphy::kernels
