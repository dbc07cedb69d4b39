/* What a signal removes. The handler reads a table of paths; everything it calls is safe there. */
#include "runtime/files/output.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

static struct {
    char path[MOST][PATH_MAX];
    atomic_bool used[MOST]; /* set last, cleared first */
    pthread_mutex_t lock;
} guards = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* As getdents64 gives them. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* A folder of files, and of folders DEPTH deep: opendir would allocate. */
static void remove_at(int in, const char *path, int depth) {
    _Alignas(struct entry) char buffer[4096];
    int fd = openat(in, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    for (long n; (n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(buffer + at);
            bool itself = e->name[0] == '.' && (!e->name[1] || (e->name[1] == '.' && !e->name[2]));
            if (!itself && unlinkat(fd, e->name, 0) != 0 && depth > 0)
                remove_at(fd, e->name, depth - 1);
            at += e->length;
        }
    close(fd);
    unlinkat(in, path, AT_REMOVEDIR);
}

static void remove_folder(const char *path) {
    remove_at(AT_FDCWD, path, 1);
}

/* The last one first: files of a folder come after it. */
void et_remove_guarded(void) {
    for (int i = MOST; i-- > 0;)
        if (atomic_load(&guards.used[i]) && unlink(guards.path[i]) != 0 &&
            (errno == EISDIR || errno == EPERM))
            remove_folder(guards.path[i]);
}

static void on_signal(int number) {
    int kept = errno;
    et_remove_guarded();
    signal(number, SIG_DFL);
    raise(number); /* taken when this returns */
    errno = kept;
}

/* What ends a program and can be caught, unless somebody else wants it or it is to be ignored. */
static void catch_signals(void) {
    static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT,   SIGTERM, SIGPIPE, SIGALRM,
                                  SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU, SIGABRT,
                                  SIGSEGV, SIGBUS,  SIGFPE,    SIGILL,  SIGTRAP, SIGSYS};
    struct sigaction ours = {.sa_handler = on_signal}, now;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &ours, NULL);
}

bool et_guard(const char *path) {
    static bool caught;
    bool done = false;
    if (strlen(path) >= PATH_MAX) return false;
    pthread_mutex_lock(&guards.lock);
    if (!caught) catch_signals();
    caught = true;
    for (int i = 0; i < MOST && !done; i++) {
        if (atomic_load(&guards.used[i])) continue;
        strcpy(guards.path[i], path);
        atomic_store(&guards.used[i], true);
        done = true;
    }
    pthread_mutex_unlock(&guards.lock);
    return done;
}

void et_unguard(const char *path) {
    pthread_mutex_lock(&guards.lock);
    for (int i = 0; i < MOST; i++)
        if (atomic_load(&guards.used[i]) && strcmp(guards.path[i], path) == 0) {
            atomic_store(&guards.used[i], false);
            break;
        }
    pthread_mutex_unlock(&guards.lock);
}

/* Guarded before it is there, so its name has to be one that nobody else takes. */
bool et_folder_make(const char *name, char path[PATH_MAX]) {
    const char *where = getenv("TMPDIR");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int n = snprintf(path, PATH_MAX, "%s/%s.%ld.%lx%09lx", where && *where ? where : P_tmpdir, name,
                     (long)getpid(), (long)now.tv_sec, now.tv_nsec);
    errno = n < 0 || n >= PATH_MAX ? ENAMETOOLONG : EMFILE;
    if (n < 0 || n >= PATH_MAX || !et_guard(path)) return false;
    if (mkdir(path, 0700) == 0) return true;
    int why = errno;
    et_unguard(path);
    errno = why;
    return false;
}

void et_folder_remove(const char *path) {
    remove_folder(path);
    et_unguard(path);
}

void et_files_begin(void) {
    struct sigaction now;
    if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL) signal(SIGXFSZ, SIG_IGN);
    /* Where one is closed, reading finds nothing, and writing fails. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd) return;
}
