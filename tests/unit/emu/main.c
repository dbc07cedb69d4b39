/* main.c - runs the suites of the emulator's machine; a name runs that suite alone. */
#include "tests/unit/emu/emu_test.h"

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        Suite *(*make)(void);
    } suites[] = {
        {"device", device_suite}, {"memory", memory_suite},       {"signal", signal_suite},
        {"queue", queue_suite},   {"dispatch", dispatch_suite},   {"fault", fault_suite},
        {"loader", loader_suite}, {"coherence", coherence_suite}, {"gpus", gpus_suite}};
    SRunner *runner = srunner_create(NULL);
    int chosen = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (argc < 2 || !strcmp(argv[1], suites[i].name)) {
            srunner_add_suite(runner, suites[i].make());
            chosen++;
        }
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed || !chosen;
}
