/* SPDX-License-Identifier: GPL-3.0-or-later */
// More antennas than most_solved_antennas, by Gram matrices: one item (a channel matrix
// with the vectors it serves) a lane. Real and imaginary parts of an element stand in
// vectors of their own, one lane an item.
#include "kernels/common/highway_targets.h"
#include "kernels/mimo/equalizer/cpu.h"
#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mimo/equalizer/gram_cpu.cc"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gr::cudaphy::kernels::HWY_NAMESPACE {
namespace {

#include "kernels/mimo/equalizer/cpu-inl.h"

#define CUDAPHY_LANE HWY_INLINE
#include "kernels/mimo/equalizer/gram-inl.h"
#undef CUDAPHY_LANE

//! Elements of all lanes, in aligned memory.
struct lane_elements {
    explicit lane_elements(size_t count)
        : values(hwy::AllocateAligned<float>(2 * lanes * std::max<size_t>(count, 1)))
    {
        if (!values) {
            throw std::bad_alloc();
        }
    }
    complex_lane get(size_t e) const
    {
        return { hn::Load(tag(), &values[2 * lanes * e]),
                 hn::Load(tag(), &values[2 * lanes * e + lanes]) };
    }
    void put(size_t e, complex_lane value)
    {
        hn::Store(value.re, tag(), &values[2 * lanes * e]);
        hn::Store(value.im, tag(), &values[2 * lanes * e + lanes]);
    }
    hwy::AlignedFreeUniquePtr<float[]> values;
};

//! Complex number `e` after each lane's own place.
HWY_INLINE complex_lane gather(const complex64* from, const int64_t* places, size_t e)
{
#if HWY_TARGET == HWY_SCALAR
    const auto value = from[places[0] + e];
    return { hn::Set(tag(), value.real()), hn::Set(tag(), value.imag()) };
#else
    const hn::Repartition<int64_t, tag> pair;
    const auto* base = reinterpret_cast<const int64_t*>(from + e);
    const auto low =
        hn::BitCast(tag(), hn::GatherIndex(pair, base, hn::LoadU(pair, places)));
    const auto high = hn::BitCast(
        tag(), hn::GatherIndex(pair, base, hn::LoadU(pair, places + hn::Lanes(pair))));
    return { hn::ConcatEven(tag(), high, low), hn::ConcatOdd(tag(), high, low) };
#endif
}

/*!
 * out(i, j) = sum over r of conj(a(r, first_a + i)) b(r, first_b + j), in blocks of
 * gram_block antennas. The rows of a and b are row_a and row_b elements long.
 */
template <int I, int J, typename Out>
HWY_INLINE void find_products(int nr,
                              const lane_elements& a,
                              size_t row_a,
                              size_t first_a,
                              const lane_elements& b,
                              size_t row_b,
                              size_t first_b,
                              const Out& out)
{
    const real none = constant(0.0f);
    complex_lane total[I][J];
    for (int i = 0; i < I; ++i) {
        for (int j = 0; j < J; ++j) {
            total[i][j] = { none, none };
        }
    }
    for (int first = 0; first < nr; first += gram_block) {
        complex_lane sum[I][J];
        for (int i = 0; i < I; ++i) {
            for (int j = 0; j < J; ++j) {
                sum[i][j] = { none, none };
            }
        }
        const int last = std::min(first + gram_block, nr);
        for (int r = first; r < last; ++r) {
            complex_lane right[J];
            for (int j = 0; j < J; ++j) {
                right[j] = b.get(r * row_b + first_b + j);
            }
            for (int i = 0; i < I; ++i) {
                const complex_lane left = a.get(r * row_a + first_a + i);
                for (int j = 0; j < J; ++j) {
                    sum[i][j] = add_dot(left, right[j], sum[i][j]);
                }
            }
        }
        for (int i = 0; i < I; ++i) {
            for (int j = 0; j < J; ++j) {
                total[i][j] = { total[i][j].re + sum[i][j].re,
                                total[i][j].im + sum[i][j].im };
            }
        }
    }
    for (int i = 0; i < I; ++i) {
        for (int j = 0; j < J; ++j) {
            out(i, j, total[i][j]);
        }
    }
}

//! The lower triangle of H^H H.
HWY_INLINE void find_gram(int nr, int nt, const lane_elements& h, complex_lane* g)
{
    for (int i = 0; i < nt; i += 2) {
        for (int j = 0; j <= i; j += 2) {
            const auto put = [&](int di, int dj, complex_lane value) HWY_ATTR {
                if (j + dj <= i + di) {
                    g[pair_of(i + di, j + dj)] = value;
                }
            };
            if (i + 1 < nt) {
                find_products<2, 2>(nr, h, nt, i, h, nt, j, put);
            } else if (j + 1 < nt) {
                find_products<1, 2>(nr, h, nt, i, h, nt, j, put);
            } else {
                find_products<1, 1>(nr, h, nt, i, h, nt, j, put);
            }
        }
    }
}

//! z = H^H y
HWY_INLINE void find_filtered(
    int nr, int nt, const lane_elements& h, const lane_elements& y, complex_lane* z)
{
    int t = 0;
    const auto put = [&](int i, int, complex_lane value) HWY_ATTR { z[t + i] = value; };
    for (; t + 4 <= nt; t += 4) {
        find_products<4, 1>(nr, h, nt, t, y, 1, 0, put);
    }
    for (; t < nt; ++t) {
        find_products<1, 1>(nr, h, nt, t, y, 1, 0, put);
    }
}

//! The factors of the lanes' covariances.
struct lane_factors {
    const complex64* l;
    int64_t places[lanes];
    bool shared; //!< all lanes have the first lane's

    HWY_INLINE complex_lane get(size_t e) const
    {
        if (shared) {
            const auto value = l[places[0] + e];
            return { constant(value.real()), constant(value.imag()) };
        }
        return gather(l, places, e);
    }
};

//! Replaces column `column` of v, whose rows are `row` elements long, by L^-1 v: four
//! antennas at a time, because one sum after the other would wait for itself.
HWY_INLINE void
whiten_column(int nr, const lane_factors& by, lane_elements& v, size_t row, size_t column)
{
    for (int first = 0; first < nr; first += 4) {
        const int rows = std::min(4, nr - first);
        complex_lane sum[4];
        for (int i = 0; i < 4; ++i) {
            sum[i] = v.get((first + std::min(i, rows - 1)) * row + column);
        }
        for (int c = 0; c < first; ++c) {
            const complex_lane known = v.get(c * row + column);
            for (int i = 0; i < 4; ++i) {
                const size_t r = first + std::min(i, rows - 1);
                sum[i] = less_product(by.get(r * nr + c), known, sum[i]);
            }
        }
        for (int i = 0; i < rows; ++i) {
            const size_t r = first + i;
            for (int c = 0; c < i; ++c) {
                sum[i] = less_product(by.get(r * nr + first + c), sum[c], sum[i]);
            }
            sum[i] = scaled(sum[i], by.get(r * nr + r).re);
            v.put(r * row + column, sum[i]);
        }
    }
}

//! Scales H and finds out how.
HWY_INLINE matrix_scale scale_channel(method m, real n0, size_t count, lane_elements& h)
{
    const real none = constant(0.0f);
    real largest = none;
    real zeros = none;
    for (size_t e = 0; e < count; ++e) {
        const complex_lane value = h.get(e);
        largest = larger(largest, larger(magnitude(value.re), magnitude(value.im)));
        zeros = fused(value.im, none, fused(value.re, none, zeros));
    }
    const matrix_scale known = find_scale(m, n0, largest, zeros);
    for (size_t e = 0; e < count; ++e) {
        h.put(e, scaled(h.get(e), known.scale));
    }
    return known;
}

//! The layers of one vector, in rows.
HWY_INLINE void find_layers(int nt,
                            method m,
                            const lane_gram& of,
                            const complex_lane* z,
                            row<complex64>* x,
                            row<float>* noise)
{
    const real none = constant(0.0f);
    for (int i = 0; i < nt; ++i) {
        complex_lane sum = z[i];
        if (!m.ratio) {
            sum = { none, none };
            for (int j = 0; j < nt; ++j) {
                const complex_lane v = j <= i ? of.inverse[pair_of(i, j)]
                                              : conjugate(of.inverse[pair_of(j, i)]);
                sum = add_product(v, z[j], sum);
            }
        }
        sum = scaled(scaled(sum, of.gain[i]), of.scale);
        const mask present = is_finite(sum);
        hn::StoreInterleaved2(choose(present, sum.re, none),
                              choose(present, sum.im, none),
                              tag(),
                              reinterpret_cast<float*>(x[i]));
        hn::StoreU(
            choose(present, of.noise[i], constant(float_infinity)), tag(), noise[i]);
    }
}

} // namespace

void equalize_by_gram(const equalizer_job& job,
                      const covariance_factors& factors,
                      size_t first,
                      size_t last)
{
    const int nr = job.p.receive_antennas;
    const int nt = job.p.layers;
    const size_t tones = job.p.tones;
    const bool coloured = !job.given.covariance.empty();
    const method m = method_of(job.p);
    lane_elements h(size_t(nr) * nt), y(nr);
    HWY_ALIGN row<complex64> x[16];
    HWY_ALIGN row<float> noise[16];
    HWY_ALIGN float n0[lanes], status[lanes];
    size_t matrix[lanes], vector[lanes], left[lanes];
    int64_t h_places[lanes], y_places[lanes];
    lane_factors whitener;
    whitener.l = factors.l.data();
    lane_gram gram;
    complex_lane z[16];

    for (; first < last; first += lanes) {
        const size_t count = std::min(lanes, last - first);
        whitener.shared = true;
        for (size_t l = 0; l < lanes; ++l) {
            // Lanes beyond the last item repeat it, and write nothing.
            const size_t item = first + std::min(l, count - 1);
            const auto place = job.cut.place_of(item, job.shape);
            matrix[l] = place.matrix;
            vector[l] = place.vector;
            left[l] = place.vectors;
            h_places[l] = int64_t(matrix[l]) * nr * nt;
            const size_t variance = job.shape.variance_of(matrix[l]);
            n0[l] = coloured ? factors.variance[variance] : job.given.n0[variance];
            whitener.places[l] = int64_t(variance) * nr * nr;
            whitener.shared = whitener.shared && whitener.places[l] == whitener.places[0];
        }
        const size_t elements = size_t(nr) * nt;
        for (size_t e = 0; e < elements; ++e) {
            h.put(e, gather(job.given.h.data(), h_places, e));
        }
        for (int t = 0; coloured && t < nt; ++t) {
            whiten_column(nr, whitener, h, nt, t);
        }
        const auto known = scale_channel(m, hn::Load(tag(), n0), elements, h);
        find_gram(nr, nt, h, gram.g);
        find_gains(nt, m, known, gram);
        hn::Store(gram.status, tag(), status);
        for (size_t l = 0; l < count; ++l) {
            if (first + l < job.cut.matrices) {
                job.given.status[first + l] = int(status[l]);
            }
        }
        for (size_t s = 0; s < job.cut.chunk; ++s) {
            for (size_t l = 0; l < lanes; ++l) {
                y_places[l] = int64_t(vector[l] + std::min(s, left[l] - 1) * tones) * nr;
            }
            for (int r = 0; r < nr; ++r) {
                y.put(r, gather(job.given.y.data(), y_places, r));
            }
            if (coloured) {
                whiten_column(nr, whitener, y, 1, 0);
            }
            find_filtered(nr, nt, h, y, z);
            find_layers(nt, m, gram, z, x, noise);
            for (size_t l = 0; l < count; ++l) {
                if (s < left[l]) {
                    const size_t to = (vector[l] + s * tones) * nt;
                    gather_from_lane(x, nt, l, job.given.x.data() + to);
                    gather_from_lane(noise, nt, l, job.given.noise.data() + to);
                }
            }
        }
    }
}

} // namespace gr::cudaphy::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gr::cudaphy::kernels {
namespace {

HWY_EXPORT(equalize_by_gram);

} // namespace

void equalize_by_gram_cpu(const equalizer_job& job,
                          const covariance_factors& factors,
                          size_t first,
                          size_t last)
{
    HWY_DYNAMIC_DISPATCH(equalize_by_gram)(job, factors, first, last);
}

} // namespace gr::cudaphy::kernels
#endif
