/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/common/sizes.h"
#include "kernels/mimo/checks.h"
#include "kernels/mimo/equalizer/makers.h"
#include <algorithm>

namespace gr::cudaphy::kernels {
namespace {

constexpr argument_checks check{ "equalizer" };

} // namespace

detector detector_from_name(const std::string& name)
{
    if (name == "zf") {
        return detector::zero_forcing;
    }
    if (name == "mmse") {
        return detector::mmse;
    }
    if (name == "mmse_irc") {
        return detector::mmse_irc;
    }
    if (name == "mrc") {
        return detector::max_ratio;
    }
    throw std::invalid_argument("detector \"" + name +
                                "\" is none of \"zf\", \"mmse\", \"mmse_irc\", \"mrc\"");
}

equalizer_route equalizer_route_from_name(const std::string& name)
{
    if (name == "solve") {
        return equalizer_route::solve;
    }
    if (name == "inverse") {
        return equalizer_route::inverse;
    }
    throw std::invalid_argument("route \"" + name +
                                "\" is none of \"solve\", \"inverse\"");
}

std::unique_ptr<equalizer> equalizer::make(const parameters& p, backend where, int device)
{
    check.range("receive_antennas", p.receive_antennas, 1, most_antennas);
    // Zero forcing alone needs as many antennas.
    const int most =
        p.method == detector::zero_forcing ? std::min(p.receive_antennas, 16) : 16;
    check.range("layers", p.layers, 1, most);
    check.range("symbols", p.symbols, 1, 65536);
    check.range("tones", p.tones, 1, 65536);
    checked_product("equalizer: symbols * tones * receive_antennas",
                    1 << 30,
                    { p.symbols, p.tones, p.receive_antennas });
    if (p.method < detector::zero_forcing || p.method > detector::max_ratio) {
        check.refuse("method is " + std::to_string(static_cast<int>(p.method)) +
                     ", allowed are zero_forcing, mmse, mmse_irc and max_ratio");
    }
    if (p.route == equalizer_route::inverse) {
        if (p.method != detector::zero_forcing && p.method != detector::mmse) {
            check.refuse("the route inverse is for zero_forcing and mmse");
        }
        // Of more antennas both routes are the Gram matrix's.
        if (p.receive_antennas <= most_solved_antennas) {
            return make_equalizer_by_inverse(p, where, device);
        }
    }
    return make_kernel<equalizer>(where, device, p);
}

equalizer_shape shape_of(const equalizer::parameters& p, const equalizer_run& given)
{
    const size_t antennas = p.receive_antennas;
    const size_t group = antennas * p.layers * p.tones;
    const size_t h = given.h.size();
    if (h % group) {
        check.refuse("h has " + std::to_string(h) + " items, allowed are multiples of " +
                     std::to_string(group) + " (tones * Nr * Nt)");
    }
    equalizer_shape shape{ p.receive_antennas, p.layers,  p.tones,
                           size_t(p.symbols),  h / group, 1 };
    const size_t given_groups = shape.groups;
    const size_t step = antennas * p.symbols * p.tones;
    const bool one_variance = given.covariance.empty()
                                  ? given.n0.size() == 1
                                  : given.covariance.size() == antennas * antennas;
    if (shape.groups == 1 && one_variance && !given.y.empty() &&
        given.y.size() % step == 0) {
        shape.symbols *= given.y.size() / step; // one channel for all groups
    }
    const size_t vectors = given_groups * p.tones * shape.symbols;
    const char* const given_by = "the channel given";
    check.size("y", given.y.size(), vectors * antennas, given_by);
    check.size("x", given.x.size(), vectors * p.layers, given_by);
    check.size("noise", given.noise.size(), vectors * p.layers, given_by);
    check.size("status", given.status.size(), given_groups * p.tones, given_by);
    if (given.covariance.empty()) {
        shape.variances = given.n0.size();
        if (shape.variances != 1) {
            check.size("n0 (unless 1)", shape.variances, given_groups, given_by);
        }
    } else {
        const size_t square = antennas * antennas;
        shape.variances = given.covariance.size() / square;
        if (given.covariance.size() != square &&
            given.covariance.size() != square * shape.matrices()) {
            check.size("covariance (unless one matrix, or one a tone)",
                       given.covariance.size(),
                       given_groups * square,
                       given_by);
        }
    }
    return shape;
}

equalizer_items::equalizer_items(const equalizer_shape& shape)
    : matrices(shape.matrices()),
      chunk(std::max<size_t>(
          1, std::min<size_t>(shape.symbols, std::max(16, 4 * shape.layers)))),
      items(matrices * ((shape.symbols + chunk - 1) / chunk))
{
}

void equalizer_backend::run(view<const complex64> y,
                            view<const complex64> h,
                            view<const float> n0,
                            view<complex64> x,
                            view<float> noise,
                            view<int> status,
                            queue& queue)
{
    const equalizer_run given{ y, h, n0, {}, x, noise, status };
    equalize(shape_of(d_p, given), given, queue);
}

void equalizer_backend::run(view<const complex64> y,
                            view<const complex64> h,
                            view<const complex64> covariance,
                            view<complex64> x,
                            view<float> noise,
                            view<int> status,
                            queue& queue)
{
    if (d_p.method != detector::mmse_irc) {
        check.refuse("a covariance is for mmse_irc alone");
    }
    if (covariance.empty() && !h.empty()) {
        check.refuse("the covariance is empty");
    }
    const equalizer_run given{ y, h, {}, covariance, x, noise, status };
    equalize(shape_of(d_p, given), given, queue);
}

} // namespace gr::cudaphy::kernels
