/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cfloat>
#include <cmath>

#ifdef __CUDACC__
#define CUDAPHY_BOTH __host__ __device__
#else
#define CUDAPHY_BOTH
#endif

namespace gr::cudaphy::kernels {

/*!
 * \brief The steps of int8 arithmetic in a unit of LLR, for each received word.
 *
 * A word has `steps` if `typical` lies between the quartiles of its magnitudes |LLR|.
 * Else it has `steps` times the power of 2 that brings `typical` between them (the
 * nearest one). Words in units of any size therefore fit into a byte. Words of true LLRs
 * keep `steps`, because their quartiles surround `typical` wherever decoding is hard.
 * Where a part of a word is strong and a part weak, the upper quartile alone can make
 * steps finer and the lower one coarser, so that neither part is lost.
 *
 * Zeros and NaN do not count, nor magnitudes below 2^-126. Counts of whole values have no
 * rounding errors: all backends choose the same steps.
 */
struct ldpc_word_steps {
    float typical = 0; //!< in the unit of the given LLRs; 0: all words have `steps`
    float steps = 1;

    //! Greatest power of 2 either way.
    static constexpr int most = 90;

    //! Values are looked at in groups of so many neighbours, a line of a GPU's cache.
    static constexpr int group = 32;
    //! One group of so many is looked at.
    CUDAPHY_BOTH static int spacing(int n) { return n < 4096 ? 1 : 4; }

    //! \param at_least  at_least(x): how many of the values looked at are >= x or <= -x
    template <typename Count>
    CUDAPHY_BOTH float of_word(const Count& at_least) const
    {
        const int all = at_least(FLT_MIN);
        const int above = at_least(typical);
        const int sign = above > all - all / 4 ? 1 : above < all / 4 ? -1 : 0;
        if (sign == 0) {
            return steps;
        }
        const auto is_outside = [&](int power) {
            const int found = at_least(ldexpf(typical, sign * power));
            return sign > 0 ? found > all - all / 4 : found < all / 4;
        };
        int outside = 0, inside = 1; // most words need little
        while (inside < most && is_outside(inside)) {
            outside = inside;
            inside = 2 * inside < most ? 2 * inside : most;
        }
        while (inside - outside > 1) {
            const int middle = (outside + inside) / 2;
            (is_outside(middle) ? outside : inside) = middle;
        }
        return ldexpf(steps, -sign * inside);
    }
};

} // namespace gr::cudaphy::kernels
#undef CUDAPHY_BOTH
