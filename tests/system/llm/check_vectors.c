/* check_vectors VECTORS.json: prints its texts, a line each.
 * check_vectors VECTORS.json KEY TOLERANCE < LINES: what etllm embed or rerank printed is what
 * sentence-transformers made of the same texts. Of vectors TOLERANCE is a relative error; of
 * scores, a difference, and they come in their order wherever two differ by more than twice that.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double tolerance, worst;

_Noreturn static void die(const char *what, size_t line) {
    fprintf(stderr, "check_vectors: line %zu: %s\n", line, what);
    exit(1);
}

static const json_t *at(const json_t *want, const json_t *line, size_t number) {
    const json_t *index = json_object_get(line, "index");
    size_t i = (size_t)json_integer_value(index);
    if (!json_is_integer(index) || i >= json_array_size(want)) die("no index of a text", number);
    return json_array_get(want, i);
}

static void check_vector(const json_t *want, const json_t *got, size_t number) {
    double difference = 0, size = 0;
    size_t n = json_array_size(want);
    if (json_array_size(got) != n) die("a vector of another length", number);
    for (size_t i = 0; i < n; i++) {
        double w = json_number_value(json_array_get(want, i));
        double g = json_number_value(json_array_get(got, i));
        if (!json_is_real(json_array_get(got, i))) die("not a number", number);
        difference += (w - g) * (w - g);
        size += w * w;
    }
    double error = sqrt(difference / (size > 0 ? size : 1));
    if (error > worst) worst = error;
    if (!(error <= tolerance)) die("another vector", number);
}

static void check_score(const json_t *want, const json_t *got, double *last, size_t number) {
    double w = json_number_value(want), g = json_number_value(got);
    if (!json_is_real(got) || !(fabs(w - g) <= tolerance)) die("another score", number);
    if (fabs(w - g) > worst) worst = fabs(w - g);
    if (w > *last + 2 * tolerance) die("scores out of order", number);
    *last = w;
}

static int print_texts(const char *path) {
    json_t *all = json_load_file(path, 0, NULL), *texts = json_object_get(all, "texts");
    for (size_t i = 0; i < json_array_size(texts); i++)
        puts(json_string_value(json_array_get(texts, i)));
    bool any = json_array_size(texts) > 0;
    json_decref(all);
    return any ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2) return print_texts(argv[1]);
    char *text = NULL;
    size_t room = 0, n = 0;
    double last = INFINITY;
    if (argc != 4) return 2;
    json_t *all = json_load_file(argv[1], 0, NULL), *want = json_object_get(all, argv[2]);
    bool *seen = calloc(json_array_size(want) + 1, sizeof *seen);
    tolerance = strtod(argv[3], NULL);
    if (!json_array_size(want) || !seen) die("nothing to compare with", 0);
    for (; getline(&text, &room, stdin) >= 0; n++) {
        json_t *line = json_loads(text, 0, NULL);
        const json_t *of = at(want, line, n + 1);
        size_t index = (size_t)json_integer_value(json_object_get(line, "index"));
        if (seen[index]) die("a text comes twice", n + 1);
        seen[index] = true;
        if (json_is_array(of))
            check_vector(of, json_object_get(line, "embedding"), n + 1);
        else
            check_score(of, json_object_get(line, "relevance_score"), &last, n + 1);
        json_decref(line);
    }
    if (n != json_array_size(want)) die("fewer lines than texts", n);
    printf("%s %s: %zu, the worst is off by %.2g\n", argv[1], argv[2], n, worst);
    free(text);
    free(seen);
    json_decref(all);
    return 0;
}
