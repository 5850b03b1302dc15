/* SPDX-License-Identifier: GPL-3.0-or-later */
// One channel matrix with one received vector, written once for a lane of a vector unit
// and for a thread of a GPU. Included by lane-inl.h.
//
// y is one more column of [H; sqrt(N0) I] = Q R. Each column of Q is projected out of all
// later columns and of y as soon as it is found, and is then no longer needed. (Modified
// Gram-Schmidt, applied so, is as stable as Householder's QR, without orthogonalising
// twice: Bjorck, Solving linear least squares problems by Gram-Schmidt orthogonalization,
// BIT 7, 1967.) The part below H becomes sqrt(N0) R^-1, whose rows' lengths are the
// noise. The part below y becomes -sqrt(N0) x. So neither R nor W is ever formed. At step
// k, Nt - k columns of Nr + k elements are live, never more than H has.

//! The results of solve() beside Q: the gain that scales each layer of x = W y, and its
//! noise.
template <typename Antennas>
struct lane_solution {
    real gain[Antennas::most_layers], noise[Antennas::most_layers];
    mask present[Antennas::most_layers];
    real scale, status;
};

//! Projects column k of Q out of y, and adds it to x: layer k of x begins, and layers 0
//! ... k - 1 are corrected. y is used up. \param column, below, last  the column's part
//! beside H, its k elements below, and the last one
template <bool Mmse, typename Antennas>
CUDAPHY_LANE void project(Antennas size,
                          int k,
                          const complex_lane* column,
                          const complex_lane* below,
                          real last,
                          complex_lane* y,
                          complex_lane* x)
{
    const int nr = size.receive();
    const real none = constant(0.0f);
    complex_lane dot{ none, none };
    CUDAPHY_UNROLL
    for (int r = 0; r < nr; ++r) {
        dot = add_dot(column[r], y[r], dot);
    }
    CUDAPHY_UNROLL
    for (int i = 0; Mmse && i < k; ++i) {
        dot = add_dot(below[i], x[i], dot);
    }
    CUDAPHY_UNROLL
    for (int r = 0; r < nr; ++r) {
        y[r] = less_product(column[r], dot, y[r]);
    }
    CUDAPHY_UNROLL
    for (int i = 0; i < k; ++i) {
        x[i] = less_product(below[i], dot, x[i]);
    }
    x[k] = scaled(dot, none - last);
}

//! For solve(): columns of Q are orthogonalised once.
struct found_once {
    CUDAPHY_LANE void operator()(int, complex_lane*, complex_lane*) const {}
};

/*!
 * Orthogonalises the channel matrix in q, by columns, and uses q up. Calls
 * again(k, column, below), which may orthogonalise column k a second time; then
 * take(k, column, below, last) with each column of Q, as project() takes it. Without Mmse
 * it is zero forcing: 1 stands in the place of sqrt(N0) below H, and counts for no
 * length.
 */
template <bool Mmse, typename Antennas, typename Take, typename Again = found_once>
CUDAPHY_LANE void solve(Antennas size,
                        method m,
                        real n0,
                        complex_lane (&q)[Antennas::most_layers][Antennas::most_receive],
                        lane_solution<Antennas>& out,
                        const Take& take,
                        const Again& again = {})
{
    const int nr = size.receive();
    const int nt = size.layers();
    const real none = constant(0.0f);
    real largest = none;
    real zeros = none;
    CUDAPHY_UNROLL
    for (int r = 0; r < nr; ++r) {
        CUDAPHY_UNROLL
        for (int t = 0; t < nt; ++t) {
            const complex_lane h = q[t][r];
            largest = larger(largest, larger(magnitude(h.re), magnitude(h.im)));
            zeros = fused(h.im, none, fused(h.re, none, zeros));
        }
    }
    const matrix_scale known = find_scale(m, n0, largest, zeros);
    real before[Antennas::most_layers]; // squared lengths of columns, for zero forcing
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        before[t] = none;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            q[t][r] = scaled(q[t][r], known.scale);
            if (!Mmse) {
                before[t] = add_norm(q[t][r], before[t]);
            }
        }
    }

    const real corner = Mmse ? known.noise_amplitude : constant(1.0f);
    complex_lane below[Antennas::most_layers][Antennas::most_layers];
    real error[Antennas::most_layers]; // squared lengths of the rows below H
    real bias[Antennas::most_layers];  // 1 - error, without its cancellation
    real status = none;
    CUDAPHY_UNROLL
    for (int k = 0; k < nt; ++k) {
        if (!size.has(k)) {
            continue;
        }
        again(k, q[k], below[k]);
        real length = none;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            length = add_norm(q[k][r], length);
        }
        CUDAPHY_UNROLL
        for (int i = 0; Mmse && i < k; ++i) {
            length = add_norm(below[k][i], length);
        }
        const real inverse =
            constant(1.0f) / square_root(Mmse ? fused(corner, corner, length) : length);
        if (!Mmse) {
            const mask kept =
                square_root(length) > constant(m.rank_tolerance) * square_root(before[k]);
            status = choose(
                kept, status, choose(status > none, status, constant(float(k + 1))));
        }
        const real last = corner * inverse;
        error[k] = last * last;
        bias[k] = length * inverse * inverse;
        CUDAPHY_UNROLL
        for (int r = 0; r < nr; ++r) {
            q[k][r] = scaled(q[k][r], inverse);
        }
        CUDAPHY_UNROLL
        for (int i = 0; i < k; ++i) {
            below[k][i] = scaled(below[k][i], inverse);
            const real square = add_norm(below[k][i], none);
            error[i] = error[i] + square;
            bias[i] = bias[i] - square;
        }

        take(k, q[k], below[k], last);

        CUDAPHY_UNROLL
        for (int j = k + 1; j < nt; ++j) {
            complex_lane with{ none, none };
            CUDAPHY_UNROLL
            for (int r = 0; r < nr; ++r) {
                with = add_dot(q[k][r], q[j][r], with);
            }
            CUDAPHY_UNROLL
            for (int i = 0; Mmse && i < k; ++i) {
                with = add_dot(below[k][i], below[j][i], with);
            }
            CUDAPHY_UNROLL
            for (int r = 0; r < nr; ++r) {
                q[j][r] = less_product(q[k][r], with, q[j][r]);
            }
            CUDAPHY_UNROLL
            for (int i = 0; i < k; ++i) {
                below[j][i] = less_product(below[k][i], with, below[j][i]);
            }
            below[j][k] = scaled(with, none - last);
        }
    }

    const mask usable = both(known.usable, status == none);
    const real weight = Mmse ? constant(1.0f) : known.noise_amplitude;
    CUDAPHY_UNROLL
    for (int t = 0; t < nt; ++t) {
        if (!size.has(t)) {
            continue;
        }
        const layer_gain layer =
            find_gain(m, usable, error[t] * weight * weight, bias[t]);
        out.gain[t] = layer.gain / (none - corner);
        out.noise[t] = layer.noise;
        out.present[t] = layer.present;
    }
    out.scale = known.scale;
    out.status = choose(known.usable, status, constant(-1.0f));
}

//! Scales layer t of the sums that project() made, which becomes x, and gives its noise.
template <typename Antennas>
CUDAPHY_LANE void
layer_of(const lane_solution<Antennas>& from, int t, complex_lane& x, real& noise)
{
    const real none = constant(0.0f);
    const complex_lane sum = scaled(scaled(x, from.gain[t]), from.scale);
    const mask finite = is_finite(sum);
    const mask present = both(finite, from.present[t]);
    x = { choose(present, sum.re, none), choose(present, sum.im, none) };
    noise = choose(finite, from.noise[t], constant(float_infinity));
}
