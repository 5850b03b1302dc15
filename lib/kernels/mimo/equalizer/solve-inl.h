/* SPDX-License-Identifier: GPL-3.0-or-later */
// One channel matrix with one received vector, written once for a lane of a vector unit
// and for a thread of a GPU; included by equalizer_lane-inl.h, which says what must stand
// before.
//
// y is taken as one more column of [H; sqrt(N0) I] = Q R: each column of Q is taken out
// of all later columns and of y as soon as it is found, and then is no longer needed.
// (Modified Gram-Schmidt so applied is as stable as Householder's QR, without
// orthogonalising twice: Bjorck, Solving linear least squares problems by Gram-Schmidt
// orthogonalization, BIT 7, 1967.) What stands below H becomes sqrt(N0) R^-1 on the way,
// whose rows' lengths are the noise, and what stands below y becomes -sqrt(N0) x: so
// neither R nor W is ever formed. At step k there live Nt - k columns of Nr + k elements,
// never more than H has.

//! What solve() finds beside Q: what brings each layer of x = W y back to its scale, and
//! its noise.
template <typename Antennas>
struct lane_solution {
    real gain[Antennas::most_layers], noise[Antennas::most_layers];
    mask present[Antennas::most_layers];
    real scale, status;
};

//! Takes column k of Q, by its part beside H, the k elements and the last one below, out
//! of y, which is used up; so layer k of x comes, and those before come nearer.
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

//! That a column of Q is found once.
struct found_once {
    CUDAPHY_LANE void operator()(int, complex_lane*, complex_lane*) const {}
};

/*!
 * The channel matrix in q, by columns, is used up: take(k, column, below, last) is given
 * each column of Q as project() takes it. With Mmse false it is zero forcing, where 1
 * stands in sqrt(N0)'s place below H and counts for no length. Before that,
 * again(k, column, below) may take what rounding has left of earlier columns out of
 * column k.
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
    real before[Antennas::most_layers]; // of zero forcing: the columns' squared lengths
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
    real error[Antennas::most_layers]; // squared lengths of the rows of what is below
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

//! Layer t of what project() found, which then is x, and its noise.
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
