/* etmeasure [--cpu] COMMAND [ARGUMENTS]: runs it and prints "SECONDS MEGABYTES" to standard output:
 * wall time, or with --cpu its own and the system's time for it, and the most memory it held. The
 * command's own standard output goes to standard error. */
#include "ir/base/clock.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv) {
    bool cpu = argc > 1 && strcmp(argv[1], "--cpu") == 0;
    argc -= cpu;
    argv += cpu;
    if (argc < 2) {
        fputs("usage: etmeasure [--cpu] COMMAND [ARGUMENTS]\n", stderr);
        return 2;
    }
    double start = et_seconds();
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int status = 0;
    struct rusage used;
    memset(&used, 0, sizeof used);
    if (child < 0 || wait4(child, &status, 0, &used) < 0) {
        perror("etmeasure");
        return 1;
    }
    double took = cpu ? seconds(used.ru_utime) + seconds(used.ru_stime) : et_seconds() - start;
    printf("%.2f %.0f\n", took, (double)used.ru_maxrss * 1024e-6);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
