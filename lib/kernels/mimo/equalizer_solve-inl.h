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

//! x = W y before it is scaled back, by scale() twice, and each layer's noise.
template <typename Antennas>
struct lane_solution {
    complex_lane x[Antennas::most_layers];
    real gain[Antennas::most_layers], noise[Antennas::most_layers];
    mask present[Antennas::most_layers];
    real scale, status;
};

//! Takes column k of Q out of y.
template <bool Mmse, typename Antennas>
CUDAPHY_LANE void project(Antennas size,
                          int k,
                          const complex_lane* column,
                          const complex_lane* below,
                          real last,
                          complex_lane* y,
                          lane_solution<Antennas>& out)
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
        dot = add_dot(below[i], out.x[i], dot);
    }
    CUDAPHY_UNROLL
    for (int r = 0; r < nr; ++r) {
        y[r] = less_product(column[r], dot, y[r]);
    }
    CUDAPHY_UNROLL
    for (int i = 0; i < k; ++i) {
        out.x[i] = less_product(below[i], dot, out.x[i]);
    }
    out.x[k] = scaled(dot, none - last);
}

/*!
 * The layers of the vector y, which is used up, by the channel matrix in q, by columns,
 * used up as well. With Mmse false it is zero forcing, where 1 stands in sqrt(N0)'s place
 * below H and counts for no length. keep(k, column, below, last) is told of each column
 * of Q: its part beside H, and the k elements and the last one below.
 */
template <bool Mmse, typename Antennas, typename Keep>
CUDAPHY_LANE void solve(Antennas size,
                        method m,
                        real n0,
                        complex_lane (&q)[Antennas::most_layers][Antennas::most_receive],
                        complex_lane (&y)[Antennas::most_receive],
                        lane_solution<Antennas>& out,
                        const Keep& keep)
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
        out.x[t] = { none, none };
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

        keep(k, q[k], below[k], last);
        project<Mmse>(size, k, q[k], below[k], last, y, out);

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

//! Layer t of what solve() found, and its noise.
template <typename Antennas>
CUDAPHY_LANE void
layer_of(const lane_solution<Antennas>& from, int t, complex_lane& x, real& noise)
{
    const real none = constant(0.0f);
    const complex_lane sum = scaled(scaled(from.x[t], from.gain[t]), from.scale);
    const mask finite = is_finite(sum);
    const mask present = both(finite, from.present[t]);
    x = { choose(present, sum.re, none), choose(present, sum.im, none) };
    noise = choose(finite, from.noise[t], constant(float_infinity));
}
