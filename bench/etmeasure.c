/* etmeasure COMMAND [ARGUMENTS]: runs it and prints "SECONDS MEGABYTES" to standard output: wall
 * time and the most memory it held. The command's own standard output goes to standard error. */
#include "ir/base/clock.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: etmeasure COMMAND [ARGUMENTS]\n", stderr);
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
    printf("%.2f %.0f\n", et_seconds() - start, (double)used.ru_maxrss * 1024e-6);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
