/* Makes calls on files fail, in a process that preloads this library.
 *
 * Only paths with "/faulty" in them are concerned. The process gives its orders by opening:
 *   /fault/arm/K/ERRNO/THEN   call K, counted from 1, fails once; THEN = -1: the others succeed, else
 *                             all calls fail that follow the next THEN ones, as if the process had died
 *   /fault/done/K/ERRNO/THEN  the same, but a rename that fails has happened nevertheless
 *   /fault/folders/ERRNO      every fsync of a folder fails
 *   /fault/read_only/ERRNO    nothing can be opened for writing, created, renamed or deleted
 *   /fault/moved              the next file that is locked is moved away the moment before
 *   /fault/kill/K             the process is killed at call K; here folders that are made, and whatever is
 *                             removed, are calls, too. Half of what call K was to write is there
 *   /fault/count              the answer, as the error's number, is how many calls there were since then
 *   /fault/off                no faults; the answer is EEXIST if call K was reached, else ENOENT
 * Flushes to the disk do nothing: only their answer is of interest.
 *
 * With SHIM_MOST_THREADS=N in its environment a process can make N threads, and no more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile long calls, at, then, error, fired, rename_happens, folders, read_only, moved;
static volatile long kill_at, kill_calls;
static volatile char watched[65536];

static int is_watched(int fd) { return fd >= 0 && fd < (int)sizeof watched && watched[fd]; }

/* Whether this call fails. */
static int fails(void) {
    long n = __sync_add_and_fetch(&calls, 1);
    if (at == 0 || n < at) return 0;
    if (n == at) fired = 1;
    if (n != at && (then < 0 || n <= at + then)) return 0;
    errno = error;
    return 1;
}

/* Whether the process is to die at this call. */
static int dies(void) { return kill_at && __sync_add_and_fetch(&kill_calls, 1) == kill_at; }
static void may_die(int is_ours) {
    if (is_ours && dies()) raise(SIGKILL);
}
static int is_faulty(const char *path) { return strstr(path, "/faulty") != NULL; }

static int order(const char *path) {
    long reached = fired;
    if (strcmp(path, "/fault/count") == 0) { errno = (int)kill_calls; return -1; }
    kill_at = kill_calls = 0;
    sscanf(path, "/fault/kill/%ld", &kill_at);
    calls = at = then = error = fired = rename_happens = folders = read_only = 0;
    moved = strcmp(path, "/fault/moved") == 0;
    rename_happens = strncmp(path, "/fault/done", 11) == 0;
    sscanf(path, "/fault/arm/%ld/%ld/%ld", &at, &error, &then);
    sscanf(path, "/fault/done/%ld/%ld/%ld", &at, &error, &then);
    sscanf(path, "/fault/folders/%ld", &folders);
    sscanf(path, "/fault/read_only/%ld", &read_only);
    errno = reached ? EEXIST : ENOENT;
    return -1;
}

static int open_as(const char *symbol, const char *path, int flags, int mode) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, symbol);
    if (strncmp(path, "/fault/", 7) == 0) return order(path);
    int is_ours = strstr(path, "/faulty") != NULL;
    if (is_ours && read_only && (flags & (O_WRONLY | O_RDWR | O_CREAT))) {
        /* A file that is not there is not found, unless it is to be created. */
        if (access(path, F_OK) == 0 || (flags & O_CREAT)) { errno = read_only; return -1; }
    }
    may_die(is_ours);
    if (is_ours && fails()) return -1;
    int fd = real(path, flags, mode);
    if (fd >= 0 && fd < (int)sizeof watched) watched[fd] = is_ours;
    return fd;
}

#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        va_list list;                                                           \
        va_start(list, flags);                                                  \
        int mode = flags & O_CREAT ? va_arg(list, int) : 0;                     \
        va_end(list);                                                           \
        return open_as(#name, path, flags, mode);                               \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                            \
    int name(int folder, const char *path, int flags, ...) {                    \
        int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, #name);     \
        va_list list;                                                           \
        va_start(list, flags);                                                  \
        int mode = flags & O_CREAT ? va_arg(list, int) : 0;                     \
        va_end(list);                                                           \
        int is_ours = is_watched(folder) || is_faulty(path);                    \
        may_die(is_ours);                                                       \
        int fd = real(folder, path, flags, mode);                               \
        if (fd >= 0 && fd < (int)sizeof watched) watched[fd] = is_ours;         \
        return fd;                                                              \
    }
OPENAT(openat)
OPENAT(openat64)

int mkdir(const char *path, mode_t mode) {
    int (*real)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    may_die(is_faulty(path));
    return real(path, mode);
}

int rmdir(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "rmdir");
    may_die(is_faulty(path));
    return real(path);
}

int unlinkat(int folder, const char *path, int flags) {
    int (*real)(int, const char *, int) = dlsym(RTLD_NEXT, "unlinkat");
    may_die(is_watched(folder) || is_faulty(path));
    return real(folder, path, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *with) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        dlsym(RTLD_NEXT, "pthread_create");
    static long made;
    const char *most = getenv("SHIM_MOST_THREADS");
    if (most && __sync_add_and_fetch(&made, 1) > atol(most)) return EAGAIN;
    return real(thread, how, work, with);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (is_watched(fd) && dies()) {
        if (n > 1 && real(fd, bytes, n / 2) < 0) return -1;
        raise(SIGKILL);
    }
    if (is_watched(fd) && fails()) {
        /* The worst way to fail: half of it is there. */
        int reason = errno;
        if (n > 1 && real(fd, bytes, n / 2) < 0) return -1;
        errno = reason;
        return -1;
    }
    return real(fd, bytes, n);
}

static int flush(const char *symbol, int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, symbol);
    struct stat about;
    if (!is_watched(fd)) return real(fd);
    may_die(1);
    if (folders && fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) { errno = folders; return -1; }
    return fails() ? -1 : 0;
}
int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }

static int cut(const char *symbol, int fd, off_t length) {
    int (*real)(int, off_t) = dlsym(RTLD_NEXT, symbol);
    return is_watched(fd) && fails() ? -1 : real(fd, length);
}
int ftruncate(int fd, off_t length) { return cut("ftruncate", fd, length); }
int ftruncate64(int fd, off_t length) { return cut("ftruncate64", fd, length); }

int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    if (strstr(to, "/faulty") == NULL) return real(from, to);
    may_die(1);
    if (read_only) { errno = read_only; return -1; }
    if (!fails()) return real(from, to);
    int reason = errno;
    if (rename_happens) real(from, to);
    errno = reason;
    return -1;
}

int flock(int fd, int operation) {
    int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");
    char name[64], path[4096], away[4200];
    if (moved && is_watched(fd)) {
        moved = 0;
        fired = 1;
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(name, path, sizeof path - 1);
        path[n < 0 ? 0 : n] = 0;
        snprintf(away, sizeof away, "%s.moved", path);
        int (*move)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
        move(path, away);
    }
    return real(fd, operation);
}

int unlink(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    if (strstr(path, "/faulty") != NULL) {
        may_die(1);
        if (read_only) { errno = read_only; return -1; }
        if (fails()) return -1;
    }
    return real(path);
}
