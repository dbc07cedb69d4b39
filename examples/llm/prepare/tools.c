#include "examples/llm/prepare/prepare.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The tool of that name in the folder of this program. */
static bool beside(const char *name, char out[PATH_MAX]) {
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0) return false;
    own[n] = 0;
    char *slash = strrchr(own, '/');
    if (!slash) return false;
    slash[1] = 0;
    return snprintf(out, PATH_MAX, "%s%s", own, name) < PATH_MAX;
}

/* The last lines of a log, for people. */
static void tail(const char *log, char *out, size_t bytes) {
    FILE *f = fopen(log, "rb");
    size_t n = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f), from = size > (long)bytes - 1 ? size - (long)bytes + 1 : 0;
        if (fseek(f, from, SEEK_SET) == 0) n = fread(out, 1, bytes - 1, f);
    }
    if (f) fclose(f);
    while (n && (out[n - 1] == '\n' || out[n - 1] == ' '))
        n--;
    out[n] = 0;
}

bool tool_run(const char *const *argv, const char *log, char *err) {
    char path[PATH_MAX], last[LLM_ERR / 2];
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    if (!beside(argv[0], path)) return llm_fail(err, "cannot find %s", argv[0]);
    if (posix_spawn_file_actions_init(&actions) != 0) return llm_fail(err, "out of memory");
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed = posix_spawn(&pid, path, &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return llm_fail(err, "%s: %s", path, strerror(failed));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return llm_fail(err, "%s: %s", argv[0], strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    tail(log, last, sizeof last);
    return llm_fail(err, "%s failed: %s", argv[0], last);
}
