/* SPDX-License-Identifier: GPL-3.0-or-later */
// The estimate of one tone at one receive antenna and its energy, written once for a lane
// of a vector unit and for a thread of a GPU. Included inside a namespace, and without
// include guard, after complex_lane-inl.h by files that define
//
//   CUDAPHY_UNROLL   what stands before a loop whose arrays should be in registers
//   constant(float)  a real
//
// Layers may be fewer than the arrays are made for (`Most`), so that the arrays can be
// registers and the number of layers known only when running.

//! The pilots and their pseudo-inverse as channel_estimator_plan::rounded() has them:
//! real and imaginary parts in turn.
struct pilot_factors {
    const float* values;
    int symbols, layers;

    CUDAPHY_LANE complex_lane inverse(int s, int t) const { return at(s, t); }
    CUDAPHY_LANE complex_lane pilot(int s, int t) const { return at(symbols + s, t); }
    CUDAPHY_LANE complex_lane at(int s, int t) const
    {
        const float* value = values + 2 * (s * layers + t);
        return { constant(value[0]), constant(value[1]) };
    }
};

//! The estimates of all layers from received(symbol). Returns 0, or NaN where a received
//! pilot is not finite.
template <int Most, typename Received>
CUDAPHY_LANE real estimate(const pilot_factors& factors,
                           const Received& received,
                           complex_lane (&h)[Most])
{
    const real none = constant(0.0f);
    CUDAPHY_UNROLL
    for (int t = 0; t < Most; ++t) {
        h[t] = { none, none };
    }
    real zeros = none;
    for (int s = 0; s < factors.symbols; ++s) {
        const complex_lane y = received(s);
        zeros = fused(y.im, none, fused(y.re, none, zeros));
        CUDAPHY_UNROLL
        for (int t = 0; t < Most; ++t) {
            if (t < factors.layers) {
                h[t] = add_product(factors.inverse(s, t), y, h[t]);
            }
        }
    }
    return zeros;
}

//! The energy of what the estimates leave of the received pilots.
template <int Most, typename Received>
CUDAPHY_LANE real residual_energy(const pilot_factors& factors,
                                  const Received& received,
                                  const complex_lane (&h)[Most])
{
    real energy = constant(0.0f);
    for (int s = 0; s < factors.symbols; ++s) {
        complex_lane left = received(s);
        CUDAPHY_UNROLL
        for (int t = 0; t < Most; ++t) {
            if (t < factors.layers) {
                left = less_product(factors.pilot(s, t), h[t], left);
            }
        }
        energy = add_norm(left, energy);
    }
    return energy;
}

//! energy + weight |before - 2 here + after|^2
CUDAPHY_LANE real add_difference(
    complex_lane before, complex_lane here, complex_lane after, real weight, real energy)
{
    const real two = constant(2.0f);
    const complex_lane second{ fused_less(two, here.re, before.re + after.re),
                               fused_less(two, here.im, before.im + after.im) };
    return fused(weight, add_norm(second, constant(0.0f)), energy);
}
