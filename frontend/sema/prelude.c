#include "frontend/sema/sema.h"

/* Formulas that neither overflow to NaN nor cancel in f32: x / (1 + exp(-x)) tends to x and to -0;
 * gelu_tanh is 0.5 x (1 + tanh u) = x / (1 + exp(-2u)). */
const char et_prelude[] =
    "def sigmoid(x) = 1 / (1 + exp(-x))\n"
    "def silu(x) = x / (1 + exp(-x))\n"
    "def relu(x) = maximum(x, 0)\n"
    "def gelu(x) = 0.5 * x * (1 + erf(x * 0.7071067811865476))\n"
    "def gelu_tanh(x) = x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))\n"
    /* The upper 24 bits, which f32 has. */
    "def random(seed, i, j) = mod(idiv(random_bits(seed, i, j), 256), 16777216) * "
    "0.000000059604644775390625\n"
    /* Block t of x times the matrix of its owner: nothing where it has none. */
    "def grouped(x, w, owner) = where(reshape(owner, [size(owner, axis=0), 1, 1]) >= 0,"
    " x @ gather(w, owner).T, 0)\n";
