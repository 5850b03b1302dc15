/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/fourier/fourier_transform.h"
#include "kernels/common/pi.h"
#include "kernels/fourier/fourier_steps.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace gr::cudaphy::kernels {
namespace {

//! exp(-2 pi j part / whole), in double precision.
std::complex<double> root(size_t part, size_t whole)
{
    return std::polar(1.0, -2 * pi * double(part % whole) / double(whole));
}

complex64 product(complex64 a, complex64 b)
{
    return { a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real() };
}

//! Factors for which there are steps, then other primes; the largest one is last.
std::vector<size_t> factors(size_t size)
{
    std::vector<size_t> out;
    const auto take = [&](size_t factor) {
        out.push_back(factor);
        size /= factor;
    };
    // 16 is 4 · 4 rather than 8 · 2.
    while (size % 8 == 0 && size % 32 != 16) {
        take(8);
    }
    for (size_t factor : { 4, 2, 3, 5 }) {
        while (size % factor == 0) {
            take(factor);
        }
    }
    for (size_t factor = 7; size > 1; factor += 2) {
        while (size % factor == 0) {
            take(factor);
        }
        if (factor * factor > size && size > 1) {
            take(size);
        }
    }
    return out;
}

std::vector<fourier_step> steps_of(size_t size)
{
    std::vector<fourier_step> out;
    for (const size_t radix : factors(size)) {
        fourier_step step{ radix, size / radix, {}, {} };
        const auto append = [](std::vector<float>& to, std::complex<double> value) {
            to.push_back(static_cast<float>(value.real()));
            to.push_back(static_cast<float>(value.imag()));
        };
        for (size_t p = 0; p < step.count; ++p) {
            for (size_t k = 1; k < radix; ++k) {
                append(step.twiddles, root(p * k, size));
            }
        }
        for (size_t k = 0; k < radix && radix > 5 && radix != 8; ++k) {
            append(step.roots, root(k, radix));
        }
        size = step.count;
        out.push_back(std::move(step));
    }
    return out;
}

//! The rows for which rows and columns fill vectors of eight best.
size_t best_rows(size_t size)
{
    const auto work = [size](size_t rows) {
        const auto filled = [](size_t count) { return double((count + 7) / 8 * 8); };
        const size_t columns = size / rows;
        return filled(columns) * double(rows) * (1 + std::log2(double(rows))) +
               filled(rows) * double(columns) * (1 + std::log2(double(columns)));
    };
    size_t best = 1;
    for (size_t rows = 1; rows * rows <= size; ++rows) {
        if (size % rows == 0 && work(rows) < work(best)) {
            best = rows;
        }
    }
    return best;
}

fourier_steps plan_of(size_t size)
{
    fourier_steps out;
    out.rows = best_rows(size);
    out.columns = size / out.rows;
    out.of_columns = steps_of(out.rows);
    out.of_rows = steps_of(out.columns);
    const size_t a_row = padded(out.columns);
    out.twiddle_re.assign(out.rows * a_row, 0);
    out.twiddle_im.assign(out.rows * a_row, 0);
    for (size_t row = 0; row < out.rows; ++row) {
        for (size_t column = 0; column < out.columns; ++column) {
            const auto value = root(row * column, size);
            out.twiddle_re[row * a_row + column] = static_cast<float>(value.real());
            out.twiddle_im[row * a_row + column] = static_cast<float>(value.imag());
        }
    }
    return out;
}

} // namespace

/*!
 * A size with a large prime is a convolution with a chirp, which has a size of the plan's
 * choice (L. I. Bluestein, IEEE Trans. Audio Electroacoustics 18(4), 1970).
 */
struct fourier_transform::plan {
    size_t size;
    bool forward;
    fourier_steps steps; // of the size, or of the convolution's
    std::vector<complex64> chirp, chirp_spectrum;

    plan(size_t count, bool is_forward) : size(count), forward(is_forward)
    {
        if (size == 0) {
            throw std::invalid_argument("a transform has at least one value");
        }
        const auto all = factors(size);
        if (all.empty() || *std::max_element(all.begin(), all.end()) <= most_radix) {
            steps = plan_of(size);
            return;
        }
        size_t longer = 1;
        while (longer < 2 * size - 1) {
            longer *= 2;
        }
        steps = plan_of(longer);
        chirp_spectrum.resize(longer);
        const double scale = 1 / double(longer);
        for (size_t i = 0; i < size; ++i) {
            const auto value = root(i * i % (2 * size), 2 * size);
            chirp.push_back(complex64(value));
            chirp_spectrum[i] = complex64(std::conj(value) * scale);
            chirp_spectrum[(longer - i) % longer] = chirp_spectrum[i];
        }
        run_steps(steps, true, chirp_spectrum.data());
    }

    void by_chirp(complex64* data) const
    {
        const auto exchanged = [this](complex64 x) {
            return forward ? x : complex64(x.imag(), x.real());
        };
        std::vector<complex64> work(chirp_spectrum.size());
        for (size_t i = 0; i < size; ++i) {
            work[i] = product(exchanged(data[i]), chirp[i]);
        }
        run_steps(steps, true, work.data());
        for (size_t i = 0; i < work.size(); ++i) {
            work[i] = product(work[i], chirp_spectrum[i]);
        }
        run_steps(steps, false, work.data());
        for (size_t i = 0; i < size; ++i) {
            data[i] = exchanged(product(work[i], chirp[i]));
        }
    }
};

fourier_transform::fourier_transform(size_t size, bool forward)
    : d_plan(std::make_unique<plan>(size, forward))
{
}

fourier_transform::~fourier_transform() = default;

size_t fourier_transform::size() const { return d_plan->size; }

void fourier_transform::run(complex64* data) const
{
    if (d_plan->chirp.empty()) {
        run_steps(d_plan->steps, d_plan->forward, data);
    } else {
        d_plan->by_chirp(data);
    }
}

void fourier_transform::run(std::vector<complex64>& data) const
{
    if (data.size() != size()) {
        throw std::invalid_argument("a transform of " + std::to_string(size()) +
                                    " values, but " + std::to_string(data.size()) +
                                    " are given");
    }
    run(data.data());
}

std::shared_ptr<const fourier_transform> transform_of(size_t size, bool forward)
{
    constexpr size_t most = 64; // recordings of many lengths would make it grow for ever
    static std::mutex turn;
    static std::map<std::pair<size_t, bool>, std::shared_ptr<fourier_transform>> made;
    const std::lock_guard<std::mutex> lock(turn);
    auto found = made.find({ size, forward });
    if (found == made.end()) {
        if (made.size() >= most) {
            made.clear();
        }
        auto one = std::make_shared<fourier_transform>(size, forward);
        found = made.emplace(std::pair(size, forward), std::move(one)).first;
    }
    return found->second;
}

} // namespace gr::cudaphy::kernels
