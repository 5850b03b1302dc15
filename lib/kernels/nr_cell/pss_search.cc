/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/pss_search.h"
#include "kernels/fourier/fourier_transform.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr_cell/ssb_sequences.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

// Overlap-save: blocks of 8 symbols, whose bins are an eighth of a subcarrier apart.
constexpr int block = 2048, fresh = block - ssb_fft + 1;
constexpr int half_subcarrier = block / ssb_fft / 2;
constexpr int offsets = 5, sequences = 3;

using spectra = std::array<std::vector<complex64>, sequences>;

//! conj of the transform of each sequence's 256 samples; their energy is 1.
spectra make_spectra()
{
    spectra out;
    for (int i = 0; i < sequences; ++i) {
        std::vector<complex64> symbol(ssb_fft);
        const auto d = primary_sequence(i);
        const float scale =
            1 / std::sqrt(float(ssb_fft) * sync_length); // |d|^2 = 127, times 256
        for (int n = 0; n < sync_length; ++n) {
            const int k = sync_first + n - ssb_subcarriers / 2;
            symbol[(k + ssb_fft) % ssb_fft] = d[n] * scale;
        }
        transform_of(ssb_fft, false)->run(symbol);
        symbol.resize(block);
        transform_of(block, true)->run(symbol);
        for (auto& value : symbol) {
            value = std::conj(value) / float(block); // of the transform back
        }
        out[i] = std::move(symbol);
    }
    return out;
}

//! 1 / energy of the symbol that begins at each sample.
std::vector<float> symbol_energies(const std::vector<complex64>& x)
{
    std::vector<double> sum(1);
    sum.reserve(x.size() + 1);
    for (const auto& value : x) {
        sum.push_back(sum.back() + std::norm(value));
    }
    std::vector<float> out;
    for (size_t i = 0; i + ssb_fft < sum.size(); ++i) {
        out.push_back(float(std::max(0.0, sum[i + ssb_fft] - sum[i])));
    }
    // Rounding must not make a peak of silence.
    const float least = float(1e-12 * sum.back());
    for (auto& value : out) {
        value = value > least ? 1 / value : 0;
    }
    return out;
}

//! The best correlation over the offsets at each sample, and its offset.
struct best_offset {
    std::vector<float> value, offset;
};

class correlator
{
public:
    explicit correlator(const std::vector<complex64>& x)
        : d_samples(x), d_energies(symbol_energies(x))
    {
        for (auto& one : d_best) {
            one.value.resize(d_energies.size());
            one.offset.resize(d_energies.size());
        }
        for (size_t first = 0; first < d_energies.size(); first += fresh) {
            run(first);
        }
    }
    const best_offset& best(int sequence) const { return d_best[sequence]; }

private:
    void run(size_t first)
    {
        static const spectra all = make_spectra();
        const auto forward = transform_of(block, true),
                   backward = transform_of(block, false);
        d_spectrum.resize(block);
        const size_t last = std::min(first + block, d_samples.size());
        const auto rest = std::copy(
            d_samples.begin() + first, d_samples.begin() + last, d_spectrum.begin());
        std::fill(rest, d_spectrum.end(), complex64(0));
        forward->run(d_spectrum);
        // What offsets reach over the ends is there twice.
        constexpr int reach = offsets / 2 * half_subcarrier;
        std::vector<complex64> turned(d_spectrum.end() - reach, d_spectrum.end());
        turned.insert(turned.end(), d_spectrum.begin(), d_spectrum.end());
        turned.insert(turned.end(), d_spectrum.begin(), d_spectrum.begin() + reach);
        d_product.resize(block);
        const size_t count = std::min(size_t(fresh), d_energies.size() - first);
        for (int sequence = 0; sequence < sequences; ++sequence) {
            for (int offset = 0; offset < offsets; ++offset) {
                // An offset of the signal turns its spectrum.
                multiply(turned.data() + offset * half_subcarrier, all[sequence]);
                backward->run(d_product);
                keep_best(first, count, float(offset - offsets / 2), d_best[sequence]);
            }
        }
    }

    void multiply(const complex64* x, const std::vector<complex64>& sequence)
    {
        const auto* const a = reinterpret_cast<const float*>(x);
        const auto* const b = reinterpret_cast<const float*>(sequence.data());
        auto* const y = reinterpret_cast<float*>(d_product.data());
        for (int i = 0; i < 2 * block; i += 2) {
            y[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
            y[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
        }
    }

    void keep_best(size_t first, size_t count, float offset, best_offset& best) const
    {
        const auto* const y = reinterpret_cast<const float*>(d_product.data());
        const float* const energy = d_energies.data() + first;
        float* const value = best.value.data() + first;
        float* const at = best.offset.data() + first;
        for (size_t i = 0; i < count; ++i) {
            const float here =
                (y[2 * i] * y[2 * i] + y[2 * i + 1] * y[2 * i + 1]) * energy[i];
            at[i] = here > value[i] ? offset : at[i];
            value[i] = here > value[i] ? here : value[i];
        }
    }

    const std::vector<complex64>& d_samples;
    std::vector<float> d_energies; // 1 / them
    std::array<best_offset, sequences> d_best;
    std::vector<complex64> d_spectrum, d_product;
};

//! Where a parabola through the logarithms of three values has its top, from the middle.
double top_of(float before, float middle, float after)
{
    const double a = std::log(std::max(before, 1e-9f)),
                 b = std::log(std::max(middle, 1e-9f)),
                 c = std::log(std::max(after, 1e-9f));
    const double bend = a - 2 * b + c;
    return bend < 0 ? std::clamp(0.5 * (a - c) / bend, -0.5, 0.5) : 0;
}

} // namespace

std::vector<pss_peak> find_pss(const spectrum& from,
                               double nominal,
                               int scs,
                               double start,
                               double seconds,
                               float threshold,
                               size_t most)
{
    const double rate = double(scs) * ssb_fft;
    const size_t count = static_cast<size_t>(seconds * rate) + ssb_fft;
    // PSS's 127 subcarriers, and one to either side for the offset.
    const band of{ nominal, rate, 65.0 * scs, 72.0 * scs };
    const auto x = from.cut(of, start, count);
    const correlator correlations(x);
    std::vector<pss_peak> out;
    for (int n_id_2 = 0; n_id_2 < sequences; ++n_id_2) {
        const auto& best = correlations.best(n_id_2).value;
        // A peak is the highest within a symbol to both sides.
        for (size_t i = 0; i < best.size(); ++i) {
            if (best[i] < threshold) {
                continue;
            }
            const size_t first = i > ssb_fft ? i - ssb_fft : 0,
                         last = std::min(best.size(), i + ssb_fft + 1);
            const auto highest =
                std::max_element(best.begin() + first, best.begin() + last);
            if (size_t(highest - best.begin()) != i) {
                continue;
            }
            const double fraction = i > 0 && i + 1 < best.size()
                                        ? top_of(best[i - 1], best[i], best[i + 1])
                                        : 0;
            const double offset = 0.5 * scs * correlations.best(n_id_2).offset[i];
            out.push_back({ start + (double(i) + fraction) / rate,
                            nominal + offset,
                            nominal,
                            scs,
                            n_id_2,
                            best[i] });
        }
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
        return a.correlation > b.correlation;
    });
    if (out.size() > most) {
        out.resize(most);
    }
    return out;
}

} // namespace gr::cudaphy::kernels::nr_cell
