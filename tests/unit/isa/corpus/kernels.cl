/* Vectors, memory of all kinds, atomics, LDS, cross-lane builtins, matrices. */
#if defined(__gfx1100__) || defined(__gfx1201__)
#define WAVE32
#endif
#if defined(__gfx942__) || defined(__gfx950__)
#define FP8
#endif
#ifdef WAVE32
#define REALTIME() __builtin_amdgcn_s_sendmsg_rtnl(0x83)
#define CYCLES() __builtin_readcyclecounter()
#define SDOT4(a, b, c) __builtin_amdgcn_sudot4(true, a, true, b, c, false)
#define SDOT8(a, b, c) __builtin_amdgcn_sudot8(true, a, true, b, c, false)
#define HW_ID 0xf817
#else
#define REALTIME() __builtin_amdgcn_s_memrealtime()
#define CYCLES() __builtin_amdgcn_s_memtime()
#define SDOT4(a, b, c) __builtin_amdgcn_sdot4(a, b, c, false)
#define SDOT8(a, b, c) __builtin_amdgcn_sdot8(a, b, c, false)
#define HW_ID 0xf804
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef __bf16 __bf16x8 __attribute__((ext_vector_type(8)));
typedef half h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));

#define VEC(T, N)                                                                                  \
    kernel void vec_##T##N(global const T##N *a, global const T##N *b, global T##N *o)             \
    {                                                                                              \
        size_t i = get_global_id(0);                                                               \
        T##N x = a[i], y = b[i];                                                                   \
        o[i] = x * y + (x < y ? x : y) - max(x, y) + min(x, -y) + (T##N)(3);                       \
    }
VEC(float, 2)
VEC(float, 4)
VEC(float, 8)
VEC(half, 2)
VEC(half, 4)
VEC(half, 8)
VEC(double, 2)
VEC(short, 2)
VEC(short, 4)
VEC(char, 4)
VEC(int, 4)
VEC(int, 16)
VEC(long, 2)

kernel void packed(global const float2 *a, global const float2 *b, global float2 *o, float s)
{
    size_t i = get_global_id(0);
    float2 x = a[i], y = b[i];
    o[i] = fma(x, y, (float2)(s, s)) * y.yx + x.xx - (float2)(1.0f, 2.0f) * -x;
    o[i + 64] = fma(x.yx, (float2)(0.5f), -y);
}
kernel void mixed(global const half2 *a, global const half2 *b, global float *o, global half *h)
{
    size_t i = get_global_id(0);
    float x = fma((float)a[i].x, (float)b[i].y, o[i]);
    o[i] = x + (float)a[i].y * -(float)b[i].x;
    h[i] = (half)fma((float)a[i].x, x, (float)b[i].x);
    o[i + 64] = __builtin_amdgcn_fdot2(a[i], b[i], x, false);
}
kernel void dots(global const int *a, global const int *b, global int *o)
{
    size_t i = get_global_id(0);
    o[i] = SDOT4(a[i], b[i], o[i]) + __builtin_amdgcn_udot4(a[i], b[i], 1, false) +
           SDOT8(a[i], b[i], 3) + __builtin_amdgcn_udot8(a[i], b[i], 7, false);
}
kernel void bfloat(global const ushort *a, global const float *b, global ushort *o, global float *f)
{
    size_t i = get_global_id(0);
    f[i] = as_float((uint)a[i] << 16) * b[i];
    uint u = as_uint(b[i]);
    o[i] = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
}
kernel void bfloat_type(global const __bf16 *a, global __bf16 *o, global float *f)
{
    size_t i = get_global_id(0);
    f[i] = (float)a[i] + (float)a[i + 1];
    o[i] = (__bf16)(f[i] * 2.0f);
}
kernel void sizes(global const uchar *c, global const short *s, global const int *p, global uchar *oc,
                  global ushort *os, global int *op)
{
    size_t i = get_global_id(0);
    oc[i] = c[i] + ((global const char *)c)[i + 1000];
    os[i] = s[3 * i] + ((global const ushort *)s)[i];
    struct three { int x, y, z; } v = ((global const struct three *)p)[i];
    v.y++;
    ((global struct three *)op)[i] = v;
    half2 h = {((global const half *)s)[i], ((global const half *)c)[7 * i]};
    ((global half2 *)op)[i + 4096] = h.yx;
    ((global half *)os)[i + 555] = h.y;
}
kernel void uniform(global const int *p, global int *o, int n, long m, constant int *t)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i] * t[i & 15] + (s >> 3) + clz(s) + popcount(s);
    o[get_group_id(0)] = s + (int)(m * n) + (int)(m / (n | 1)) + (n > 3 ? (int)(m >> 5) : n);
}
kernel void select_dynamic(global const float *p, global float *o, int k)
{
    float v[16];
    for (int i = 0; i < 16; i++)
        v[i] = p[get_global_id(0) + 64 * i];
    v[k & 15] = 3.0f;
    o[get_global_id(0)] = v[(k * 7) & 15] + v[(int)v[1] & 15];
}
kernel void lds_reduce(global const float *a, global float *o)
{
    local float t[256];
    int l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s; s >>= 1) {
        if (l < s) t[l] += t[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) o[get_group_id(0)] = t[0];
}
kernel void lds_kinds(global const uchar *a, global int *o)
{
    local uchar c[256];
    local short s[256];
    local double d[256];
    local float4 v[256];
    local float3 w[64];
    int l = get_local_id(0);
    c[l] = a[l];
    s[l] = (short)(a[l] * 3);
    d[l] = a[l] + 0.5;
    v[l] = (float4)(a[l], 1, 2, 3);
    w[l & 63] = (float3)(a[l], 4, 5);
    barrier(CLK_LOCAL_MEM_FENCE);
    int n = (l * 7 + 3) & 255;
    o[l] = c[n] + (char)c[n ^ 1] + s[n] + (ushort)s[n ^ 5] + (int)d[n] + (int)v[n].w + (int)w[n & 63].y;
}
#define LATOMIC(T)                                                                                 \
    kernel void latomic_##T(global T *o, global T *g)                                              \
    {                                                                                              \
        local T x[8];                                                                              \
        int l = get_local_id(0);                                                                   \
        if (l < 8) x[l] = o[l];                                                                    \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        T r = atomic_add(&x[0], (T)l) + atomic_sub(&x[1], (T)3) + atomic_xchg(&x[2], (T)l) +       \
              atomic_min(&x[3], (T)l) + atomic_max(&x[4], (T)l) + atomic_and(&x[5], (T)l) +        \
              atomic_or(&x[6], (T)l) + atomic_xor(&x[7], (T)l) + atomic_cmpxchg(&x[0], (T)5, (T)l); \
        atomic_add(&g[0], r);                                                                      \
        atomic_sub(&g[1], r);                                                                      \
        o[l] = r + atomic_xchg(&g[2], (T)l) + atomic_min(&g[3], (T)l) + atomic_max(&g[4], (T)l) +  \
               atomic_and(&g[5], (T)l) + atomic_or(&g[6], (T)l) + atomic_xor(&g[7], (T)l) +        \
               atomic_cmpxchg(&g[8], (T)5, (T)l);                                                  \
    }
LATOMIC(int)
LATOMIC(uint)
#define atomic_add atom_add
#define atomic_sub atom_sub
#define atomic_xchg atom_xchg
#define atomic_min atom_min
#define atomic_max atom_max
#define atomic_and atom_and
#define atomic_or atom_or
#define atomic_xor atom_xor
#define atomic_cmpxchg atom_cmpxchg
LATOMIC(long)
LATOMIC(ulong)
kernel void fatomic(global float *f, global double *d, local float *lf, local double *ld)
{
    __scoped_atomic_fetch_add(f, 1.5f, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(d, 1.5, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(lf, 2.5f, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    __scoped_atomic_fetch_add(ld, 2.5, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    __scoped_atomic_fetch_max(lf + 1, 2.5f, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    f[9] = __scoped_atomic_fetch_add(f + 1, 1.5f, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
}
kernel void wait_event(global uint *e, global uint *o, uint need)
{
    if (get_local_id(0) == 0) {
        ulong start = REALTIME();
        while (__scoped_atomic_load_n(e, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) < need) {
            __builtin_amdgcn_s_sleep(2);
            if (REALTIME() - start > 1000) break;
        }
        __scoped_atomic_thread_fence(__ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
    }
    __builtin_amdgcn_s_barrier();
    o[get_local_id(0)] = e[1];
    __scoped_atomic_thread_fence(__ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(e, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(e + 4, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP);
    __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
}
kernel void where(global uint *o)
{
    uint l = get_local_id(0);
    o[l] = __builtin_amdgcn_s_getreg(HW_ID) + (uint)CYCLES() +
#ifdef FP8
           __builtin_amdgcn_s_getreg(0x1814) +
#endif
           __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
kernel void lanes(global int *a, global int *o)
{
    int l = get_local_id(0), x = a[l];
    o[l] = __builtin_amdgcn_readfirstlane(x) + __builtin_amdgcn_readlane(x, 5) +
           __builtin_amdgcn_ds_bpermute(4 * (l ^ 1), x) + __builtin_amdgcn_ds_permute(4 * (63 - l), x) +
           __builtin_amdgcn_ds_swizzle(x, 0x401f) + __builtin_amdgcn_mov_dpp(x, 0x111, 15, 15, true) +
#ifdef WAVE32
           __builtin_amdgcn_update_dpp(1, x, 0x153, 10, 15, false) +
           __builtin_amdgcn_update_dpp(x, x, 0x165, 12, 15, false) +
           __builtin_amdgcn_mov_dpp8(x, 0x053977) + (int)__builtin_amdgcn_ballot_w32(x > 3) +
           __builtin_amdgcn_permlane16(x, l, 0x76543210, x * 0 + 5, false, false) +
           __builtin_amdgcn_permlanex16(x, l, 0x01234567, 0x89abcdef, true, false) +
#else
           __builtin_amdgcn_update_dpp(1, x, 0x142, 10, 15, false) +
           __builtin_amdgcn_update_dpp(x, x, 0x143, 12, 15, false) +
           (int)__builtin_amdgcn_ballot_w64(x > 3) + (int)__builtin_amdgcn_uicmp(x, l, 36) +
#endif
           __builtin_amdgcn_update_dpp(x, x, 0x4e, 15, 15, false) +
           __builtin_amdgcn_update_dpp(x, x, 0x140, 15, 15, false) +
           __builtin_amdgcn_update_dpp(x, x, 0x128, 15, 15, false) +
           __builtin_amdgcn_perm(x, l, 0x07020501) + __builtin_amdgcn_alignbit(x, l, 7) +
           __builtin_amdgcn_ubfe(x, 3, 5) + __builtin_amdgcn_sbfe(x, 3, l);
}
kernel void fbuiltins(global float *a, global int *o)
{
    int l = get_local_id(0);
    float x = a[l], y = a[l + 64], z = a[l + 128];
    o[l] = as_int(__builtin_amdgcn_rcpf(x) + __builtin_amdgcn_rsqf(y) + __builtin_amdgcn_sinf(z) +
                  __builtin_amdgcn_cosf(x) + __builtin_amdgcn_fractf(y) + __builtin_amdgcn_fmed3f(x, y, z) +
                  __builtin_amdgcn_ldexpf(x, l) + __builtin_amdgcn_exp2f(x) + __builtin_amdgcn_logf(y) +
                  __builtin_amdgcn_sqrtf(z)) +
           as_int(__builtin_amdgcn_cvt_pkrtz(x, y)) + 
#if defined(FP8) || defined(__gfx1201__)
           __builtin_amdgcn_cvt_pk_fp8_f32(x, y, l, true) + __builtin_amdgcn_cvt_pk_bf8_f32(x, y, l, false) +
           as_int(__builtin_amdgcn_cvt_f32_fp8(l, 1) + __builtin_amdgcn_cvt_f32_bf8(l, 3)) +
           as_int(__builtin_amdgcn_cvt_pk_f32_fp8(l, true)[0]) +
#endif
           __builtin_amdgcn_class(x, 0x1f8) +
           __builtin_amdgcn_cvt_pk_u8_f32(x, 1, l) + __builtin_amdgcn_sad_u8(l, o[l], 3);
}

#ifndef WAVE32
#define MFMA(name, A, C, call)                                                                     \
    kernel void mfma_##name(global const A *a, global const A *b, global C *c)                     \
    {                                                                                              \
        size_t i = get_local_id(0);                                                                \
        C acc = c[i];                                                                              \
        for (int k = 0; k < 4; k++) {                                                              \
            A x = a[i + 64 * k], y = b[i + 64 * k];                                                \
            acc = __builtin_amdgcn_mfma_##call(x, y, acc, 0, 0, 0);                                \
        }                                                                                          \
        c[i] = acc;                                                                                \
    }
MFMA(bf16_16, s4, f4, f32_16x16x16bf16_1k)
MFMA(bf16_32, s4, f16v, f32_32x32x8bf16_1k)
MFMA(bf16_4, s4, f4, f32_4x4x4bf16_1k)
MFMA(f16_16, h4, f4, f32_16x16x16f16)
MFMA(f16_32, h4, f16v, f32_32x32x8f16)
MFMA(f16_16b, h4, f16v, f32_16x16x4f16)
MFMA(f16_32b, h4, f32v, f32_32x32x4f16)
MFMA(f32_16, float, f4, f32_16x16x4f32)
MFMA(f32_32, float, f16v, f32_32x32x2f32)
MFMA(f32_32b, float, f32v, f32_32x32x1f32)
MFMA(f32_4, float, f4, f32_4x4x1f32)
#ifdef FP8
MFMA(i8_16, long, i4, i32_16x16x32_i8)
MFMA(i8_32, long, i16v, i32_32x32x16_i8)
MFMA(fp8_16, long, f4, f32_16x16x32_fp8_fp8)
MFMA(bf8_32, long, f16v, f32_32x32x16_bf8_fp8)
#else
MFMA(i8_16, int, i4, i32_16x16x16i8)
MFMA(i8_32, int, i16v, i32_32x32x8i8)
#endif
#ifdef __gfx950__
MFMA(f16_wide, half8, f4, f32_16x16x32_f16)
MFMA(f16_wide32, half8, f16v, f32_32x32x16_f16)
MFMA(bf16_wide, __bf16x8, f4, f32_16x16x32_bf16)
MFMA(i8_wide, i4, i4, i32_16x16x64_i8)
MFMA(i8_wide32, i4, i16v, i32_32x32x32_i8)
#endif
MFMA(f64_16, double, d4, f64_16x16x4f64)
MFMA(f64_4, double, double, f64_4x4x4f64)

/* Many accumulators: registers past the vector file's arch half. */
kernel void mfma_many(global const s4 *a, global const s4 *b, global f16v *c)
{
    size_t i = get_local_id(0);
    f16v acc[20];
    for (int k = 0; k < 20; k++)
        acc[k] = c[i + 64 * k];
    for (int k = 0; k < 100; k++) {
        s4 x = a[i + 64 * k];
#pragma unroll
        for (int j = 0; j < 20; j++)
            acc[j] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, b[i + 64 * j + k], acc[j], 0, 0, 0);
    }
    for (int k = 0; k < 20; k++)
        c[i + 64 * k] = acc[k];
}
#else
#define WMMA(name, A, C, call)                                                                     \
    kernel void wmma_##name(global const A *a, global const A *b, global C *c)                     \
    {                                                                                              \
        size_t i = get_local_id(0);                                                                \
        C acc = c[i];                                                                              \
        for (int k = 0; k < 4; k++) {                                                              \
            A x = a[i + 32 * k], y = b[i + 32 * k];                                                \
            acc = __builtin_amdgcn_wmma_##call;                                                    \
        }                                                                                          \
        c[i] = acc;                                                                                \
    }
#ifdef __gfx1201__
WMMA(f16, half8, float8, f32_16x16x16_f16_w32_gfx12(x, y, acc))
WMMA(bf16, short8, float8, f32_16x16x16_bf16_w32_gfx12(x, y, acc))
WMMA(to_f16, half8, half8, f16_16x16x16_f16_w32_gfx12(x, y, acc))
WMMA(iu8, int2, int8, i32_16x16x16_iu8_w32_gfx12(true, x, false, y, acc, true))
WMMA(iu4, int, int8, i32_16x16x16_iu4_w32_gfx12(true, x, true, y, acc, false))
WMMA(fp8, int2, float8, f32_16x16x16_fp8_fp8_w32_gfx12(x, y, acc))
#else
WMMA(f16, half16, float8, f32_16x16x16_f16_w32(x, y, acc))
WMMA(bf16, short16, float8, f32_16x16x16_bf16_w32(x, y, acc))
WMMA(to_f16, half16, half16, f16_16x16x16_f16_w32(x, y, acc, true))
WMMA(iu8, int4, int8, i32_16x16x16_iu8_w32(true, x, false, y, acc, true))
WMMA(iu4, int2, int8, i32_16x16x16_iu4_w32(true, x, true, y, acc, false))
#endif
#endif
kernel void scratch(global int *o, int n)
{
    int t[300];
    for (int i = 0; i < n; i++)
        t[(i * 7) % 300] = o[i];
    volatile char small[16];
    small[n & 15] = 3;
    o[get_local_id(0)] = t[(n * 13) % 300] + small[get_local_id(0) & 15];
}
__attribute__((noinline)) int helper(global int *p, int k)
{
    int s = 0;
    for (int i = 0; i < k; i++)
        s = s * 31 + p[i] % (k + 1);
    return s;
}
kernel void calls(global int *p, global int *o)
{
    int l = get_local_id(0);
    o[l] = helper(p + l, l & 7) + helper(o + 128, 3);
}
kernel void generic_memory(global int *g, int which)
{
    local int t[64];
    int mine[4] = {which, 1, 2, 3};
    int l = get_local_id(0);
    t[l] = l;
    int *p = which == 0 ? (int *)&t[l] : which == 1 ? (int *)&g[l] : &mine[l & 3];
    *p += 5;
    __scoped_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    g[l + 128] = *p + t[l ^ 1] + mine[1];
}
