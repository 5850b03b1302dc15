/* SPDX-License-Identifier: GPL-3.0-or-later */
// The filters as they are, without tables of phases, in double precision.
#include "kernels/symbol_sync/host_blocks.h"
#include "kernels/symbol_sync/makers.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels {
namespace {

class symbol_sync_reference : public symbol_sync_on_host
{
public:
    explicit symbol_sync_reference(const symbol_sync_parameters& p)
        : symbol_sync_on_host(p, backend::reference), d_samples(capacity())
    {
        for (int k = -plan().edge_half; k <= plan().edge_half; ++k) {
            d_edge.push_back(plan().edge(-k));
        }
    }

private:
    complex128 sample(int64_t at) const { return d_samples[at - origin()]; }

    void clear(queue&) override { std::fill(d_samples.begin(), d_samples.end(), 0); }
    void move(size_t from, size_t count, queue&) override
    {
        std::copy_n(d_samples.begin() + from, count, d_samples.begin());
    }
    void append(view<const unsigned char> samples,
                size_t at,
                size_t count,
                const carrier_turns& carrier,
                queue&) override
    {
        for (size_t i = 0; i < count; ++i) {
            d_samples[at + i] =
                complex128(sample_at(samples.data(), i, plan().given.format)) *
                std::polar(1.0, -6.283185307179586 * carrier.from(i).phase / fixed_one);
        }
    }
    void append_zeros(size_t at, size_t count, queue&) override
    {
        std::fill_n(d_samples.begin() + at, count, 0);
    }

    void find_lines(range blocks, queue&) override
    {
        for (int64_t b = blocks.first; b < blocks.last; ++b) {
            complex128 sum = 0;
            double energy = 0;
            for (int i = 0; i < plan().points; ++i) {
                const int64_t at = b * plan().block_samples + i * plan().stride;
                complex128 upper = 0, lower = 0;
                for (int k = -plan().edge_half; k <= plan().edge_half; ++k) {
                    const auto tap = d_edge[k + plan().edge_half];
                    upper += sample(at + k) * tap;
                    lower += sample(at + k) * std::conj(tap);
                }
                sum += upper * std::conj(lower) * plan().rotation(i);
                energy += (std::norm(upper) + std::norm(lower)) / 2;
            }
            line(b) = energy > 0 ? sum / energy * share_of(b) : 0;
        }
    }

    void find_timings(range blocks, queue&) override
    {
        const int middle = plan().candidates / 2;
        for (int64_t b = blocks.first; b < blocks.last; ++b) {
            auto best = sums_of(b, middle);
            const auto power = [](const window_sums& s) {
                return s.real * s.real + s.imag * s.imag;
            };
            double most = power(best) * (1 + 1e-5);
            for (int c = 0; c < plan().candidates; ++c) {
                const auto sums = sums_of(b, c);
                if (power(sums) > most) {
                    best = sums;
                    most = power(sums);
                }
            }
            set_timing(b, best);
        }
        count_symbols(blocks);
    }

    void filter(range segments, queue&) override
    {
        for (int64_t s = segments.first; s < segments.last; ++s) {
            const auto at = instants(s);
            double energy = 0;
            for (int i = 0; i < at.count; ++i) {
                const double after =
                    static_cast<double>(at.first + i * at.step) / fixed_one;
                const auto whole = static_cast<int64_t>(std::floor(after));
                complex128 sum = 0;
                for (int k = -plan().filter_half; k <= plan().filter_half + 1; ++k) {
                    sum += sample(at.base + whole + k) *
                           plan().filter(k - (after - static_cast<double>(whole)));
                }
                energy += std::norm(sum);
                symbols(s)[i] = complex64(sum);
            }
            set_energy(s, at, energy);
        }
    }

    std::vector<complex128> d_samples, d_edge;
};

} // namespace

std::unique_ptr<symbol_sync> make_symbol_sync_reference(const symbol_sync_parameters& p)
{
    return std::make_unique<symbol_sync_reference>(p);
}

} // namespace gr::cudaphy::kernels
