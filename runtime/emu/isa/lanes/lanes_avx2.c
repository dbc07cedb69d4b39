/* The lane kernels for hosts with AVX2 and FMA. */
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,popcnt,lzcnt")
#define LANES_TABLE isa_lanes_avx2
#include "runtime/emu/isa/lanes/lanes.inc"
