/* fp8 x fp8: products of rows that are rounded to e4m3 by weights of e4m3. In programs they are
 * products of bf16, which represents all of these values; here e4m3 is multiplied. Weights go from
 * memory to the instruction unchanged, rows are converted when they are staged. */
#include "codegen/step/decode/decode.h"

void cg_contract_store_fp8(cg *g, val ptr, int n, int align, const val *v) {
    val words[4];
    et_check(n % 4 == 0 && n <= 16);
    for (int w = 0; w < n / 4; w++)
        words[w] = g->family->to_e4m3(g, v + (ptrdiff_t)4 * w);
    val all = n == 4 ? words[0] : cg_vector(g, g->i32, n / 4, words);
    LLVMSetAlignment(LLVMBuildStore(g->b, all, ptr), (unsigned)align);
}
