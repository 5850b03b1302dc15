/* SPDX-License-Identifier: GPL-3.0-or-later */
// From the Gram matrix of a channel to the gains of its layers, for a lane. Included
// after lane-inl.h. CUDA's kernel (gram_cuda.cu) spreads the same operations over
// threads, in the same order for each element, so that both give the same bits.

constexpr int most_pairs = 136; // of 16 layers

//! Where element (i, j) of a Hermitian matrix, j <= i, lies in its lower triangle.
constexpr int pair_of(int i, int j) { return i * (i + 1) / 2 + j; }

CUDAPHY_LANE complex_lane conjugate(complex_lane a)
{
    return { a.re, constant(0.0f) - a.im };
}

//! What turns z = H^H y into layers: x = scale gain (inverse z), or, by max ratio,
//! scale gain z.
struct lane_gram {
    complex_lane g[most_pairs];       //!< H^H H of the scaled H
    complex_lane inverse[most_pairs]; //!< of G + N0 I
    real gain[16], noise[16];
    real scale, status;
};

/*
 * Inverts a Hermitian positive definite matrix in place, by the sweep operator: step k
 * turns the pivot d = a_kk into -1 / d and subtracts a_ik a_kj / d from every other
 * element, so that all steps together give -A^-1, and the lower triangle is enough
 * (Goodnight, A tutorial on the SWEEP operator, The American Statistician 33(3), 1979).
 * The pivots are those of Cholesky's factorisation. MMSE's are N0 at least, which
 * rounding must not undo.
 */
CUDAPHY_LANE void find_gram_inverse(int nt, method m, real n0, lane_gram& of)
{
    auto* const a = of.inverse;
    of.status = constant(0.0f);
    for (int k = 0; k < nt; ++k) {
        real pivot = a[pair_of(k, k)].re;
        if (m.mmse) {
            pivot = larger(pivot, n0);
        } else {
            const mask kept =
                pivot > constant(gram_rank_tolerance) * of.g[pair_of(k, k)].re;
            of.status = choose(
                kept,
                of.status,
                choose(of.status > constant(0.0f), of.status, constant(float(k + 1))));
        }
        const real by = constant(1.0f) / pivot;
        complex_lane column[16];
        for (int i = 0; i < nt; ++i) {
            column[i] = i < k ? conjugate(a[pair_of(k, i)]) : a[pair_of(i, k)];
        }
        for (int i = 0; i < nt; ++i) {
            const complex_lane row = scaled(column[i], by);
            for (int j = 0; j <= i && i != k; ++j) {
                if (j != k) {
                    a[pair_of(i, j)] =
                        less_product(row, conjugate(column[j]), a[pair_of(i, j)]);
                }
            }
            if (i < k) {
                a[pair_of(k, i)] = conjugate(row);
            } else if (i > k) {
                a[pair_of(i, k)] = row;
            }
        }
        a[pair_of(k, k)] = { constant(0.0f) - by, constant(0.0f) };
    }
    for (int e = 0; e < pair_of(nt, 0); ++e) {
        a[e] = { constant(0.0f) - a[e].re, constant(0.0f) - a[e].im };
    }
}

//! Gains and noise by max ratio: row i of G holds what layer i's filter takes in.
CUDAPHY_LANE void find_ratio_gains(int nt, method m, matrix_scale known, lane_gram& of)
{
    const real none = constant(0.0f);
    of.status = none;
    for (int i = 0; i < nt; ++i) {
        const real length = of.g[pair_of(i, i)].re;
        real interference = none;
        for (int j = 0; j < nt; ++j) {
            if (j != i) {
                interference =
                    add_norm(of.g[j < i ? pair_of(i, j) : pair_of(j, i)], interference);
            }
        }
        const mask kept = length > constant(float_min);
        of.status = choose(
            kept, of.status, choose(of.status > none, of.status, constant(float(i + 1))));
        const real by = constant(1.0f) / length;
        const real noise =
            fused(known.noise_amplitude * known.noise_amplitude, length, interference);
        const layer_gain layer =
            find_gain(m, both(known.usable, kept), noise * by * by, none);
        of.gain[i] = choose(layer.present, by, none);
        of.noise[i] = layer.noise;
    }
}

//! Fills in all but g, which is given.
CUDAPHY_LANE void find_gains(int nt, method m, matrix_scale known, lane_gram& of)
{
    of.scale = known.scale;
    if (m.ratio) {
        find_ratio_gains(nt, m, known, of);
    } else {
        const real none = constant(0.0f);
        real n0 = known.noise_amplitude * known.noise_amplitude;
        if (m.mmse) {
            real most = none;
            for (int i = 0; i < nt; ++i) {
                most = larger(most, of.g[pair_of(i, i)].re);
            }
            n0 = larger(n0, constant(gram_least_noise) * most);
        }
        for (int i = 0; i < nt; ++i) {
            for (int j = 0; j <= i; ++j) {
                of.inverse[pair_of(i, j)] = of.g[pair_of(i, j)];
            }
            if (m.mmse) {
                auto& diagonal = of.inverse[pair_of(i, i)].re;
                diagonal = diagonal + n0;
            }
        }
        find_gram_inverse(nt, m, n0, of);
        const mask usable = both(known.usable, of.status == none);
        for (int i = 0; i < nt; ++i) {
            real b = none; // (inverse G)_ii
            for (int j = 0; j < nt && m.mmse; ++j) {
                const int e = j < i ? pair_of(i, j) : pair_of(j, i);
                b = fused(
                    of.inverse[e].im, of.g[e].im, fused(of.inverse[e].re, of.g[e].re, b));
            }
            const layer_gain layer =
                find_gain(m, usable, of.inverse[pair_of(i, i)].re * n0, b);
            of.gain[i] = layer.gain;
            of.noise[i] = layer.noise;
        }
    }
    of.status = choose(known.usable, of.status, constant(-1.0f));
}
