/* Elementwise functions in all widths, with the device library linked in. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define ONE(T, f)                                                                                  \
    kernel void k_##T##_##f(global const T *a, global T *o)                                        \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        o[i] = f(a[i]);                                                                            \
    }
#define TWO(T, f)                                                                                  \
    kernel void k2_##T##_##f(global const T *a, global const T *b, global T *o)                    \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        o[i] = f(a[i], b[i]);                                                                      \
    }
#define FLOATS(T)                                                                                  \
    ONE(T, exp)                                                                                    \
    ONE(T, exp2)                                                                                   \
    ONE(T, log)                                                                                    \
    ONE(T, log2)                                                                                   \
    ONE(T, log10)                                                                                  \
    ONE(T, sqrt)                                                                                   \
    ONE(T, rsqrt)                                                                                  \
    ONE(T, sin)                                                                                    \
    ONE(T, cos)                                                                                    \
    ONE(T, tan)                                                                                    \
    ONE(T, tanh)                                                                                   \
    ONE(T, sinh)                                                                                   \
    ONE(T, erf)                                                                                    \
    ONE(T, asin)                                                                                   \
    ONE(T, atan)                                                                                   \
    ONE(T, floor)                                                                                  \
    ONE(T, ceil)                                                                                   \
    ONE(T, trunc)                                                                                  \
    ONE(T, rint)                                                                                   \
    ONE(T, round)                                                                                  \
    ONE(T, cbrt)                                                                                   \
    ONE(T, lgamma)                                                                                 \
    ONE(T, expm1)                                                                                  \
    ONE(T, log1p)                                                                                  \
    TWO(T, pow)                                                                                    \
    TWO(T, fmod)                                                                                   \
    TWO(T, fmin)                                                                                   \
    TWO(T, fmax)                                                                                   \
    TWO(T, atan2)                                                                                  \
    TWO(T, hypot)                                                                                  \
    TWO(T, copysign)                                                                               \
    kernel void div_##T(global const T *a, global const T *b, global T *o)                         \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        o[i] = a[i] / b[i] + fma(a[i], b[i], o[i]) - fabs(a[i]) * -b[i];                           \
    }                                                                                              \
    kernel void quotient_##T(global const T *a, global const T *b, global T *o)                    \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        o[i] = a[i] / b[i];                                                                        \
    }                                                                                              \
    kernel void class_##T(global const T *a, global int *o)                                        \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        int e;                                                                                     \
        T m = a[i]; e = 3;\
                                                                              \
        o[i] = isnan(a[i]) + 2 * isinf(a[i]) + 4 * isnormal(a[i]) + 8 * signbit(a[i]) + e +        \
               (m > (T)0.75) + ilogb(a[i]) + (a[i] <= m) + isequal(a[i], ldexp(m, 3));             \
    }
FLOATS(float)
FLOATS(double)
FLOATS(half)

#define INTS(T)                                                                                    \
    kernel void int_##T(global const T *a, global const T *b, global T *o)                         \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        T x = a[i], y = b[i], z = x + y;                                                           \
        z ^= x * y;                                                                                \
        z += mul_hi(x, y);                                                                         \
        z |= x << (y & 3);                                                                         \
        z -= x >> (y & 7);                                                                         \
        z += clz(x) + popcount(y) + ctz(z);                                                        \
        z = max(min(z, x), y) + rotate(x, y) + add_sat(x, y) + sub_sat(x, y);                      \
        z += abs_diff(x, y) + (x < y ? x : 3) + (x == y) + hadd(x, y) + rhadd(x, y) + mad_hi(x, y, z); \
        z += clamp(x, y, z);                                                                       \
        o[i] = z;                                                                                  \
    }                                                                                              \
    kernel void div_##T(global const T *a, global const T *b, global T *o)                         \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        o[i] = a[i] / (b[i] | 1) + a[i] % (b[i] | 1);                                              \
    }
INTS(char)
INTS(uchar)
INTS(short)
INTS(ushort)
INTS(int)
INTS(uint)
INTS(long)
INTS(ulong)

#define CVT(A, B)                                                                                  \
    kernel void cvt_##A##_##B(global const A *a, global B *o)                                      \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        o[i] = convert_##B(a[i]);                                                                  \
    }
#define CVTS(A)                                                                                    \
    CVT(A, char)                                                                                   \
    CVT(A, uchar)                                                                                  \
    CVT(A, short)                                                                                  \
    CVT(A, ushort)                                                                                 \
    CVT(A, int)                                                                                    \
    CVT(A, uint)                                                                                   \
    CVT(A, long)                                                                                   \
    CVT(A, ulong)                                                                                  \
    CVT(A, half)                                                                                   \
    CVT(A, float)                                                                                  \
    CVT(A, double)
CVTS(char)
CVTS(uchar)
CVTS(short)
CVTS(ushort)
CVTS(int)
CVTS(uint)
CVTS(long)
CVTS(ulong)
CVTS(half)
CVTS(float)
CVTS(double)
