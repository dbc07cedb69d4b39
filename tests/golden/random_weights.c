/* random_weights FOLDER: draws the weights that FOLDER/random.txt lists and writes them into
 * FOLDER/model.safetensors, whose archive has zeros in their place. They are what PyTorch's normal_
 * on a CPU draws: a Mersenne Twister's numbers, 16 at a time, by Box and Muller. PyTorch computes
 * in f32, we in f64: where the two round to other bf16 numbers, random.txt has PyTorch's.
 *
 *     seed 1
 *     TENSOR AT MEAN DEVIATION [ELEMENT=BITS]...    AT: how many numbers were drawn before; lines
 * in this order
 *
 * A tensor is bf16 and has a multiple of 16 elements. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

__attribute__((format(printf, 1, 2))) static void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "random_weights: %s: ", folder);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* ---- MT19937 ---- */
enum { WORDS = 624, MIDDLE = 397 };
static uint32_t state[WORDS];
static int used = WORDS;
static uint64_t drawn;

static void seed(uint32_t s) {
    state[0] = s;
    for (uint32_t i = 1; i < WORDS; i++)
        state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
    used = WORDS;
    drawn = 0;
}

static uint32_t next(void) {
    if (used == WORDS) {
        for (int i = 0; i < WORDS; i++) {
            uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % WORDS] & 0x7fffffffu);
            state[i] = state[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        used = 0;
    }
    uint32_t y = state[used++];
    drawn++;
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* In [0, 1). */
static double uniform(void) {
    return (next() & 0xffffff) / 16777216.0;
}

/* ---- tensors ---- */
static uint16_t bf16(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void draw(uint16_t *out, size_t count, float mean, float deviation) {
    const double turn = 2 * acos(-1);
    for (size_t at = 0; at < count; at += 16) {
        double u[16];
        for (int i = 0; i < 16; i++)
            u[i] = uniform();
        for (int i = 0; i < 8; i++) {
            double length = sqrt(-2 * log(1 - u[i])), angle = turn * u[i + 8];
            out[at + i] = bf16(length * cos(angle) * deviation + mean);
            out[at + i + 8] = bf16(length * sin(angle) * deviation + mean);
        }
    }
}

/* ---- files ---- */
static struct {
    unsigned char *bytes;
    size_t size, data; /* where the data begin */
    json_t *header;
} file;

static void open_model(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    int fd = open(path, O_RDWR);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) die("model.safetensors: %s", strerror(errno));
    file.size = (size_t)st.st_size;
    file.bytes = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file.bytes == MAP_FAILED) die("model.safetensors: %s", strerror(errno));
    close(fd);
    uint64_t header;
    memcpy(&header, file.bytes, sizeof header);
    if (header > file.size - sizeof header) die("model.safetensors is cut short");
    file.data = sizeof header + header;
    file.header = json_loadb((const char *)file.bytes + sizeof header, header, 0, NULL);
    if (!file.header) die("model.safetensors has no header");
}

/* The elements of a tensor, which are all 0 still or were drawn before. */
static uint16_t *tensor(const char *name, size_t *count) {
    json_t *t = json_object_get(file.header, name);
    json_int_t from = 0, to = 0;
    const char *dtype = "";
    if (json_unpack(t, "{s:s, s:[I,I]}", "dtype", &dtype, "data_offsets", &from, &to))
        die("there is no tensor %s", name);
    if (strcmp(dtype, "BF16") || from < 0 || to < from || (size_t)to > file.size - file.data ||
        (to - from) % 32 || (file.data + (size_t)from) % 2)
        die("%s is not bf16 with a multiple of 16 elements", name);
    *count = (size_t)(to - from) / 2;
    return (uint16_t *)(void *)(file.bytes + file.data + from);
}

static void one(char *line) {
    uint32_t s;
    if (sscanf(line, "seed %" SCNu32, &s) == 1) {
        seed(s);
        return;
    }
    char name[256];
    uint64_t at;
    float mean, deviation;
    int read = 0;
    if (sscanf(line, "%255s %" SCNu64 " %f %f%n", name, &at, &mean, &deviation, &read) != 4 ||
        at < drawn)
        die("random.txt: what is \"%s\"?", line);
    size_t count;
    uint16_t *out = tensor(name, &count);
    while (drawn < at)
        next();
    draw(out, count, mean, deviation);
    for (line += read;; line += read) {
        size_t element;
        unsigned bits;
        if (sscanf(line, "%zu=%x%n", &element, &bits, &read) != 2) break;
        if (element >= count || bits > 0xffff)
            die("random.txt: %s has no element %zu", name, element);
        out[element] = (uint16_t)bits;
    }
    if (line[strspn(line, " \n")]) die("random.txt: %s: what is \"%s\"?", name, line);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: random_weights FOLDER\n", stderr);
        return 2;
    }
    folder = argv[1];
    char path[4096];
    snprintf(path, sizeof path, "%s/random.txt", folder);
    FILE *list = fopen(path, "r");
    if (!list) die("random.txt: %s", strerror(errno));
    open_model();
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, list) > 0)
        one(line);
    free(line);
    fclose(list);
    json_decref(file.header);
    munmap(file.bytes, file.size);
    return 0;
}
