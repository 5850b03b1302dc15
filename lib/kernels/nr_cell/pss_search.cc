/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/pss_search.h"
#include "kernels/nr_cell/transforms.h"
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
        transform_of(ssb_fft, false)->run(symbol.data());
        symbol.resize(block);
        transform_of(block, true)->run(symbol.data());
        for (auto& value : symbol) {
            value = std::conj(value) / float(block); // of the transform back
        }
        out[i] = std::move(symbol);
    }
    return out;
}

//! Energy of the symbol that begins at each sample.
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
        value = value > least ? value : INFINITY;
    }
    return out;
}

struct best_of_sample {
    float value = 0;
    int8_t offset = 0;
};

//! The best correlation over the offsets at each sample, for each sequence.
class correlator
{
public:
    explicit correlator(const std::vector<complex64>& x)
        : d_samples(x), d_energies(symbol_energies(x))
    {
        for (auto& one : d_best) {
            one.resize(d_energies.size());
        }
        for (size_t first = 0; first < d_energies.size(); first += fresh) {
            run(first);
        }
    }
    const std::vector<best_of_sample>& best(int sequence) const
    {
        return d_best[sequence];
    }

private:
    void run(size_t first)
    {
        static const spectra all = make_spectra();
        static const auto forward = transform_of(block, true),
                          backward = transform_of(block, false);
        std::vector<complex64> x(block), y(block);
        const size_t last = std::min(first + block, d_samples.size());
        std::copy(d_samples.begin() + first, d_samples.begin() + last, x.begin());
        forward->run(x.data());
        const size_t count = std::min(size_t(fresh), d_energies.size() - first);
        for (int sequence = 0; sequence < sequences; ++sequence) {
            auto* const best = d_best[sequence].data() + first;
            for (int offset = 0; offset < offsets; ++offset) {
                multiply(x, all[sequence], offset, y);
                backward->run(y.data());
                for (size_t i = 0; i < count; ++i) {
                    const float value =
                        (y[i].real() * y[i].real() + y[i].imag() * y[i].imag()) /
                        d_energies[first + i];
                    if (value > best[i].value) {
                        best[i] = { value, int8_t(offset) };
                    }
                }
            }
        }
    }

    //! An offset of the signal turns its spectrum.
    static void multiply(const std::vector<complex64>& x,
                         const std::vector<complex64>& sequence,
                         int offset,
                         std::vector<complex64>& y)
    {
        const int bins = (offset - offsets / 2) * half_subcarrier;
        for (int i = 0; i < block; ++i) {
            const auto &a = x[(i + bins + block) % block], &b = sequence[i];
            // Without the checks for infinities that a product of std::complex has.
            y[i] = { a.real() * b.real() - a.imag() * b.imag(),
                     a.real() * b.imag() + a.imag() * b.real() };
        }
    }

    const std::vector<complex64>& d_samples;
    std::vector<float> d_energies;
    std::array<std::vector<best_of_sample>, sequences> d_best;
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
        const auto& best = correlations.best(n_id_2);
        // A peak is the highest within a symbol to both sides.
        for (size_t i = 0; i < best.size(); ++i) {
            if (best[i].value < threshold) {
                continue;
            }
            const size_t first = i > ssb_fft ? i - ssb_fft : 0,
                         last = std::min(best.size(), i + ssb_fft + 1);
            const auto highest = std::max_element(
                best.begin() + first,
                best.begin() + last,
                [](const auto& a, const auto& b) { return a.value < b.value; });
            if (size_t(highest - best.begin()) != i) {
                continue;
            }
            const double fraction =
                i > 0 && i + 1 < best.size()
                    ? top_of(best[i - 1].value, best[i].value, best[i + 1].value)
                    : 0;
            const double offset = 0.5 * scs * (best[i].offset - offsets / 2);
            out.push_back({ start + (double(i) + fraction) / rate,
                            nominal + offset,
                            nominal,
                            scs,
                            n_id_2,
                            best[i].value });
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
