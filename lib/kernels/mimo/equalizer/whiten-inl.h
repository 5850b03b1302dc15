/* SPDX-License-Identifier: GPL-3.0-or-later */
// Turns interference with a covariance R = L L^H into white noise of variance 1: L^-1 y =
// (L^-1 H) x + noise. Included by lane-inl.h.

//! L, lower triangular, and the reciprocals of its diagonal.
template <typename Antennas>
struct lane_whitener {
    complex_lane l[Antennas::most_receive][Antennas::most_receive];
    real inverse[Antennas::most_receive];
    mask usable; //!< R is finite and positive definite
};

//! Cholesky's factor of the covariance. Of its elements covariance(r, c), those with c <=
//! r are read. (Golub and Van Loan, Matrix Computations, 4th ed., 4.2.5.)
template <typename Antennas, typename Covariance>
CUDAPHY_LANE void
find_whitener(Antennas size, const Covariance& covariance, lane_whitener<Antennas>& out)
{
    const int nr = size.receive();
    const real none = constant(0.0f);
    real zeros = none;
    out.usable = none == none;
    CUDAPHY_UNROLL
    for (int c = 0; c < nr; ++c) {
        const real before = covariance(c, c).re;
        zeros = fused(before, none, zeros);
        real pivot = before;
        CUDAPHY_UNROLL
        for (int k = 0; k < c; ++k) {
            const complex_lane e = out.l[c][k];
            pivot = fused_less(e.im, e.im, fused_less(e.re, e.re, pivot));
        }
        out.usable = both(out.usable, pivot > constant(least_pivot) * before);
        out.inverse[c] = constant(1.0f) / square_root(pivot);
        CUDAPHY_UNROLL
        for (int r = c + 1; r < nr; ++r) {
            complex_lane sum = covariance(r, c);
            zeros = fused(sum.im, none, fused(sum.re, none, zeros));
            CUDAPHY_UNROLL
            for (int k = 0; k < c; ++k) {
                const complex_lane e = out.l[c][k];
                sum = less_product(out.l[r][k], { e.re, none - e.im }, sum);
            }
            out.l[r][c] = scaled(sum, out.inverse[c]);
        }
    }
    out.usable = both(out.usable, zeros == none);
}

//! Replaces v by L^-1 v.
template <typename Antennas>
CUDAPHY_LANE void whiten(Antennas size,
                         const lane_whitener<Antennas>& by,
                         complex_lane (&v)[Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int r = 0; r < size.receive(); ++r) {
        CUDAPHY_UNROLL
        for (int c = 0; c < r; ++c) {
            v[r] = less_product(by.l[r][c], v[c], v[r]);
        }
        v[r] = scaled(v[r], by.inverse[r]);
    }
}

//! Replaces the row w of weights for whitened vectors by w L^-1, for vectors as received.
template <typename Antennas>
CUDAPHY_LANE void weigh_unwhitened(Antennas size,
                                   const lane_whitener<Antennas>& by,
                                   complex_lane (&w)[Antennas::most_receive])
{
    CUDAPHY_UNROLL
    for (int r = size.receive() - 1; r >= 0; --r) {
        CUDAPHY_UNROLL
        for (int c = r + 1; c < size.receive(); ++c) {
            w[r] = less_product(w[c], by.l[c][r], w[r]);
        }
        w[r] = scaled(w[r], by.inverse[r]);
    }
}
