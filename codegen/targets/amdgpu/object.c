/* The code object: LLVM's object file, linked by ld.lld; the manifest inside; what came out. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include "ir/base/diag.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- the manifest ---- */

/* In a section that is not loaded, as module-level assembly: the only way to one without the alloc
 * flag. */
void amdgpu_embed(cg *g, const char *manifest) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    int column = 0;
    fprintf(f, ".section %s,\"\",@progbits\n", ETRT_MANIFEST_SECTION);
    for (const char *s = manifest; *s; s++) {
        if (column == 0) column = fprintf(f, ".ascii \"");
        if (*s == '"' || *s == '\\')
            column += fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            column += fprintf(f, "\\%03o", (unsigned char)*s);
        else
            column += fprintf(f, "%c", *s);
        if (column > 400 || !s[1]) {
            fprintf(f, "\"\n");
            column = 0;
        }
    }
    fprintf(f, ".text\n");
    et_check(fclose(f) == 0);
    LLVMAppendModuleInlineAsm(g->mod, text, bytes);
    free(text);
}

/* ---- the linker ---- */

static const char *linker(void) {
    const char *env = getenv("ETCC_LLD");
    return env && *env ? env : ETCC_LLD_PATH;
}

/* The linker reads the object file from its standard input and writes the code object to its
 * standard output, so that there are no files which an interruption could leave behind. */
struct link {
    const char *object; /* what is left to be written */
    size_t object_bytes;
    char *file; /* what came out so far */
    size_t file_bytes, file_room;
    char said[2048];
    size_t said_bytes;
    int in, out, err; /* our ends; -1 when closed */
};

static void close_end(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static bool is_late(ssize_t n) {
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void feed(struct link *l) {
    ssize_t n = write(l->in, l->object, l->object_bytes);
    if (is_late(n)) return;
    if (n > 0) {
        l->object += n;
        l->object_bytes -= (size_t)n;
    }
    if (n <= 0 || !l->object_bytes) close_end(&l->in);
}

static void take_file(struct link *l) {
    if (l->file_bytes == l->file_room) {
        size_t room = l->file_room ? 2 * l->file_room : 1 << 16;
        char *more = realloc(l->file, room);
        if (!more) {
            close_end(&l->out); /* the linker fails */
            return;
        }
        l->file = more;
        l->file_room = room;
    }
    ssize_t n = read(l->out, l->file + l->file_bytes, l->file_room - l->file_bytes);
    if (is_late(n)) return;
    if (n > 0)
        l->file_bytes += (size_t)n;
    else
        close_end(&l->out);
}

/* What does not fit is read and dropped. */
static void take_message(struct link *l) {
    char rest[512];
    size_t room = sizeof l->said - 1 - l->said_bytes;
    ssize_t n =
        room ? read(l->err, l->said + l->said_bytes, room) : read(l->err, rest, sizeof rest);
    if (is_late(n)) return;
    if (n <= 0)
        close_end(&l->err);
    else if (room)
        l->said_bytes += (size_t)n;
}

static void exchange(struct link *l) {
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    fcntl(l->in, F_SETFL, O_NONBLOCK);
    while (l->in >= 0 || l->out >= 0 || l->err >= 0) {
        struct pollfd fds[] = {{l->in, POLLOUT, 0}, {l->out, POLLIN, 0}, {l->err, POLLIN, 0}};
        if (poll(fds, 3, -1) < 0) continue;
        if (fds[0].revents) feed(l);
        if (fds[1].revents) take_file(l);
        if (fds[2].revents) take_message(l);
    }
    /* A linker that did not read to the end is told by its status. */
    if (!sigismember(&before, SIGPIPE))
        while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) > 0)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* An errno, or 0 when the linker runs with the other ends. */
static int start_linker(struct link *l, const char *ld, pid_t *out_pid) {
    char *argv[] = {(char *)ld, "-shared", "--no-undefined", "--build-id=none", "/dev/stdin", "-o",
                    "-",        NULL};
    int fd[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    posix_spawn_file_actions_t fa;
    int err = 0;
    for (int i = 0; i < 3 && !err; i++)
        if (pipe2(fd[i], O_CLOEXEC)) err = errno;
    posix_spawn_file_actions_init(&fa);
    for (int i = 0; i < 3 && !err; i++)
        err = posix_spawn_file_actions_adddup2(&fa, fd[i][i ? 1 : 0], i);
    if (!err) err = posix_spawnp(out_pid, ld, &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    l->in = fd[0][1];
    l->out = fd[1][0];
    l->err = fd[2][0];
    for (int i = 0; i < 3; i++) {
        close_end(&fd[i][i ? 1 : 0]);
        if (err) close_end(&fd[i][i ? 0 : 1]);
    }
    return err;
}

static char *run_linker(cg *g, const char *object, size_t object_bytes, size_t *out_bytes) {
    const char *ld = linker();
    struct link l = {.object = object, .object_bytes = object_bytes};
    pid_t pid;
    int status, err = start_linker(&l, ld, &pid);
    if (err) {
        cg_error(g, "cannot start the linker %s: %s", ld, strerror(err));
        return NULL;
    }
    exchange(&l);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    *out_bytes = l.file_bytes;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && l.file_bytes) return l.file;
    free(l.file);
    cg_error(g, "%s failed%s%s", ld, l.said_bytes ? ": " : "", l.said);
    return NULL;
}

/* ---- the file ---- */

char *amdgpu_package(cg *g, LLVMTargetMachineRef tm, size_t *out_bytes) {
    char *err = NULL, *file = NULL;
    LLVMMemoryBufferRef object = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, g->mod, LLVMObjectFile, &err, &object)) {
        cg_error(g, "cannot emit machine code: %s", err);
        LLVMDisposeMessage(err);
        return NULL;
    }
    cg_stage(g, "machine code");
    if (!et_diag_errors(g->p->g->diags))
        file = run_linker(g, LLVMGetBufferStart(object), LLVMGetBufferSize(object), out_bytes);
    LLVMDisposeMemoryBuffer(object);
    cg_stage(g, "link");
    return file;
}

/* ---- facts from the file ---- */

/* The integer that follows KEY in a MessagePack map. */
static int note_value(const char *note, size_t n, const char *key) {
    size_t len = strlen(key);
    for (size_t i = 0; i + len + 6 < n; i++) {
        const unsigned char *p = (const unsigned char *)note + i;
        if (p[0] != (0xa0 | len) || memcmp(p + 1, key, len) != 0) continue;
        p += 1 + len;
        if (p[0] < 0x80) return p[0];
        if (p[0] == 0xcc) return p[1];
        if (p[0] == 0xcd) return p[1] << 8 | p[2];
        if (p[0] == 0xce) return (int)((uint32_t)p[1] << 24 | p[2] << 16 | p[3] << 8 | p[4]);
    }
    return 0;
}

void amdgpu_inspect(cg *g, const char *f, size_t n, et_codegen_info *info) {
    (void)g;
    if (n < sizeof(Elf64_Ehdr)) return;
    info->file_bytes = (int64_t)n;
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)f;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(f + h->e_shoff);
    const char *names = f + s[h->e_shstrndx].sh_offset;
    for (int i = 0; i < h->e_shnum; i++) {
        if (strcmp(names + s[i].sh_name, ".text") == 0) info->text_bytes = (int64_t)s[i].sh_size;
        if (s[i].sh_type != SHT_NOTE) continue;
        const char *note = f + s[i].sh_offset;
        info->vgprs = note_value(note, s[i].sh_size, ".vgpr_count");
        info->sgprs = note_value(note, s[i].sh_size, ".sgpr_count");
        info->agprs = note_value(note, s[i].sh_size, ".agpr_count");
        info->lds_bytes = note_value(note, s[i].sh_size, ".group_segment_fixed_size");
        info->scratch_bytes = note_value(note, s[i].sh_size, ".private_segment_fixed_size");
    }
}
