/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

// Shared by the tests of the channel estimator over tones and times: channels, samples
// received over them, and the least error in theory. Include it once, in a test program.

#include "kernels/common/testing.h"
#include <cmath>
#include <functional>
#include <gnuradio/cudaphy/kernels/pilot_pattern.h>

namespace gr::cudaphy::testing {

using namespace gr::cudaphy::kernels;
using parameters = channel_estimator::parameters;
using complex = std::complex<double>;

//! H of one slot: (pilot symbol or time, tone, antenna, layer).
using channel = std::function<complex(double time, int tone, int r, int t)>;

struct result {
    std::vector<complex64> h;
    std::vector<float> n0;
    std::vector<int> status;
};

inline int number(const parameters& p, int k)
{
    return p.tone_numbers.empty() ? k : p.tone_numbers[k];
}

inline int symbols_of(const parameters& p)
{
    return int(p.pilots.size()) / p.layers / (p.pilots_by_tone ? p.tones : 1);
}

inline double time_of(const parameters& p, int symbol)
{
    return p.pilot_times.empty() ? symbol : p.pilot_times[symbol];
}

inline size_t items_of(const parameters& p)
{
    return size_t(symbols_of(p)) * p.tones * p.receive_antennas;
}

//! Appends one received slot. Where no layer sends a pilot, the sample is NaN.
inline void
receive(const parameters& p, const channel& h, double n0, std::vector<complex64>& y)
{
    const auto noise = gaussian<complex64>(items_of(p));
    size_t at = 0;
    for (int s = 0; s < symbols_of(p); ++s) {
        for (int k = 0; k < p.tones; ++k) {
            for (int r = 0; r < p.receive_antennas; ++r) {
                complex sum = 0;
                bool silent = true;
                for (int t = 0; t < p.layers; ++t) {
                    const complex64 pilot =
                        p.pilots[(p.pilots_by_tone ? s * p.tones + k : s) * p.layers + t];
                    silent = silent && pilot == complex64(0);
                    sum += complex(pilot) * h(time_of(p, s), k, r, t);
                }
                const complex other = silent ? complex(NAN, 5) : 0;
                y.emplace_back(sum + other + std::sqrt(n0) * complex(noise[at++]));
            }
        }
    }
}

inline result run(const parameters& p,
                  const std::vector<complex64>& received,
                  backend where = tested_backend())
{
    auto q = queue::make(where);
    const size_t batch = received.size() / items_of(p);
    const size_t times = std::max<size_t>(1, p.times.size());
    const array<complex64> there(*q, view<const complex64>(received));
    auto h =
        poisoned<complex64>(*q, batch * times * p.tones * p.receive_antennas * p.layers);
    auto n0 = poisoned<float>(*q, batch * times);
    auto status = poisoned<int>(*q, batch);
    channel_estimator::make(p, where)->run(there, h, n0, status, *q);
    return { h.to_host(), n0.to_host(), status.to_host() };
}

//! A channel with exactly the assumed correlation over tones and times. It has many
//! paths, with exponentially distributed delays and Clarke's distribution of Doppler
//! shifts.
inline channel random_channel(const parameters& p)
{
    const int paths = 40;
    std::exponential_distribution<double> delay(p.delay_spread ? 1 / p.delay_spread
                                                               : 1e9);
    std::uniform_real_distribution<double> angle(0, 2 * M_PI);
    const auto normal =
        gaussian<complex64>(size_t(paths) * p.receive_antennas * p.layers);
    const double scale = 1 / std::sqrt(double(paths));
    // (receive antenna, layer, tone, path), or without paths if all times are alike
    const int kept_paths = p.doppler == 0 ? 1 : paths;
    std::vector<complex> over_tones(normal.size() / paths * p.tones * kept_paths);
    std::vector<double> shifts;
    for (size_t i = 0; i < normal.size(); ++i) {
        const double phase = -2 * M_PI * (p.first_delay + delay(generator()));
        const complex a_tone = std::polar(1.0, phase);
        complex path = 0;
        for (int k = 0; k < p.tones; ++k) {
            const bool next = k % 64 != 0 && number(p, k) == number(p, k - 1) + 1;
            path =
                next ? path * a_tone
                     : scale * complex(normal[i]) * std::polar(1.0, phase * number(p, k));
            over_tones[(i / paths * p.tones + k) * kept_paths + i % kept_paths] += path;
        }
        shifts.push_back(p.doppler * std::cos(angle(generator())));
    }
    if (p.doppler == 0) {
        return [=, layers = p.layers, tones = p.tones](double, int k, int r, int t) {
            return over_tones[(r * layers + t) * tones + k];
        };
    }
    // Callers ask for all tones of a time.
    struct instant {
        double time = std::nan("");
        std::vector<complex> turns;
    };
    return [=, layers = p.layers, tones = p.tones, now = instant()](
               double time, int k, int r, int t) mutable {
        if (time != now.time) {
            now.time = time;
            now.turns.clear();
            for (const double shift : shifts) {
                now.turns.push_back(std::polar(1.0, 2 * M_PI * shift * time));
            }
        }
        const size_t antenna_and_layer = r * layers + t;
        const complex* path = &over_tones[(antenna_and_layer * tones + k) * paths];
        const complex* turn = &now.turns[antenna_and_layer * paths];
        double re = 0, im = 0;
        for (int i = 0; i < paths; ++i) {
            re += path[i].real() * turn[i].real() - path[i].imag() * turn[i].imag();
            im += path[i].real() * turn[i].imag() + path[i].imag() * turn[i].real();
        }
        return complex(re, im);
    };
}

//! A Gaussian channel with the correlation over tones that is assumed, the same at all
//! times: a Cholesky factor times independent numbers.
inline channel gaussian_channel(const parameters& p)
{
    const int n = p.tones;
    std::vector<std::vector<complex>> l(n, std::vector<complex>(n));
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            const double phase = 2 * M_PI * (number(p, i) - number(p, j));
            complex sum = std::polar(1.0, -phase * p.first_delay) /
                              complex(1, phase * p.delay_spread) +
                          (i == j ? 1e-9 : 0);
            for (int k = 0; k < j; ++k) {
                sum -= l[i][k] * std::conj(l[j][k]);
            }
            l[i][j] = i == j ? std::sqrt(sum.real()) : sum / l[j][j].real();
        }
    }
    const size_t pairs = size_t(p.receive_antennas) * p.layers;
    const auto normal = gaussian<complex64>(pairs * n);
    std::vector<complex> h(pairs * n);
    for (size_t pair = 0; pair < pairs; ++pair) {
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k <= i; ++k) {
                h[pair * n + i] += l[i][k] * complex(normal[pair * n + k]);
            }
        }
    }
    return [h, n, layers = p.layers](double, int k, int r, int t) {
        return h[size_t(r * layers + t) * n + k];
    };
}

//! Solves A x = b by Gauss with pivots of the largest magnitude.
std::vector<complex> solve(std::vector<std::vector<complex>> a, std::vector<complex> b)
{
    const size_t n = b.size();
    for (size_t i = 0; i < n; ++i) {
        size_t best = i;
        for (size_t j = i; j < n; ++j) {
            best = std::abs(a[j][i]) > std::abs(a[best][i]) ? j : best;
        }
        std::swap(a[i], a[best]);
        std::swap(b[i], b[best]);
        for (size_t j = i + 1; j < n; ++j) {
            const complex f = a[j][i] / a[i][i];
            for (size_t k = i; k < n; ++k) {
                a[j][k] -= f * a[i][k];
            }
            b[j] -= f * b[i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; ++k) {
            b[i] -= a[i][k] * b[k];
        }
        b[i] /= a[i][i];
    }
    return b;
}

//! The least mean square error of any linear estimator of layer 0 on tone k from all
//! received pilots: 1 - r C^-1 r^H (Kay, vol. 1, ch. 12).
inline double least_error(const parameters& p, double n0, int k)
{
    const auto rho = [&](int a, int b) {
        const double phase = 2 * M_PI * (number(p, a) - number(p, b));
        return std::polar(1.0, -phase * p.first_delay) /
               complex(1, phase * p.delay_spread);
    };
    std::vector<std::vector<complex>> c;
    std::vector<complex> r;
    const auto pilot = [&](int s, int tone, int t) {
        return complex(
            p.pilots[(p.pilots_by_tone ? s * p.tones + tone : s) * p.layers + t]);
    };
    const int symbols = symbols_of(p);
    for (int i = 0; i < symbols * p.tones; ++i) {
        std::vector<complex> row;
        for (int j = 0; j < symbols * p.tones; ++j) {
            complex sum = i == j ? n0 : 0;
            for (int t = 0; t < p.layers; ++t) {
                sum += pilot(i / p.tones, i % p.tones, t) *
                       std::conj(pilot(j / p.tones, j % p.tones, t)) *
                       rho(i % p.tones, j % p.tones);
            }
            row.push_back(sum);
        }
        c.push_back(row);
        r.push_back(pilot(i / p.tones, i % p.tones, 0) * rho(i % p.tones, k));
    }
    const auto x = solve(c, r);
    double explained = 0;
    for (size_t i = 0; i < r.size(); ++i) {
        explained += (std::conj(r[i]) * x[i]).real();
    }
    return 1 - explained;
}

} // namespace gr::cudaphy::testing
