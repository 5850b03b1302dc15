/* SPDX-License-Identifier: GPL-3.0-or-later */
// The weights of one channel matrix, written once for a lane of a vector unit and for a
// thread of a GPU, so that both give the same bits. Included inside a namespace, and
// without include guard, after complex_lane-inl.h and what that wants, by files that
// define before it:
//
//   CUDAPHY_UNROLL          what stands before a loop whose arrays should be in registers
//   mask                    the result of comparing two reals; reals have + - * / >
//   constant(float)         a real
//   larger(a, b), magnitude(a), square_root(a), both(mask, mask)
//   choose(mask, a, b)      a where the mask is true, else b
//   unscale(a)              the power of two that brings |a| to 1 <= |a| < 2, within
//   2^+-120
//
// The method is QR. H, for MMSE with sqrt(N0) I set below it, is split into orthonormal
// columns Q and an upper triangular R by Gram-Schmidt. Each column is orthogonalised
// twice, which makes Q orthonormal to rounding (Giraud, Langou and Rozloznik, The loss of
// orthogonality in the Gram-Schmidt orthogonalization process, 2005). Then W = R^-1 Q^H,
// with the upper Nr rows of Q, and (H^H H + N0 I)^-1 = R^-1 R^-H. R is the Cholesky
// factor of the Gram matrix, but forming that matrix would square the condition number.
// In floats, zero forcing would then fail at a condition of about 3e3, and MMSE would
// lose an N0 below 1e-7 of |H|^2.

//! The method, for a kernel.
struct method {
    bool mmse, unbiased;  //!< mmse: with a covariance, too
    bool ratio;           //!< max_ratio
    float rank_tolerance; //!< of zero forcing, see makers.h
};

//! Facts of a channel matrix before the elimination. usable: its elements and n0 are
//! finite, and n0 > 0. noise_amplitude: sqrt(N0) times the scale.
struct matrix_scale {
    mask usable;
    real scale, noise_amplitude;
};

//! \param zeros  the sum of 0 h over all real and imaginary parts h: NaN if one is not
//! finite
CUDAPHY_LANE matrix_scale find_scale(method m, real n0, real largest, real zeros)
{
    const real none = constant(0.0f);
    const real amplitude = square_root(n0);
    const mask usable = both(both(n0 > none, constant(float_max) >= n0), zeros == none);
    const real scale = unscale(m.mmse ? larger(largest, amplitude) : largest);
    const real noise_amplitude = amplitude * scale;
    return { usable,
             scale,
             m.mmse ? larger(noise_amplitude, constant(least_noise_amplitude))
                    : noise_amplitude };
}

//! How a layer's weights are scaled, and the noise after them.
struct layer_gain {
    mask present;
    real gain, noise;
};

//! \param error  N0 ((H^H H + N0 I)^-1)_ii
//! \param b      (W H)_ii, for MMSE only
//! 1 - b would cancel if the noise is weak, and 1 - error if it is strong. Therefore both
//! are computed.
CUDAPHY_LANE layer_gain find_gain(method m, mask usable, real error, real b)
{
    const real none = constant(0.0f);
    const real one = constant(1.0f);
    real noise = error;
    real gain = one;
    if (m.mmse) {
        usable = both(usable, b > none);
        noise = m.unbiased ? error / b : error * b;
        gain = m.unbiased ? one / b : one;
    }
    const real most = constant(float_max);
    usable = both(usable, most >= noise);
    return { usable,
             choose(usable, gain, none),
             choose(
                 usable, larger(noise, constant(float_min)), constant(float_infinity)) };
}

//! Whether a layer's sum is finite. A received vector that is not finite makes every sum
//! NaN or infinite, whatever the weights, even zeros.
CUDAPHY_LANE mask is_finite(complex_lane sum)
{
    const real none = constant(0.0f);
    return fused(sum.im, none, sum.re * none) == none;
}

/*!
 * Numbers of antennas and layers, known at compile time (Nr, Nt > 0) or not (0).
 */
template <int Nr, int Nt>
struct antennas {
    CUDAPHY_LANE constexpr int receive() const { return Nr ? Nr : d_receive; }
    CUDAPHY_LANE constexpr int layers() const { return Nt ? Nt : d_layers; }
    static constexpr int most_receive = Nr ? Nr : 16;
    static constexpr int most_layers = Nt ? Nt : 16;
    static constexpr bool is_padded = false;
    CUDAPHY_LANE constexpr bool has(int) const { return true; }
    int d_receive, d_layers;
};

//! At most Nr antennas and Nt layers. The rest are rows and columns of zeros, which
//! change no bit of the others. Columns for which has() is false are skipped.
template <int Nr, int Nt>
struct padded_antennas : antennas<Nr, Nt> {
    CUDAPHY_LANE padded_antennas(int receive, int layers)
        : antennas<Nr, Nt>{ receive, layers }
    {
    }
    static constexpr bool is_padded = true;
    CUDAPHY_LANE bool has(int layer) const { return layer < this->d_layers; }
};

//! A lane's matrix: q is H, then Q, then W, by columns.
template <typename Antennas>
struct lane_weights {
    complex_lane q[Antennas::most_layers][Antennas::most_receive];
    real noise[Antennas::most_layers];
    real status; //!< 0, k or -1
};

//! Replaces the scaled H in `out.q` by its max-ratio weights W.
template <typename Antennas>
CUDAPHY_LANE void find_ratio_weights(Antennas size,
                                     method m,
                                     const matrix_scale& known,
                                     lane_weights<Antennas>& out)
{
    const int nr = size.receive();
    const int nt = size.layers();
    const real none = constant(0.0f);
    auto& q = out.q;
    real length[Antennas::most_layers]; // squared
    real status = none;
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        length[t] = none;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            length[t] = add_norm(q[t][r], length[t]);
        }
        const mask kept = length[t] > constant(float_min);
        status =
            choose(kept, status, choose(status > none, status, constant(float(t + 1))));
    }
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        real interference = none;
        CUDAPHY_UNROLL
        for (int j = 0; j < nt; ++j) {
            complex_lane dot{ none, none };
            CUDAPHY_UNROLL
            for (int r = 0; r < nr && j != t; ++r) {
                dot = add_dot(q[t][r], q[j][r], dot);
            }
            interference = add_norm(dot, interference);
        }
        out.noise[t] =
            fused(known.noise_amplitude * known.noise_amplitude, length[t], interference);
    }
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        const real inverse = constant(1.0f) / length[t];
        const mask usable = both(known.usable, length[t] > constant(float_min));
        const layer_gain layer =
            find_gain(m, usable, out.noise[t] * inverse * inverse, none);
        out.noise[t] = layer.noise;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            const complex_lane w = scaled(scaled(q[t][r], inverse), known.scale);
            q[t][r] = { choose(layer.present, w.re, none),
                        choose(layer.present, none - w.im, none) };
        }
    }
    out.status = choose(known.usable, status, constant(-1.0f));
}

//! The weights of the channel matrix whose elements are channel(r, t).
template <typename Antennas, typename Channel>
CUDAPHY_LANE void find_weights(
    Antennas size, method m, real n0, const Channel& channel, lane_weights<Antennas>& out)
{
    const int nr = size.receive();
    const int nt = size.layers();
    const real none = constant(0.0f);
    auto& q = out.q;
    real largest = none;
    real zeros = none;
    CUDAPHY_UNROLL
    for (int r = 0; r < nr; ++r) {
        CUDAPHY_UNROLL
        for (int t = 0; t < nt; ++t) {
            const complex_lane h = channel(r, t);
            q[t][r] = h;
            largest = larger(largest, larger(magnitude(h.re), magnitude(h.im)));
            zeros = fused(h.im, none, fused(h.re, none, zeros));
        }
    }
    const matrix_scale known = find_scale(m, n0, largest, zeros);
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            q[t][r] = scaled(q[t][r], known.scale);
        }
    }
    if (m.ratio) {
        find_ratio_weights(size, m, known, out);
        return;
    }

    // The upper triangle that stood below H, by columns; its diagonal is noise_amplitude
    // / R_kk.
    complex_lane below[Antennas::most_layers][Antennas::most_layers];
    complex_lane factor[Antennas::most_layers][Antennas::most_layers]; // R, by columns
    real inverse[Antennas::most_layers];                               // 1 / R_kk
    real status = none;
    CUDAPHY_UNROLL
    for (int k = 0; k < nt; ++k) {
        real before = none;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            before = add_norm(q[k][r], before);
        }
        CUDAPHY_UNROLL
        for (int j = 0; j < k; ++j) {
            factor[k][j] = below[k][j] = { none, none };
        }
        CUDAPHY_UNROLL
        for (int pass = 0; pass < 2; ++pass) {
            complex_lane dot[Antennas::most_layers];
            CUDAPHY_UNROLL
            for (int j = 0; j < k; ++j) {
                complex_lane sum{ none, none };
                CUDAPHY_UNROLL
                for (int r = 0; r < nr; ++r) {
                    sum = add_dot(q[j][r], q[k][r], sum);
                }
                if (m.mmse && pass) {
                    CUDAPHY_UNROLL
                    for (int i = 0; i <= j; ++i) {
                        sum = add_dot(below[j][i], below[k][i], sum);
                    }
                }
                dot[j] = sum;
                factor[k][j] = { factor[k][j].re + sum.re, factor[k][j].im + sum.im };
            }
            CUDAPHY_UNROLL
            for (int j = 0; j < k; ++j) {
                CUDAPHY_UNROLL
                for (int r = 0; r < nr; ++r) {
                    q[k][r] = less_product(q[j][r], dot[j], q[k][r]);
                }
                if (m.mmse) {
                    CUDAPHY_UNROLL
                    for (int i = 0; i <= j; ++i) {
                        below[k][i] = less_product(below[j][i], dot[j], below[k][i]);
                    }
                }
            }
        }
        real length = none;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            length = add_norm(q[k][r], length);
        }
        if (m.mmse) {
            CUDAPHY_UNROLL
            for (int i = 0; i < k; ++i) {
                length = add_norm(below[k][i], length);
            }
            length = fused(known.noise_amplitude, known.noise_amplitude, length);
        }
        length = square_root(length);
        if (!m.mmse) {
            const mask kept = length > constant(m.rank_tolerance) * square_root(before);
            status = choose(
                kept, status, choose(status > none, status, constant(float(k + 1))));
        }
        inverse[k] = constant(1.0f) / length;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            q[k][r] = scaled(q[k][r], inverse[k]);
        }
        if (m.mmse) {
            CUDAPHY_UNROLL
            for (int i = 0; i < k; ++i) {
                below[k][i] = scaled(below[k][i], inverse[k]);
            }
            below[k][k] = { known.noise_amplitude * inverse[k], none };
        }
    }

    // The squared length of each row of R^-1, by its columns.
    CUDAPHY_UNROLL
    for (int c = 0; c < nt; ++c) {
        complex_lane column[Antennas::most_layers];
        CUDAPHY_UNROLL
        for (int i = c; i >= 0; --i) {
            complex_lane sum{ none, none };
            CUDAPHY_UNROLL
            for (int j = i + 1; j <= c; ++j) {
                sum = less_product(factor[j][i], column[j], sum);
            }
            column[i] =
                i == c ? complex_lane{ inverse[c], none } : scaled(sum, inverse[i]);
            out.noise[i] = add_norm(column[i], i == c ? none : out.noise[i]);
        }
    }

    // W = R^-1 Q^H, one receive antenna after the other, in Q's place.
    CUDAPHY_UNROLL
    for (int r = 0; r < nr; ++r) {
        CUDAPHY_UNROLL
        for (int i = nt - 1; i >= 0; --i) {
            complex_lane sum{ q[i][r].re, none - q[i][r].im };
            CUDAPHY_UNROLL
            for (int j = i + 1; j < nt; ++j) {
                sum = less_product(factor[j][i], q[j][r], sum);
            }
            q[i][r] = scaled(sum, inverse[i]);
        }
    }

    const mask usable = both(known.usable, status == none);
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        real b = none;
        if (m.mmse) {
            CUDAPHY_UNROLL
            for (int r = 0; r < nr; ++r) {
                const complex_lane h = scaled(channel(r, t), known.scale);
                b = fused_less(q[t][r].im, h.im, fused(q[t][r].re, h.re, b));
            }
        }
        const real error = out.noise[t] * known.noise_amplitude * known.noise_amplitude;
        const layer_gain layer = find_gain(m, usable, error, b);
        out.noise[t] = layer.noise;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            const complex_lane w = scaled(scaled(q[t][r], layer.gain), known.scale);
            q[t][r] = { choose(layer.present, w.re, none),
                        choose(layer.present, w.im, none) };
        }
    }
    out.status = choose(known.usable, status, constant(-1.0f));
}

#include "kernels/mimo/equalizer/solve-inl.h"
#include "kernels/mimo/equalizer/whiten-inl.h"
