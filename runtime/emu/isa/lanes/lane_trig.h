/* lane_trig.h - v_trig_preop_f64: 53 bits of 2/pi, chosen by the magnitude of the argument. */
#ifndef ISA_LANE_TRIG_H
#define ISA_LANE_TRIG_H

#include "runtime/emu/isa/lanes/lane_math.h"

/* 2/pi, binary fraction, most significant first. The instruction knows 1201 bits of it. */
static const uint64_t two_over_pi[19] __attribute__((unused)) = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

L double trig_preop(double x, uint32_t segment) {
    uint32_t exponent = (asq(x) >> 52) & 2047, shift = (segment & 31) * 53;
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t r = 0;
    for (uint32_t i = 0; i < 53; i++) {
        uint32_t at = shift + i;
        r = r << 1 | (at < 1201 ? two_over_pi[at / 64] >> (63 - at % 64) & 1 : 0);
    }
    return __builtin_ldexp((double)r, -53 - (int)shift + (exponent >= 1968 ? 128 : 0));
}

#endif
