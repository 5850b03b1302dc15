/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_cell/ssb_receiver.h"
#include "kernels/common/pi.h"
#include "kernels/fourier/fourier_transform.h"
#include "kernels/nr_cell/smoothing.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <gnuradio/cudaphy/kernels/nr_cell/ssb_sequences.h>

namespace gr::cudaphy::kernels::nr_cell {
namespace {

//! Samples that a transform begins before the symbol, for paths before the strongest.
constexpr int advance = 6;
constexpr int length = ssb_symbols * ssb_step;
//! Samples around the block that the band's edges may spoil.
constexpr int margin = 160;

using grid = std::array<std::vector<complex64>, ssb_symbols>;

complex64 unit(double angle) { return complex64(std::polar(1.0, angle)); }

float norm_of(const std::vector<complex64>& values)
{
    float sum = 0;
    for (const auto& value : values) {
        sum += std::norm(value);
    }
    return sum;
}

//! Angle of the sum of y conj(x).
template <typename A, typename B>
std::complex<double> product(const A& y, const B& x)
{
    std::complex<double> sum = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        sum += std::complex<double>(y[i]) * std::conj(std::complex<double>(x[i]));
    }
    return sum;
}

//! Mean of a few neighbours.
std::vector<complex64> moving_average(const std::vector<complex64>& x, int reach)
{
    std::vector<complex64> out;
    const int n = static_cast<int>(x.size());
    for (int i = 0; i < n; ++i) {
        complex64 sum = 0;
        const int first = std::max(0, i - reach), last = std::min(n - 1, i + reach);
        for (int j = first; j <= last; ++j) {
            sum += x[j];
        }
        out.push_back(sum / float(last - first + 1));
    }
    return out;
}

class ssb_reader
{
public:
    ssb_reader(const recording& from, const pss_peak& peak)
        : d_from(from), d_peak(peak), d_rate(double(peak.scs) * ssb_fft),
          d_start(peak.time - ssb_prefix / d_rate),
          d_spectrum(from,
                     int64_t(std::floor((d_start - margin / d_rate) * from.rate)),
                     size_t((length + 2 * margin) / d_rate * from.rate))
    {
    }

    std::optional<received_ssb> run()
    {
        const double tolerance = 2 / d_from.rate;
        if (d_start < -tolerance ||
            d_start + length / d_rate > d_from.seconds() + tolerance) {
            return std::nullopt;
        }
        d_out.scs = d_peak.scs;
        d_out.nominal = d_peak.nominal;
        d_out.pss_correlation = d_peak.correlation;
        d_frequency = d_peak.frequency;
        tune(pss_and_prefixes());
        find_cell();
        refine();
        d_out.frequency = d_frequency;
        d_out.time = d_start + d_delay / d_rate;
        decode();
        return d_out;
    }

private:
    //! Samples at the current frequency.
    void cut()
    {
        const double scs = d_peak.scs;
        const band of{ d_frequency, d_rate, 121 * scs, 127 * scs };
        d_samples = d_spectrum.cut(of, d_start, length);
    }

    void tune(double by)
    {
        d_frequency += by;
        cut();
        demodulate();
    }

    void demodulate()
    {
        const auto forward = transform_of(ssb_fft, true);
        for (int l = 0; l < ssb_symbols; ++l) {
            const double t = double(l * ssb_step) / d_rate;
            // Section 5.4: phases start anew in each symbol; those of the samples go on.
            const double turns =
                (d_from.reference + d_peak.nominal - d_out.phase_rate) * t;
            const auto first = d_samples.begin() + l * ssb_step + ssb_prefix - advance;
            std::vector<complex64> x(first, first + ssb_fft);
            forward->run(x);
            d_grid[l].resize(ssb_subcarriers);
            for (int k = 0; k < ssb_subcarriers; ++k) {
                const int bin = k - ssb_subcarriers / 2;
                // The delay d_delay and the advance turn phases along frequency.
                const double angle =
                    2 * pi *
                    (std::remainder(turns, 1.0) + bin * (advance + d_delay) / ssb_fft);
                d_grid[l][k] =
                    x[(bin + ssb_fft) % ssb_fft] * unit(angle) / float(ssb_fft);
            }
        }
    }

    std::vector<complex64> sync(int symbol, const std::vector<float>& sequence) const
    {
        std::vector<complex64> out;
        for (int n = 0; n < sync_length; ++n) {
            out.push_back(d_grid[symbol][sync_first + n] * sequence[n]);
        }
        return out;
    }

    //! Phase from the first to the second half of a known symbol, in subcarriers.
    std::complex<double> halves(int symbol, const std::vector<float>& sequence) const
    {
        std::vector<complex64> x(ssb_fft);
        for (int n = 0; n < sync_length; ++n) {
            x[(sync_first + n - ssb_subcarriers / 2 + ssb_fft) % ssb_fft] = sequence[n];
        }
        transform_of(ssb_fft, false)->run(x);
        std::complex<double> part[2];
        const auto* const y = d_samples.data() + symbol * ssb_step + ssb_prefix;
        for (int i = 0; i < ssb_fft; ++i) {
            part[i / (ssb_fft / 2)] +=
                std::complex<double>(y[i]) * std::conj(std::complex<double>(x[i]));
        }
        return part[1] * std::conj(part[0]);
    }

    //! The frequency that is left, Hz: each prefix is what its symbol ends with, and the
    //! halves of known symbols have one phase.
    double within_symbols(const std::complex<double>& known, double weight) const
    {
        std::complex<double> repeated = 0;
        for (int l = 0; l < ssb_symbols; ++l) {
            const auto* const y = d_samples.data() + l * ssb_step;
            for (int i = 2; i < ssb_prefix; ++i) { // the first samples have echoes
                repeated += std::complex<double>(y[i + ssb_fft]) *
                            std::conj(std::complex<double>(y[i]));
            }
        }
        const double by_prefixes = std::arg(repeated) / (2 * pi);
        const double by_halves = std::arg(known) / pi;
        return d_peak.scs * ((1 - weight) * by_prefixes + weight * by_halves);
    }

    double pss_and_prefixes()
    {
        cut();
        d_pss = primary_sequence(d_peak.n_id_2);
        return within_symbols(halves(0, d_pss), 0.35);
    }

    //! The delay of the strongest path against d_start, in samples: the one that lets
    //! known symbols add up best.
    void find_delay(const std::vector<std::vector<complex64>>& channels)
    {
        constexpr double most = 4, step = 0.05;
        double best = 0, best_value = -1;
        for (double delay = -most; delay <= most; delay += step) {
            double value = 0;
            for (const auto& h : channels) {
                std::complex<double> sum = 0, turn = 1;
                const auto per_subcarrier = std::polar(1.0, 2 * pi * delay / ssb_fft);
                for (const auto& at : h) {
                    sum += std::complex<double>(at) * turn;
                    turn *= per_subcarrier;
                }
                value += std::norm(sum);
            }
            if (value > best_value) {
                best = delay;
                best_value = value;
            }
        }
        d_delay += best;
        demodulate();
    }

    void find_cell()
    {
        find_delay({ sync(0, d_pss) });
        const auto h = moving_average(sync(0, d_pss), 4);
        float best = -1;
        for (int n_id_1 = 0; n_id_1 < 336; ++n_id_1) {
            const int cell = 3 * n_id_1 + d_peak.n_id_2;
            const float found =
                float(std::norm(product(sync(2, secondary_sequence(cell)), h)));
            if (found > best) {
                best = found;
                d_out.cell = cell;
            }
        }
        d_sss = secondary_sequence(d_out.cell);
        const float all = norm_of(h) * norm_of(sync(2, d_sss));
        d_out.sss_correlation = all > 0 ? best / all : 0;
    }

    //! Frequency by both known symbols, then by the phase between them.
    void refine()
    {
        tune(within_symbols(halves(0, d_pss) + halves(2, d_sss), 0.5));
        find_delay({ sync(0, d_pss), sync(2, d_sss) });
        const auto h = sync(2, d_sss);
        const auto [power, noise] = measure(h);
        d_out.noise = noise;
        d_out.snr = noise > 0 ? power / noise : 1e6f;
        const double step = std::arg(product(h, sync(0, d_pss))) / 2;
        const double symbol = ssb_step / d_rate;
        // Half turns can't be seen two symbols apart: the nearer frequency is likelier.
        d_out.phase_rate = step / (2 * pi * symbol);
        if (std::abs(d_out.phase_rate) < uncertainty()) {
            const double by = d_out.phase_rate;
            d_out.phase_rate = 0;
            tune(by);
            return;
        }
        demodulate();
    }

    //! Four deviations of the frequency that refine() has found within symbols, Hz.
    double uncertainty() const
    {
        const double snr = std::max(double(d_out.snr), 1e-3);
        const double of_prefixes =
            (1 / snr + 0.5 / (snr * snr)) / (4 * (ssb_prefix - 2)) / (4 * pi * pi);
        const double of_halves = 1 / (64 * snr) / 2 / (pi * pi);
        return d_peak.scs * (4 * std::sqrt(0.25 * (of_prefixes + of_halves)) + 0.005);
    }

    struct dmrs_fit {
        double value = 0;
        int index = 0;
    };

    //! The sequences of DM-RS, the best one first. Pilots are added in blocks of the
    //! bandwidth over which a channel is about constant; symbols 1 and 3 together.
    std::vector<dmrs_fit> dmrs_fits(const std::vector<ssb_element>& at) const
    {
        std::vector<dmrs_fit> out(8);
        for (int index = 0; index < 8; ++index) {
            const auto r = pbch_dmrs(d_out.cell, index);
            std::array<complex64, 12> sums{};
            for (size_t i = 0; i < at.size(); ++i) {
                const auto [l, k] = at[i];
                sums[k / 40 + (l == 2 ? 6 : 0)] += d_grid[l][k] * std::conj(r[i]);
            }
            out[index].index = index;
            for (const auto& sum : sums) {
                out[index].value += std::norm(sum);
            }
        }
        std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
            return a.value > b.value;
        });
        return out;
    }

    //! Whether phases turn by half a turn more from symbol to symbol than refine() could
    //! see.
    bool half_turn(const std::vector<ssb_element>& at, int index) const
    {
        const auto r = pbch_dmrs(d_out.cell, index);
        const auto pss = sync(0, d_pss), sss = sync(2, d_sss);
        double sum = 0;
        for (size_t i = 0; i < at.size(); ++i) {
            const int n = at[i].subcarrier - sync_first;
            if (n >= 0 && n < sync_length) {
                const auto y = d_grid[at[i].symbol][at[i].subcarrier] * std::conj(r[i]);
                sum += (y * std::conj(pss[n] + sss[n])).real();
            }
        }
        return sum < 0;
    }

    void decode()
    {
        const auto at = pbch_dmrs_elements(d_out.cell);
        const auto fits = dmrs_fits(at);
        const bool fr2 = d_peak.scs >= 120000;
        for (int i = 0; i < 2 && !d_out.mib; ++i) {
            const bool turned = half_turn(at, fits[i].index);
            if (turned) {
                turn_odd_symbols();
            }
            // First for a channel of hardly any echoes, then for those of half a prefix.
            for (const double spread : { 0.012, 0.07 }) {
                const auto llr = soft_bits(at, fits[i].index, spread);
                d_out.mib = decode_pbch(llr, d_out.cell, fits[i].index, fr2);
                if (d_out.mib) {
                    const double half = 0.5 * d_rate / ssb_step;
                    d_out.phase_rate += !turned ? 0 : d_out.phase_rate > 0 ? -half : half;
                    return;
                }
            }
            if (turned) {
                turn_odd_symbols();
            }
        }
    }

    void turn_odd_symbols()
    {
        for (const int l : { 1, 3 }) {
            for (auto& value : d_grid[l]) {
                value = -value;
            }
        }
    }

    //! LLRs of PBCH. The channel is that of SSS and DM-RS, the same in all symbols.
    std::vector<float>
    soft_bits(const std::vector<ssb_element>& at, int index, double spread) const
    {
        const auto r = pbch_dmrs(d_out.cell, index);
        const auto sss = sync(2, d_sss);
        std::array<complex64, ssb_subcarriers> sum{};
        std::array<int, ssb_subcarriers> count{};
        for (size_t i = 0; i < at.size(); ++i) {
            sum[at[i].subcarrier] +=
                d_grid[at[i].symbol][at[i].subcarrier] * std::conj(r[i]);
            ++count[at[i].subcarrier];
        }
        for (int n = 0; n < sync_length; ++n) {
            sum[sync_first + n] += sss[n];
            ++count[sync_first + n];
        }
        pilots known;
        std::vector<double> all;
        for (int k = 0; k < ssb_subcarriers; ++k) {
            all.push_back(k);
            if (count[k]) {
                known.at.push_back(k);
                known.channel.push_back(sum[k] / float(count[k]));
                known.noise.push_back(d_out.noise / float(count[k]));
            }
        }
        const auto h = smooth(known, d_out.noise * d_out.snr, spread, all);
        const float scale =
            2 * std::sqrt(2.0f) / std::max(d_out.noise, 1e-4f * d_out.noise * d_out.snr);
        std::vector<float> llr;
        for (const auto& [l, k] : pbch_elements(d_out.cell)) {
            const auto z = d_grid[l][k] * std::conj(h[k]) * scale;
            llr.push_back(z.real());
            llr.push_back(z.imag());
        }
        return llr;
    }

    const recording& d_from;
    const pss_peak& d_peak;
    double d_rate, d_start, d_frequency = 0, d_delay = 0;
    spectrum d_spectrum;
    std::vector<complex64> d_samples;
    grid d_grid;
    std::vector<float> d_pss, d_sss;
    received_ssb d_out{};
};

} // namespace

std::optional<received_ssb> receive_ssb(const recording& from, const pss_peak& peak)
{
    return ssb_reader(from, peak).run();
}

} // namespace gr::cudaphy::kernels::nr_cell
