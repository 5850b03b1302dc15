/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocks/ofdm/ofdm_preamble_filter.h"
#include "kernels/common/sizes.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace gr::cudaphy {
namespace {

using complex = std::complex<double>;

void check_range(const char* what, double value, double least, double most)
{
    if (!(value >= least && value <= most)) {
        throw std::invalid_argument(
            "ofdm_synchronizer: " + std::string(what) + " is " + std::to_string(value) +
            ", allowed are " + std::to_string(least) + " to " + std::to_string(most));
    }
}

int largest(const std::vector<int>& all)
{
    return *std::max_element(all.begin(), all.end());
}

//! The least size from `least` on whose transform is fast.
int fast_size(int least)
{
    for (int size = least;; ++size) {
        int rest = size;
        for (const int factor : { 2, 3, 5 }) {
            while (rest % factor == 0) {
                rest /= factor;
            }
        }
        if (rest == 1) {
            return size;
        }
    }
}

//! A complex product without the checks for infinities.
template <typename T>
std::complex<T> product(std::complex<T> a, std::complex<T> b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

//! The conjugate spectrum of the preamble. Its scale makes the energy after the product
//! with it and the inverse transform that of the matched filter.
std::vector<std::complex<float>> known(const ofdm_frame_shape& shape,
                                       const kernels::fourier_transform& forward)
{
    double energy = 0;
    for (const auto& value : shape.preamble) {
        energy += std::norm(complex(value));
    }
    const double scale = 1 / (std::sqrt(energy) * double(forward.size()));
    std::vector<std::complex<float>> spectrum(forward.size());
    for (size_t m = 0; m < shape.preamble.size(); ++m) {
        spectrum[m] = std::complex<float>(complex(shape.preamble[m]) * scale);
    }
    forward.run(spectrum);
    for (auto& value : spectrum) {
        value = std::conj(value);
    }
    return spectrum;
}

} // namespace

int ofdm_frame_shape::window() const { return cyclic_prefix + largest(shifts); }

void ofdm_frame_shape::check() const
{
    check_range("antennas", antennas, 1, 16);
    check_range("fft_size", fft_size, 16, 65536);
    check_range("fft_size modulo 2", fft_size % 2, 0, 0);
    check_range("cyclic_prefix", cyclic_prefix, 1, fft_size / 2 - 1);
    check_range("symbols", symbols, 2, 1024);
    check_range("the number of the preamble's samples", preamble.size(), half(), half());
    double energy = 0;
    for (const auto& value : preamble) {
        energy += std::norm(complex(value));
    }
    check_range("the preamble's energy", energy, 1e-30, 1e30);
    check_range("the number of shifts", shifts.size(), 1, 64);
    for (const int shift : shifts) {
        check_range("a shift", shift, 0, cyclic_prefix);
    }
    check_range("advance", advance, 0, cyclic_prefix - 1);
    check_range("most_offset", most_offset, 0, half());
    check_range("threshold", threshold, 0, 0.999);
    checked_product("ofdm_synchronizer: antennas * (symbols + 1) * (fft_size + "
                    "cyclic_prefix)",
                    1 << 26,
                    { antennas, symbols + 1, symbol() });
}

ofdm_preamble_filter::ofdm_preamble_filter(const ofdm_frame_shape& shape)
    : d_shape(shape), d_late(std::max(0, shape.half() / 2 - shape.cyclic_prefix)),
      d_size(fast_size(most_places() + shape.half())), d_half(shape.half(), true),
      d_half_back(shape.half(), false), d_long(d_size, true), d_long_back(d_size, false),
      d_half_known(known(shape, d_half)), d_long_known(known(shape, d_long)),
      d_folded(size_t(shape.antennas) * d_size),
      d_spectra(size_t(shape.antennas) * shape.half()), d_work(d_size), d_energy(d_size)
{
}

//! Removes the carrier offset and adds both halves, `count` samples an antenna.
void ofdm_preamble_filter::fold(const samples& from, int count, double offset)
{
    const int half = d_shape.half();
    const auto turn = [&](double samples) {
        return std::polar(1.0,
                          -2 * M_PI * std::fmod(offset * samples, d_shape.fft_size) /
                              d_shape.fft_size);
    };
    const complex later = turn(half), step = turn(1);
    for (int r = 0; r < d_shape.antennas; ++r) {
        const auto* x = from[r];
        complex* to = d_folded.data() + size_t(r) * count;
        complex now;
        for (int m = 0; m < count; ++m) {
            now = m % 64 ? product(now, step) : 0.5 * turn(m);
            to[m] = product(now, complex(x[m]) + product(later, complex(x[m + half])));
        }
    }
}

//! d_spectra = the spectra of fft_size folded samples, scaled to the energy 1.
//! \returns the energy before
double ofdm_preamble_filter::transform(const samples& from, double offset)
{
    const int half = d_shape.half();
    fold(from, half, offset);
    double total = 0;
    for (size_t m = 0; m < d_spectra.size(); ++m) {
        total += std::norm(d_folded[m]);
    }
    const double scale = total > 0 ? 1 / std::sqrt(total) : 0;
    for (int r = 0; r < d_shape.antennas; ++r) {
        const complex* folded = d_folded.data() + size_t(r) * half;
        auto* to = d_spectra.data() + size_t(r) * half;
        for (int m = 0; m < half; ++m) {
            to[m] = std::complex<float>(folded[m] * scale);
        }
        d_half.run(to);
    }
    return total;
}

//! d_energy = the energy of the matched filter's output at each place. It is rotated by
//! the position of the first sample in the preamble.
//! \param too_high  tones of half a symbol by which the spectra are too high
void ofdm_preamble_filter::answer(int too_high)
{
    const int half = d_shape.half();
    const int ahead = (too_high % half + half) % half;
    std::fill_n(d_energy.begin(), half, 0);
    for (int r = 0; r < d_shape.antennas; ++r) {
        const auto* spectrum = d_spectra.data() + size_t(r) * half;
        auto* work = d_work.data();
        for (int k = 0; k < half - ahead; ++k) {
            work[k] = product(d_half_known[k], spectrum[k + ahead]);
        }
        for (int k = half - ahead; k < half; ++k) {
            work[k] = product(d_half_known[k], spectrum[k + ahead - half]);
        }
        d_half_back.run(work);
        for (int m = 0; m < half; ++m) {
            d_energy[m] += std::norm(work[m]);
        }
    }
}

ofdm_preamble_filter::likeness ofdm_preamble_filter::compare(const samples& from,
                                                             double fraction)
{
    const int half = d_shape.half();
    const int window = std::min(d_shape.window(), half);
    likeness best;
    best.power = transform(from, fraction) / half;
    const int most = int(std::floor((d_shape.most_offset + 1) / 2));
    for (int g = -most; g <= most; ++g) {
        if (std::abs(fraction + 2 * g) > d_shape.most_offset + 0.5) {
            continue;
        }
        answer(g); // two tone spacings are one tone of half a symbol
        double sum = std::accumulate(d_energy.begin(), d_energy.begin() + window, 0.0);
        for (int m = 0; m < half; ++m) {
            if (sum > best.quality) {
                best.quality = sum;
                best.offset = fraction + 2 * g;
            }
            sum += d_energy[(m + window) % half] - d_energy[m];
        }
    }
    return best;
}

double ofdm_preamble_filter::quality(const samples& from, double offset)
{
    transform(from, offset);
    answer(0);
    const int window = std::min(d_shape.window(), d_shape.half());
    return std::accumulate(d_energy.begin(), d_energy.begin() + window, 0.0);
}

ofdm_preamble_filter::match
ofdm_preamble_filter::find(const samples& from, int places, const likeness& like)
{
    const int half = d_shape.half();
    const int window = d_shape.window();
    const int count = places + half;
    fold(from, count, like.offset);
    // Stronger samples are limited: the transforms' roundings would hide the preamble.
    const double most = 1000 * like.power;
    const double scale = 1 / std::sqrt(like.power);
    std::fill_n(d_energy.begin(), places, 0);
    for (int r = 0; r < d_shape.antennas; ++r) {
        const complex* folded = d_folded.data() + size_t(r) * count;
        for (int m = 0; m < count; ++m) {
            const double power = std::norm(folded[m]);
            d_work[m] = std::complex<float>(
                folded[m] * (scale * (power > most ? std::sqrt(most / power) : 1)));
        }
        std::fill(d_work.begin() + count, d_work.end(), 0);
        d_long.run(d_work);
        for (int k = 0; k < d_size; ++k) {
            d_work[k] = product(d_long_known[k], d_work[k]);
        }
        d_long_back.run(d_work);
        for (int d = 0; d < places; ++d) {
            d_energy[d] += std::norm(d_work[d]);
        }
    }
    // Earlier places weigh more. So the window begins with the first path if the channel
    // is shorter than the prefix.
    double all = 0, late = 0;
    for (int l = 0; l < window; ++l) {
        all += d_energy[l];
        late += l * d_energy[l];
    }
    match best{ 0, -1 };
    for (int d = 0; d + window <= places; ++d) {
        const double sum = all - 0.75 * late / window;
        if (sum > best.energy) {
            best = { d, sum };
        }
        const double next = d + window < places ? d_energy[d + window] : 0;
        all += next - d_energy[d];
        late += window * next - all;
    }
    return best;
}

} // namespace gr::cudaphy
