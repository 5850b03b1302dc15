/* SPDX-License-Identifier: GPL-3.0-or-later */
// Vectors of matrix rows, included once an instruction set. No #pragma once, for that.

namespace hn = hwy::HWY_NAMESPACE;

//! a * b + c, rounded once where the instruction set can, as hn::MulAdd does.
HWY_INLINE float fused(float a, float b, float c)
{
#if HWY_NATIVE_FMA
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
HWY_INLINE double fused(double a, double b, double c)
{
#if HWY_NATIVE_FMA
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}
HWY_INLINE complex64 fused(complex64 a, complex64 x, complex64 sum)
{
    const float re = fused(a.real(), x.real(), sum.real());
    const float im = fused(a.real(), x.imag(), sum.imag());
    return { fused(-a.imag(), x.imag(), re), fused(a.imag(), x.real(), im) };
}

#if HWY_TARGET == HWY_SCALAR
template <typename T>
struct lanes {
    using vector = T;
    using factor = T;
    static constexpr int count = 1;

    static HWY_INLINE T zero() { return T(0); }
    static HWY_INLINE T load(const T* from) { return *from; }
    static HWY_INLINE void store(T v, T* to) { *to = v; }
    static HWY_INLINE T load_factor(const T* from) { return *from; }
    static HWY_INLINE T constant(T value) { return value; }
    static HWY_INLINE T gather(const T* from, const int32_t* index)
    {
        return from[*index];
    }
    static HWY_INLINE T fused(T a, T x, T sum) { return HWY_NAMESPACE::fused(a, x, sum); }
};
#else
template <typename T>
struct lanes {
    using tag = hn::ScalableTag<T>;
    using vector = hn::Vec<tag>;
    using factor = vector;
    static constexpr int count = int(hn::MaxLanes(tag()));

    static HWY_INLINE vector zero() { return hn::Zero(tag()); }
    static HWY_INLINE vector load(const T* from) { return hn::LoadU(tag(), from); }
    static HWY_INLINE void store(vector v, T* to) { hn::StoreU(v, tag(), to); }
    static HWY_INLINE factor load_factor(const T* from) { return load(from); }
    static HWY_INLINE factor constant(T value) { return hn::Set(tag(), value); }
    static HWY_INLINE vector gather(const T* from, const int32_t* index)
    {
        if constexpr (sizeof(T) == 4) {
            return hn::GatherIndex(
                tag(), from, hn::LoadU(hn::RebindToSigned<tag>(), index));
        } else {
            return hn::GatherIndex(
                tag(),
                from,
                hn::PromoteTo(hn::RebindToSigned<tag>(),
                              hn::LoadU(hn::Rebind<int32_t, tag>(), index)));
        }
    }
    static HWY_INLINE vector fused(factor a, vector x, vector sum)
    {
        return hn::MulAdd(a, x, sum);
    }
};

//! Real and imaginary parts side by side, as they lie in memory.
template <>
struct lanes<complex64> {
    using tag = hn::ScalableTag<float>;
    using vector = hn::Vec<tag>;
    struct factor {
        vector re, im; //!< of each number twice, of im the first negative
    };
    static constexpr int count = int(hn::MaxLanes(tag())) / 2;

    static HWY_INLINE vector zero() { return hn::Zero(tag()); }
    static HWY_INLINE vector load(const complex64* from)
    {
        return hn::LoadU(tag(), reinterpret_cast<const float*>(from));
    }
    static HWY_INLINE void store(vector v, complex64* to)
    {
        hn::StoreU(v, tag(), reinterpret_cast<float*>(to));
    }
    static HWY_INLINE factor load_factor(const complex64* from)
    {
        const auto both = load(from);
        const auto im = hn::DupOdd(both);
        return { hn::DupEven(both), hn::OddEven(im, hn::Neg(im)) };
    }
    static HWY_INLINE factor constant(complex64 value)
    {
        return { hn::Set(tag(), value.real()),
                 hn::OddEven(hn::Set(tag(), value.imag()),
                             hn::Set(tag(), -value.imag())) };
    }
    static HWY_INLINE vector gather(const complex64* from, const int32_t* index)
    {
        return hn::BitCast(
            tag(), lanes<double>::gather(reinterpret_cast<const double*>(from), index));
    }
    static HWY_INLINE vector fused(const factor& a, vector x, vector sum)
    {
        return hn::MulAdd(a.im, hn::Shuffle2301(x), hn::MulAdd(a.re, x, sum));
    }
};
#endif
