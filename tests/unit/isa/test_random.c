/* test_random.c - machine code nobody compiled: random words of every encoding, run on random
 * registers with addresses that sometimes are live. Whatever happens, the executor stays inside the
 * wave, its LDS and live memory; the sanitizer build is what sees if it does not. The same code on
 * the same state must end the same way twice. */
#include "tests/unit/isa/harness.h"

#include <stdlib.h>

enum { WORDS = 96, BYTES = 65536, PROGRAMS = 3000, POOL = 6000 };

/* First dword of each encoding: fixed bits, and which bits are free. A table has first ten without
 * memory (the sixth, VOP2, has its last opcodes used by others), then those that access it. */
struct encoding {
    uint32_t fixed, open;
    int words;
};
static const struct encoding gfx9[] = {
    {0x80000000, 0x3fffffff, 1}, /* SOP2 */
    {0xb0000000, 0x0fffffff, 1}, /* SOPK */
    {0xbe800000, 0x007fffff, 1}, /* SOP1 */
    {0xbf000000, 0x007fffff, 1}, /* SOPC */
    {0xbf800000, 0x001f0007, 1}, /* SOPP */
    {0x00000000, 0x7dffffff, 1}, /* VOP2 */
    {0x7e000000, 0x01ffffff, 1}, /* VOP1 */
    {0x7c000000, 0x01ffffff, 1}, /* VOPC */
    {0xd0000000, 0x03ffffff, 2}, /* VOP3 */
    {0xd3800000, 0x007fffff, 2}, /* VOP3P and matrices */
    {0xc0000000, 0x03ffffff, 2}, /* SMEM */
    {0xd8000000, 0x01feffff, 2}, /* DS */
    {0xdc000000, 0x01ffffff, 2}, /* FLAT */
    {0xe0000000, 0x01ffffff, 2}, /* MUBUF */
};
static const struct encoding gfx11[] = {
    {0x80000000, 0x3fffffff, 1}, /* SOP2 */
    {0xb0000000, 0x0fffffff, 1}, /* SOPK */
    {0xbe800000, 0x007fffff, 1}, /* SOP1 */
    {0xbf000000, 0x007fffff, 1}, /* SOPC */
    {0xc8000000, 0x03ffffff, 2}, /* VOPD */
    {0x00000000, 0x7dffffff, 1}, /* VOP2 */
    {0x7e000000, 0x01ffffff, 1}, /* VOP1 */
    {0x7c000000, 0x01ffffff, 1}, /* VOPC */
    {0xd4000000, 0x03ffffff, 2}, /* VOP3 */
    {0xcc000000, 0x007fffff, 2}, /* VOP3P and matrices */
    {0xf4000000, 0x01ffffff, 2}, /* SMEM */
    {0xd8000000, 0x03fcffff, 2}, /* DS */
    {0xdc000000, 0x03ffffff, 2}, /* FLAT */
};
static const struct encoding gfx12[] = {
    {0x80000000, 0x3fffffff, 1}, /* SOP2 */
    {0xb0000000, 0x0fffffff, 1}, /* SOPK */
    {0xbe800000, 0x007fffff, 1}, /* SOP1 */
    {0xbf000000, 0x007fffff, 1}, /* SOPC */
    {0xc8000000, 0x03ffffff, 2}, /* VOPD */
    {0x00000000, 0x7dffffff, 1}, /* VOP2 */
    {0x7e000000, 0x01ffffff, 1}, /* VOP1 */
    {0x7c000000, 0x01ffffff, 1}, /* VOPC */
    {0xd4000000, 0x03ffffff, 2}, /* VOP3 */
    {0xcc000000, 0x007fffff, 2}, /* VOP3P and matrices */
    {0xf4000000, 0x007fffff, 2}, /* SMEM */
    {0xd8000000, 0x03fcffff, 2}, /* DS */
    {0xee000000, 0x003fc07f, 3}, /* VGLOBAL */
    {0xec000000, 0x003fc07f, 3}, /* VFLAT */
    {0xed000000, 0x003fc07f, 3}, /* VSCRATCH */
};
enum { PLAIN = 10 };
#define COUNT(a) (int)(sizeof(a) / sizeof *(a))

static const struct encoding *encodings = gfx9;
static int nencodings = COUNT(gfx9);

static void choose_encodings(void) {
    if (target->lanes == 64) return;
    bool last = !strcmp(target->name, "gfx1201");
    encodings = last ? gfx12 : gfx11;
    nencodings = last ? COUNT(gfx12) : COUNT(gfx11);
}

static uint32_t second_word(int encoding) {
    uint32_t r = random32();
    /* registers that are likely to hold something useful */
    return encoding > 10 ? r & 0x1f7f1f1f : r;
}

/* Instructions the executor knows, three dwords each (the last may not be used). */
struct pool {
    uint32_t (*word)[3];
    uint8_t *words;
    int n, memory; /* from index MEMORY on they access memory */
};

static void collect(struct pool *p, int from, int to, int want) {
    for (int found = 0; found < want;) {
        int e = from + (int)(random32() % (unsigned)(to - from));
        uint32_t w[3] = {encodings[e].fixed | (random32() & encodings[e].open), second_word(e),
                         random32() & 0xffff1f};
        bool literal = encodings[e].words == 1 && ((w[0] & 0xff) == 255 || (w[0] & 0x1ff) >= 249);
        int words = encodings[e].words >= 2 ? encodings[e].words : literal ? 2 : 1;
        if (e == 5 && w[0] >> 25 >= 62) continue;
        struct emu_program *one;
        char err[256];
        uint32_t at;
        if (!emu_program_create(target->name, 0, w, (size_t)words * 4, &one, err)) abort();
        bool ok = one->nops == 1 && !isa_unknown(one, 0, &at);
        emu_program_destroy(one);
        if (!ok) continue;
        memcpy(p->word[p->n], w, sizeof w);
        p->words[p->n++] = (uint8_t)words;
        found++;
    }
}

/* Branches, traps and hardware registers mostly stop a wave; they should not stop every one. */
static bool ends_soon(uint32_t w) {
    uint32_t sopk = w >> 23 & 31;
    return w >> 23 == 0x17f || (w >> 28 == 0xb && w >> 23 < 0x17d && sopk >= 16) ||
           (w >> 23 == 0x17d && (w >> 8 & 255) >= 0x1d && (w >> 8 & 255) <= 0x1f);
}

static void make(const struct pool *p, uint32_t *word) {
    int n = 0;
    while (n < WORDS - 4) {
        bool memory = random32() % 32 == 0;
        int span = memory ? p->n - p->memory : p->memory;
        int k = (memory ? p->memory : 0) + (int)(random32() % (unsigned)span);
        if (ends_soon(p->word[k][0]) && random32() % 64) continue;
        memcpy(word + n, p->word[k], sizeof p->word[k]);
        n += p->words[k];
    }
    while (n < WORDS)
        word[n++] = target->lanes == 64 ? 0xbf810000 : 0xbfb00000; /* s_endpgm */
}

static void fill(struct machine *m, const uint8_t *memory, uint64_t seed) {
    struct emu_wave *w = m->waves[0];
    uint64_t x = seed | 1;
    for (int i = 0; i < 100; i += 2) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        put64(&w->s[i], x & 0x10000000 ? (uintptr_t)memory + (x >> 40 & 0xfff0) : x >> (x & 63));
    }
    for (unsigned r = 0; r < m->program->nvgpr; r++)
        for (int i = 0; i < LANES; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            uint64_t address = (uintptr_t)memory + (x >> 30 & 0x7ffc);
            uint64_t v = r % 8 < 2 ? address : r % 8 < 4 ? x >> 52 & 0xffc : x >> 16;
            w->v[r][i] = r & 1 && r % 8 < 2 ? (uint32_t)(v >> 32) : (uint32_t)v;
        }
}

static uint64_t digest(const void *p, size_t bytes) {
    uint64_t h = 14695981039346656037u;
    const uint8_t *b = p;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ b[i]) * 1099511628211u;
    return h;
}

static uint64_t run(struct machine *m, uint8_t *memory, uint64_t seed, uint64_t *count,
                    int *stops) {
    memset(memory, 0x3c, BYTES);
    memset(m->lds, 0, sizeof m->lds);
    machine_restart(m, 0);
    fill(m, memory, seed);
    enum emu_stop s = EMU_BUDGET;
    for (int turn = 0; turn < 20 && (s == EMU_BUDGET || s == EMU_SLEEP || s == EMU_BARRIER); turn++)
        s = emu_wave_run(m->waves[0], 50, &m->fault);
    stops[s]++;
    *count = m->dispatch.counters.instructions;
    return digest(memory, BYTES) ^ digest(m->lds, sizeof m->lds) ^
           digest(m->waves[0]->v, m->waves[0]->nreg * sizeof *m->waves[0]->v) ^
           digest(m->waves[0]->s, 4 * 106) ^ (uint64_t)s;
}

/* What depends on time or on where things are differs from run to run. */
static bool repeatable(const struct emu_program *p) {
    for (size_t i = 0; i < p->nops; i++) {
        char s[128];
        isa_disassemble(p, p->ops[i].at, s, sizeof s);
        if (strstr(s, "time")) return false;
    }
    return true;
}

int main(int argc, char **argv) {
    target_choose(argc, argv);
    choose_encodings();
    uint8_t *memory = live_alloc(BYTES, true);
    int stops[EMU_FAULT + 1] = {0};
    uint64_t total = 0;
    struct pool p = {.word = malloc(POOL * sizeof *p.word), .words = malloc(POOL)};
    if (!p.word || !p.words) abort();
    collect(&p, 0, PLAIN, POOL * 3 / 4);
    p.memory = p.n;
    collect(&p, PLAIN, nencodings, POOL / 4);
    for (int k = 0; k < PROGRAMS; k++) {
        uint32_t word[WORDS];
        make(&p, word);
        struct code c = {.text = (uint8_t *)word, .bytes = sizeof word, .addr = 0x100000};
        struct machine *m = machine_create(&c, 0, 1);
        uint64_t seed = random64(), n;
        uint64_t first = run(m, memory, seed, &n, stops);
        total += n;
        if (k % 50 == 0 && repeatable(m->program))
            EXPECT(run(m, memory, seed, &n, stops) == first, "program %d ends differently", k);
        machine_destroy(m);
        code_free(&c);
    }
    EXPECT(stops[EMU_FAULT] > PROGRAMS / 4, "only %d faults", stops[EMU_FAULT]);
    EXPECT(total > 10 * PROGRAMS, "only %llu instructions ran", (unsigned long long)total);
    live_reset();
    free(p.word);
    free(p.words);
    printf("%d programs, %llu instructions, %d faults, %d failures\n", PROGRAMS,
           (unsigned long long)total, stops[EMU_FAULT], failures);
    return failures != 0;
}
