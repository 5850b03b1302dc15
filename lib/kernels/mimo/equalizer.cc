/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/dispatch.h"
#include "kernels/mimo/equalizer_makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

void check_range(const char* what, int value, int least, int most)
{
    if (value < least || value > most) {
        throw std::invalid_argument(
            std::string("equalizer: ") + what + " is " + std::to_string(value) +
            ", allowed are " + std::to_string(least) + " to " + std::to_string(most));
    }
}

void check_size(const char* what, size_t size, size_t wanted)
{
    if (size != wanted) {
        throw std::invalid_argument(std::string("equalizer: ") + what + " has " +
                                    std::to_string(size) + " items, " +
                                    std::to_string(wanted) + " fit the channel given");
    }
}

} // namespace

detector detector_from_name(const std::string& name)
{
    if (name == "zf") {
        return detector::zero_forcing;
    }
    if (name == "mmse") {
        return detector::mmse;
    }
    throw std::invalid_argument("detector \"" + name + "\" is none of \"zf\", \"mmse\"");
}

std::unique_ptr<equalizer> equalizer::make(const parameters& p, backend where, int device)
{
    check_range("receive_antennas", p.receive_antennas, 1, 16);
    check_range("layers", p.layers, 1, p.receive_antennas);
    check_range("symbols", p.symbols, 1, 65536);
    check_range("tones", p.tones, 1, 65536);
    if (p.method != detector::zero_forcing && p.method != detector::mmse) {
        throw std::invalid_argument("equalizer: method is " +
                                    std::to_string(static_cast<int>(p.method)) +
                                    ", allowed are zero_forcing and mmse");
    }
    return dispatch(
        where,
        device,
        [&] { return make_equalizer_reference(p); },
        [&] { return make_equalizer_cpu(p); },
        [&](int index) { return make_equalizer_cuda(p, index); });
}

size_t equalizer_groups(const equalizer::parameters& p,
                        size_t y,
                        size_t h,
                        size_t n0,
                        size_t x,
                        size_t noise,
                        size_t status)
{
    const size_t matrix = size_t(p.receive_antennas) * p.layers;
    const size_t group = matrix * p.tones;
    if (h % group) {
        throw std::invalid_argument("equalizer: h has " + std::to_string(h) +
                                    " items, allowed are multiples of " +
                                    std::to_string(group) + " (tones * Nr * Nt)");
    }
    const size_t groups = h / group;
    const size_t vectors = groups * p.symbols * p.tones;
    check_size("y", y, vectors * p.receive_antennas);
    check_size("x", x, vectors * p.layers);
    check_size("noise", noise, vectors * p.layers);
    check_size("status", status, groups * p.tones);
    if (n0 != 1) {
        check_size("n0 (unless 1)", n0, groups);
    }
    return groups;
}

equalizer_items::equalizer_items(const equalizer::parameters& p, size_t groups)
    : matrices(groups * p.tones), chunk(std::min(p.symbols, std::max(16, 4 * p.layers))),
      items(matrices * ((p.symbols + chunk - 1) / chunk))
{
}

} // namespace gr::cudaphy::kernels
