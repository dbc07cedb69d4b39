#include "codegen/targets/tool.h"
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_SAID = 16384 };

static bool fill(int fd, const char *from, size_t bytes) {
    while (bytes) {
        ssize_t n = write(fd, from, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from += n;
        bytes -= (size_t)n;
    }
    return lseek(fd, 0, SEEK_SET) == 0;
}

/* All that file FD contains, at most MOST bytes, with a 0 appended; NULL with errno set. */
static char *contents(int fd, size_t most, size_t *out_bytes) {
    struct stat st;
    if (fstat(fd, &st)) return NULL;
    size_t size = (size_t)st.st_size < most ? (size_t)st.st_size : most, have = 0;
    char *buffer = malloc(size + 1);
    while (buffer && have < size) {
        ssize_t n = pread(fd, buffer + have, size - have, (off_t)have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
    }
    if (buffer) buffer[have] = 0;
    *out_bytes = have;
    return buffer;
}

/* Returns an errno, or 0 where the tool ran; then *OUT_STATUS is its wait status. */
static int run(const char *const *argv, const int fd[3], int *out_status) {
    posix_spawn_file_actions_t fa;
    pid_t pid;
    int err = posix_spawn_file_actions_init(&fa);
    if (err) return err;
    for (int i = 0; i < 3 && !err; i++)
        err = posix_spawn_file_actions_adddup2(&fa, fd[i], i);
    if (!err) err = posix_spawnp(&pid, argv[0], &fa, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    while (!err && waitpid(pid, out_status, 0) < 0)
        if (errno != EINTR) err = errno;
    return err;
}

/* What went wrong, as the end of an error message. */
static char *failure(et_arena *arena, int err, int status, const char *said) {
    if (err) return et_printf(arena, "cannot be started: %s", strerror(err));
    if (WIFSIGNALED(status)) return et_printf(arena, "was ended by signal %d", WTERMSIG(status));
    return et_printf(arena, "failed%s%s", *said ? ": " : "", said);
}

char *et_tool_run(et_arena *arena, const char *const *argv, const void *in, size_t bytes,
                  size_t *out_bytes, char **out_said) {
    int fd[3], status = 0, err = 0;
    bool filled;
    for (int i = 0; i < 3; i++)
        fd[i] = memfd_create("tool", MFD_CLOEXEC);
    filled = fd[0] >= 0 && fd[1] >= 0 && fd[2] >= 0 && fill(fd[0], in, bytes);
    if (!filled) err = errno;
    if (!err) err = run(argv, fd, &status);
    char *file = NULL, *said = NULL;
    size_t n = 0;
    if (!err) said = contents(fd[2], MAX_SAID, &n);
    *out_said = said ? et_strndup(arena, said, n) : et_printf(arena, "%s", "");
    if (!err && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        file = contents(fd[1], SIZE_MAX - 1, out_bytes);
    if (!filled)
        *out_said = et_printf(arena, "cannot be given its %zu bytes: %s", bytes, strerror(err));
    else if (!file)
        *out_said = failure(arena, err, status, *out_said);
    free(said);
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0) close(fd[i]);
    return file;
}
