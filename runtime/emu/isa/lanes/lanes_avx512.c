/* The lane kernels for hosts with AVX-512. */
#pragma GCC target(                                                                                \
    "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,bmi,bmi2,popcnt,lzcnt,prefer-vector-width=512")
#define LANES_TABLE isa_lanes_avx512
#include "runtime/emu/isa/lanes/lanes.inc"
