/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/nr_receiver/channel_estimate.h"
#include "kernels/nr_receiver/frequency_filter.h"
#include <algorithm>
#include <cmath>

namespace gr::cudaphy::kernels::nr {
namespace {

constexpr int most_taps = 24;
constexpr double spread_factor = 1.44, least_tried_spread = 3e-4,
                 most_tried_spread = 0.06;
constexpr double least_noise = 1e-12; // of the energy: beside float's rounding

int taps_of(const pilot_layout::run& run) { return std::min(most_taps, run.pilots); }

} // namespace

channel_estimate::channel_estimate(shared_channel::sptr channel,
                                   int antennas,
                                   const estimation& how)
    : d_channel(std::move(channel)), d_layout(*d_channel), d_antennas(antennas),
      d_how(how), d_own(d_layout.sets()), d_known(d_layout.sets()),
      d_silence(d_layout.sets(), 1)
{
    for (const auto& port : d_channel->map().ports) {
        const int set = d_layout.set_of(port);
        d_own[set] = 1;
        d_silence[set] = 0;
        add_known_port(port);
    }
}

void channel_estimate::add_known_port(const resource_map::port& port)
{
    if (port.group < d_layout.groups && port.time < d_layout.length) {
        const int set = d_layout.set_of(port);
        d_known[set] |= static_cast<uint8_t>(1 << port.frequency);
        d_silence[set] = 0;
    }
}

void channel_estimate::leave_out(int group)
{
    for (int set = 0; set < d_layout.sets(); ++set) {
        if (set % d_layout.groups == group) {
            d_silence[set] = 0;
        }
    }
}

void channel_estimate::run(view<const complex64> grid, int slot)
{
    const auto& of = d_layout;
    const auto& p = d_channel->parameters();
    const auto values = dmrs_values(p, d_channel->map(), slot);
    d_observed = observe_pilots(*d_channel, of, grid, d_antennas, values, 0);
    d_usable = true;
    for (int set = 0; set < of.sets(); ++set) {
        d_usable = d_usable && (d_observed.finite[set] || !d_own[set]);
    }
    if (!d_usable) {
        return;
    }
    auto statistics = find_delay_statistics(of, d_observed, d_own, d_how.spread);
    statistics.noise = std::max(statistics.noise, least_noise * statistics.energy);
    d_present = statistics.present;
    d_delay = statistics.delay;
    const auto phases = delay_phases(of, d_delay);
    undo_delay(of, phases, d_observed);
    if (d_how.spread < 0) {
        statistics.spread = best_spread(statistics);
    }
    d_spread = statistics.spread;
    estimate_at_positions(statistics);
    find_errors(statistics);
    time_correlation products{ of.positions(), {}, 0 };
    const size_t rows = size_t(p.layers) * d_antennas;
    products.sums.resize(size_t(of.positions()) * of.positions());
    products.count = double(rows) * ((of.tones + of.spacing - 1) / of.spacing);
    for (int a = 0; a < of.positions(); ++a) {
        for (int b = a; b < of.positions(); ++b) {
            complex128 sum = 0;
            for (size_t row = 0; row < rows; ++row) {
                const float *const a_re = d_h.re_of(a * rows + row),
                                   *const a_im = d_h.im_of(a * rows + row),
                                   *const b_re = d_h.re_of(b * rows + row),
                                   *const b_im = d_h.im_of(b * rows + row);
                float re = 0, im = 0;
                for (int t = 0; t < of.tones; t += of.spacing) {
                    re += a_re[t] * b_re[t] + a_im[t] * b_im[t];
                    im += a_re[t] * b_im[t] - a_im[t] * b_re[t];
                }
                sum += complex128(re, im);
            }
            products.sums[size_t(a) * of.positions() + b] = sum;
        }
    }
    d_in_time = find_time_weights(of.time,
                                  d_channel->map().symbols,
                                  products,
                                  d_position_error,
                                  d_position_noise,
                                  d_how.doppler,
                                  d_how.mmse,
                                  d_how.track_frequency);
    const auto& data = d_channel->map().data_in_symbol;
    double error = 0, count = 0;
    for (size_t i = 0; i < data.size(); ++i) {
        error += data[i] * d_in_time.error[i];
        count += data[i];
    }
    d_error = error / count;
    restore_delay(phases);
}

void channel_estimate::estimate_at_positions(const delay_statistics& statistics)
{
    const auto& of = d_layout;
    const auto& map = d_channel->map();
    const int layers = static_cast<int>(map.ports.size());
    d_h = planes(size_t(of.positions()) * layers * d_antennas, size_t(of.tones));
    const int per_block = 12 / of.spacing * 2 * of.positions();
    int sets = 0;
    for (int set = 0; set < of.sets(); ++set) {
        sets += known(set) || silent(set);
    }
    // At least eight samples for each antenna.
    const int blocks =
        std::max(2, (8 * d_antennas + per_block * sets - 1) / (per_block * sets));
    const int bundle_tones = 12 * blocks;
    const int bundles = (of.tones + bundle_tones - 1) / bundle_tones;
    residual_sums residuals(d_antennas, bundles);
    planes combs(2, size_t(of.tones));
    const double snr = statistics.energy / std::max(statistics.noise, 1e-30);
    for (int position = 0; position < of.positions(); ++position) {
        for (int set = 0; set < of.sets(); ++set) {
            if (!known(set)) {
                continue;
            }
            const int group = set % of.groups;
            for (int antenna = 0; antenna < d_antennas; ++antenna) {
                const size_t row = d_observed.row(of, position, set, antenna, 0);
                smooth(statistics.spread, snr, row, group, combs);
                for (int layer = 0; layer < layers; ++layer) {
                    if (of.set_of(map.ports[layer]) == set) {
                        if (d_how.mmse) {
                            take_port(position, layer, antenna, combs);
                        } else {
                            draw_lines(position, layer, antenna);
                        }
                    }
                }
                take_off(row, set, combs);
            }
        }
        for (int set = 0; set < of.sets(); ++set) {
            if (known(set) || silent(set)) {
                add_residuals(
                    statistics.spread, snr, position, set, bundle_tones, residuals);
            }
        }
    }
    const double amplitude = map.dmrs_amplitude;
    d_noise = find_noise_covariance(
        residuals, bundle_tones, amplitude * amplitude * of.length, d_how.always_colored);
}

double channel_estimate::best_spread(const delay_statistics& statistics)
{
    const auto& of = d_layout;
    const double snr = statistics.energy / std::max(statistics.noise, 1e-30);
    const auto error = [&](double spread) {
        double sum = 0;
        for (size_t row = 0; row < d_observed.values.re.size() / of.pilots; ++row) {
            if (!d_own[row / 2 / d_antennas % of.sets()]) {
                continue;
            }
            for (const auto& run : of.runs) {
                sum +=
                    prediction_error(d_tables.find(taps_of(run), of.spacing, spread, snr),
                                     d_observed.values.re_of(row) + run.first_pilot,
                                     d_observed.values.im_of(row) + run.first_pilot,
                                     run.pilots);
            }
        }
        return sum;
    };
    // Downhill from the first guess, in steps that hardly matter.
    double best = statistics.spread, least = error(best);
    for (const double step : { spread_factor, 1 / spread_factor }) {
        bool falls = false;
        for (double next = best * step;
             next > least_tried_spread && next < most_tried_spread;
             next *= step) {
            const double found = error(next);
            if (!(found < least)) {
                break;
            }
            least = found;
            best = next;
            falls = true;
        }
        if (falls) {
            break;
        }
    }
    return best;
}

void channel_estimate::smooth(
    double spread, double snr, size_t row, int group, planes& combs)
{
    for (const auto& run : d_layout.runs) {
        const auto& table = d_tables.find(taps_of(run), d_layout.spacing, spread, snr);
        for (int parity = 0; parity < 2; ++parity) {
            filter_run(table,
                       d_observed.values.re_of(row + parity) + run.first_pilot,
                       d_observed.values.im_of(row + parity) + run.first_pilot,
                       run.pilots,
                       d_layout.comb_start(group, parity),
                       run.tones,
                       combs.re_of(parity) + run.first_tone,
                       combs.im_of(parity) + run.first_tone);
        }
    }
}

void channel_estimate::take_port(int position,
                                 int layer,
                                 int antenna,
                                 const planes& combs)
{
    const auto& ports = d_channel->map().ports;
    const float sign = ports[layer].frequency ? -0.5f : 0.5f;
    const size_t row = (size_t(position) * ports.size() + layer) * d_antennas + antenna;
    const auto join = [&](const float* even, const float* odd, float* to) {
        for (int t = 0; t < d_layout.tones; ++t) {
            to[t] = 0.5f * even[t] + sign * odd[t];
        }
    };
    join(combs.re_of(0), combs.re_of(1), d_h.re_of(row));
    join(combs.im_of(0), combs.im_of(1), d_h.im_of(row));
}

// Least squares: a pair of neighbouring pilots tells both ports apart and gives an
// estimate between the two; straight lines join the estimates.
void channel_estimate::draw_lines(int position, int layer, int antenna)
{
    const auto& of = d_layout;
    const auto& ports = d_channel->map().ports;
    const auto& port = ports[layer];
    const size_t from = d_observed.row(of, position, of.set_of(port), antenna, 0);
    const size_t to = (size_t(position) * ports.size() + layer) * d_antennas + antenna;
    const float sign = port.frequency ? -0.5f : 0.5f;
    const float start = of.comb_start(port.group, 0) + (of.type_1 ? 1.0f : 0.5f);
    const auto draw = [&](const float* even, const float* odd, float* out) {
        for (const auto& run : of.runs) {
            for (int t = 0; t < run.tones; ++t) {
                const float at = std::clamp(
                    (t - start) / of.spacing, 0.0f, static_cast<float>(run.pilots - 1));
                const int i = std::min(static_cast<int>(at), run.pilots - 2);
                const float part = at - i;
                const int j = run.first_pilot + i;
                out[run.first_tone + t] = (1 - part) * (0.5f * even[j] + sign * odd[j]) +
                                          part * (0.5f * even[j + 1] + sign * odd[j + 1]);
            }
        }
    };
    const auto& z = d_observed.values;
    draw(z.re_of(from), z.re_of(from + 1), d_h.re_of(to));
    draw(z.im_of(from), z.im_of(from + 1), d_h.im_of(to));
}

void channel_estimate::take_off(size_t row, int set, const planes& combs)
{
    const auto& of = d_layout;
    for (int parity = 0; parity < 2; ++parity) {
        // The parts of both combs in what the known ports send here.
        const bool both = d_known[set] == 3;
        const bool second = d_known[set] == 2;
        const float own = both ? 1.0f : 0.5f;
        const float other = both ? 0.0f : second ? -0.5f : 0.5f;
        const int start = of.comb_start(set % of.groups, parity);
        const auto subtract = [&](float* z, const float* comb, const float* other_comb) {
            for (int j = 0; j < of.pilots; ++j) {
                const int tone = of.spacing * j + start;
                z[j] -= own * comb[tone] + other * other_comb[tone];
            }
        };
        auto& z = d_observed.values;
        subtract(z.re_of(row + parity), combs.re_of(parity), combs.re_of(1 - parity));
        subtract(z.im_of(row + parity), combs.im_of(parity), combs.im_of(1 - parity));
    }
}

double channel_estimate::freedom(const wiener_table& table,
                                 const pilot_layout::run& run,
                                 int set,
                                 int parity,
                                 int pilot) const
{
    if (!d_known[set]) {
        return 1;
    }
    const auto& of = d_layout;
    const int start = of.comb_start(set % of.groups, parity);
    const int other_start = of.comb_start(set % of.groups, 1 - parity);
    const int tone = start + of.spacing * pilot;
    const int tap = first_tap(table, run.pilots, start, tone);
    const size_t row = table.row(of.spacing * (pilot - tap));
    const double weight = table.re[row * table.taps + pilot - tap];
    double left = 1 - 2 * weight + table.gain[row];
    if (d_known[set] != 3) {
        const int other_tap = first_tap(table, run.pilots, other_start, tone);
        const size_t other = table.row(tone - other_start - of.spacing * other_tap);
        left = 1 - weight + 0.25 * (table.gain[row] + table.gain[other]);
    }
    return std::max(left, 1e-3);
}

void channel_estimate::add_residuals(double spread,
                                     double snr,
                                     int position,
                                     int set,
                                     int bundle_tones,
                                     residual_sums& sums)
{
    const auto& of = d_layout;
    const int n = d_antennas;
    const auto& z = d_observed.values;
    std::vector<complex64> r(n);
    for (const auto& run : of.runs) {
        const auto& table = d_tables.find(taps_of(run), of.spacing, spread, snr);
        for (int parity = 0; parity < 2; ++parity) {
            const size_t row = d_observed.row(of, position, set, 0, parity);
            for (int j = 0; j < run.pilots; ++j) {
                const int pilot = run.first_pilot + j;
                const int bundle = pilot * of.spacing / bundle_tones;
                sums.samples[bundle] += freedom(table, run, set, parity, j);
                for (int i = 0; i < n; ++i) {
                    r[i] = z.at(row + 2 * size_t(i), pilot);
                }
                auto* const to = sums.products.data() + size_t(bundle) * n * n;
                for (int i = 0; i < n; ++i) {
                    for (int k = 0; k <= i; ++k) {
                        to[i * n + k] += complex128(product_conj(r[i], r[k]));
                    }
                }
            }
        }
    }
}

void channel_estimate::find_errors(const delay_statistics& statistics)
{
    const auto& of = d_layout;
    double ports = 0, sets = 0;
    for (int set = 0; set < of.sets(); ++set) {
        if (d_own[set]) {
            ports += d_known[set] == 3 ? 2 : 1;
            ++sets;
        }
    }
    d_energy = statistics.energy * sets / ports;
    if (!d_how.mmse) {
        // Half the noise of a pilot; two thirds of that between two estimates.
        d_position_error = d_position_noise = statistics.noise / 3;
        return;
    }
    const double snr = statistics.energy / std::max(statistics.noise, 1e-30);
    double error = 0, gain = 0;
    for (const auto& run : of.runs) {
        const auto& table =
            d_tables.find(taps_of(run), of.spacing, statistics.spread, snr);
        for (int tone = 0; tone < run.tones; ++tone) {
            const int tap = first_tap(table, run.pilots, 0, tone);
            const size_t row = table.row(tone - of.spacing * tap);
            error += table.error[row];
            gain += table.gain[row];
        }
    }
    error *= statistics.energy / of.tones;
    gain *= statistics.noise / of.tones;
    // A port is half the sum or half the difference of two channels. Their noise is
    // independent, and so is the rest of the error if both ports send.
    d_position_noise = gain / 2;
    d_position_error = gain / 2 + std::max(0.0, error - gain) * (3 - ports / sets) / 2;
}

void channel_estimate::restore_delay(const std::vector<complex64>& phases)
{
    std::vector<float> c, s;
    for (const auto phase : phases) {
        c.push_back(phase.real());
        s.push_back(phase.imag());
    }
    for (size_t row = 0; row < d_h.re.size() / d_h.columns; ++row) {
        float* const re = d_h.re_of(row);
        float* const im = d_h.im_of(row);
        for (int t = 0; t < d_layout.tones; ++t) {
            const float old = re[t];
            re[t] = old * c[t] - im[t] * s[t];
            im[t] = old * s[t] + im[t] * c[t];
        }
    }
}

void channel_estimate::at_symbol(int symbol, complex64 turn, planes& out) const
{
    const size_t rows = d_channel->map().ports.size() * d_antennas;
    const size_t size = rows * d_h.columns;
    std::fill(out.re.begin(), out.re.end(), 0.0f);
    std::fill(out.im.begin(), out.im.end(), 0.0f);
    for (int p = 0; p < d_layout.positions(); ++p) {
        const auto weight =
            turn * d_in_time.weights[size_t(symbol) * d_layout.positions() + p];
        const float a = weight.real(), b = weight.imag();
        if (a == 0 && b == 0) {
            continue;
        }
        const float* const re = d_h.re_of(p * rows);
        const float* const im = d_h.im_of(p * rows);
        for (size_t i = 0; i < size; ++i) {
            out.re[i] += a * re[i] - b * im[i];
            out.im[i] += a * im[i] + b * re[i];
        }
    }
}

} // namespace gr::cudaphy::kernels::nr
