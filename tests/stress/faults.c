/*
 * faults.c - a preloaded library (LD_PRELOAD) that fails the k-th call of one kind.
 *
 * FAULTS="KIND ERRNO K" fails the K-th call of KIND after main() began; K of 0 fails none. With
 * FAULTS_COUNT=FILE the process writes the number of calls of each kind to FILE at exit. A forked
 * process counts separately and fails nothing.
 *
 *   open    open, openat, fopen      close    close
 *   read    read, pread              map      mmap
 *   write   write, pwrite, writev    malloc   malloc, calloc, realloc, strdup,
 *   fsync   fsync, fdatasync                  posix_memalign, aligned_alloc
 *   rename  rename, renameat         thread   pthread_create
 *
 * Some functions of htslib crash when a call fails, or ignore it: their calls never fail. EXEMPT()
 * below names them. Where other functions of htslib reach them through the dynamic linker, their
 * calls are not counted either. Libraries linked with -Bsymbolic-functions, as Ubuntu's are, call
 * them directly: there they are looked for on the stack of the call that is to fail. With
 * FAULTS_CRAM the process writes CRAM: where htslib does not export them, all that writes CRAM is
 * exempt.
 *
 * ERRNO is a number; with -1 a read or write handles one byte and succeeds. Writes to standard
 * error are not counted: a message that cannot be written cannot be reported. Calls inside the C
 * library are not intercepted, except malloc and streams for reading.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, FSYNC, RENAME, CLOSE, MAP, MALLOC, THREAD, N_KIND };

static const char *const kind_name[N_KIND] = { "open", "read", "write", "fsync", "rename", "close",
                                               "map", "malloc", "thread" };
static atomic_long n_call[N_KIND];
static enum kind target = N_KIND;
static int fail_with;
static long fail_at;
static atomic_bool armed;
static pid_t owner;
static _Thread_local int n_exempt, n_unchecked;

/* The next definition of a function. ISO C does not convert an object pointer to a function
 * pointer, hence memcpy. */
static void find(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    memcpy(function, &found, sizeof found);
}

#define NEXT(name) \
    static __typeof__(&name) real; \
    if (!real) \
        find(#name, &real)

/* Reported, so that a test detects a run without that call. */
static void print_fault(void)
{
    static const char told[] = "faults: now\n";

    if (syscall(SYS_write, STDERR_FILENO, told, sizeof told - 1) < 0)
        abort();
}

/* The code of exempt functions. */
enum { MAX_EXEMPT = 16, MAX_FRAMES = 64 };
static struct range { const char *from, *to; } exempt_code[MAX_EXEMPT];
static int n_exempt_code;

/* False: no library exports it. */
static bool add_exempt(const char *name)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    const char *from = dlsym(RTLD_NEXT, name);

    if (!from)
        return false;
    if (n_exempt_code == MAX_EXEMPT
        || dladdr1(from, &info, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT) == 0 || !symbol)
        abort();
    exempt_code[n_exempt_code++] = (struct range){ from, from + symbol->st_size };
    return true;
}

/* Does an exempt function make the present call? */
static bool in_exempt(void)
{
    void *frame[MAX_FRAMES];
    const int n = backtrace(frame, MAX_FRAMES);
    bool found = false;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_exempt_code; k++)
            found |= (const char *)frame[i] > exempt_code[k].from
                  && (const char *)frame[i] <= exempt_code[k].to;
    return found;
}

/* Counts a call; true when it is to fail, with errno set. */
static bool fails(enum kind kind)
{
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || n_exempt > 0)
        return false;
    const long n = atomic_fetch_add(&n_call[kind], 1) + 1;
    if (kind != target || n != fail_at || getpid() != owner || in_exempt())
        return false;
    print_fault();
    if (fail_with > 0)
        errno = fail_with;
    return true;
}

/* ---- files -------------------------------------------------------------------------------- */

static mode_t mode_of(int flags, va_list ap)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    NEXT(open);
    va_list ap;

    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return fails(OPEN) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;

    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return open(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    NEXT(openat);
    va_list ap;

    va_start(ap, flags);
    const mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return fails(OPEN) ? -1 : real(dir, path, flags, mode);
}


ssize_t read(int fd, void *p, size_t n)
{
    NEXT(read);
    if (!fails(READ))
        return real(fd, p, n);
    return fail_with > 0 ? -1 : real(fd, p, n > 1 ? 1 : n);
}

ssize_t pread(int fd, void *p, size_t n, off_t off)
{
    NEXT(pread);
    if (!fails(READ))
        return real(fd, p, n, off);
    return fail_with > 0 ? -1 : real(fd, p, n > 1 ? 1 : n, off);
}

ssize_t write(int fd, const void *p, size_t n)
{
    NEXT(write);
    if (fd == STDERR_FILENO || !fails(WRITE))
        return real(fd, p, n);
    return fail_with > 0 ? -1 : real(fd, p, n > 1 ? 1 : n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t off)
{
    NEXT(pwrite);
    if (!fails(WRITE))
        return real(fd, p, n, off);
    return fail_with > 0 ? -1 : real(fd, p, n > 1 ? 1 : n, off);
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
    NEXT(writev);
    return fails(WRITE) && fail_with > 0 ? -1 : real(fd, v, n);
}

/* Streams for reading call the functions of this file; stdio itself would not. */
static ssize_t stream_read(void *fd, char *p, size_t n) { return read((int)(intptr_t)fd, p, n); }
static int stream_close(void *fd) { return close((int)(intptr_t)fd); }
static int stream_seek(void *fd, off64_t *off, int whence)
{
    *off = lseek((int)(intptr_t)fd, *off, whence);
    return *off < 0 ? -1 : 0;
}

FILE *fopen(const char *path, const char *mode)
{
    NEXT(fopen);
    const cookie_io_functions_t by = { stream_read, NULL, stream_seek, stream_close };

    if (mode[0] != 'r' || strchr(mode, '+'))
        return fails(OPEN) ? NULL : real(path, mode);
    const int fd = open(path, O_RDONLY);
    FILE *f = fd >= 0 ? fopencookie((void *)(intptr_t)fd, mode, by) : NULL;
    if (!f && fd >= 0)
        (void)close(fd);
    return f;
}

FILE *fopen64(const char *path, const char *mode)
{
    return fopen(path, mode);
}

int fsync(int fd)
{
    NEXT(fsync);
    return fails(FSYNC) ? -1 : real(fd);
}

int fdatasync(int fd)
{
    NEXT(fdatasync);
    return fails(FSYNC) ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    NEXT(rename);
    return fails(RENAME) ? -1 : real(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    NEXT(renameat);
    return fails(RENAME) ? -1 : real(from_dir, from, to_dir, to);
}

/* As on Linux, a failed close has closed the descriptor. */
int close(int fd)
{
    NEXT(close);
    const bool no = fails(CLOSE);
    const int why = errno, rc = real(fd);

    if (!no)
        return rc;
    errno = why;
    return -1;
}

/* ---- memory and threads ------------------------------------------------------------------- */

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    NEXT(mmap);
    return fails(MAP) ? MAP_FAILED : real(at, n, prot, flags, fd, off);
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    return mmap(at, n, prot, flags, fd, off);
}

void *malloc(size_t n)
{
    NEXT(malloc);
    return fails(MALLOC) ? NULL : real(n);
}

void *calloc(size_t n, size_t size)
{
    NEXT(calloc);
    return fails(MALLOC) ? NULL : real(n, size);
}

void *realloc(void *p, size_t n)
{
    NEXT(realloc);
    return fails(MALLOC) ? NULL : real(p, n);
}

char *strdup(const char *s)
{
    NEXT(malloc);
    const size_t n = strlen(s) + 1;
    char *copy = fails(MALLOC) ? NULL : real(n);

    return copy ? memcpy(copy, s, n) : NULL;
}

int posix_memalign(void **p, size_t align, size_t n)
{
    NEXT(posix_memalign);
    return n_unchecked == 0 && fails(MALLOC) ? ENOMEM : real(p, align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    NEXT(aligned_alloc);
    return fails(MALLOC) ? NULL : real(align, n);
}

int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    NEXT(pthread_create);
    return fails(THREAD) ? EAGAIN : real(id, attr, run, arg);
}

/* ---- htslib ------------------------------------------------------------------------------- */

/* A function of htslib whose caller cannot see or prevent a failing call, if a condition holds. */
#define EXEMPT_IF(condition, type, name, params, args) \
    type name params; \
    type name params \
    { \
        NEXT(name); \
        n_exempt += condition; \
        type rc = real args; \
        n_exempt -= condition; \
        return rc; \
    }
/* Also in exempt_name. */
#define EXEMPT(type, name, params, args) EXEMPT_IF(1, type, name, params, args)

/* fai_insert_index() writes to the slot of a kh_put() that failed. */
EXEMPT(void *, fai_load, (const char *path), (path))
/* Passes on the NULL of kh_init(). */
EXEMPT(int, hts_idx_push, (void *idx, int tid, int64_t from, int64_t to, uint64_t off, int mapped),
       (idx, tid, from, to, off, mapped))
/* sam_hdr_write() ignores its error and writes a complete file, but without the reference. */
EXEMPT(int, cram_load_reference, (void *fd, char *path), (fd, path))
/* The same for the reference of checksums in the header and of encoding. */
EXEMPT(char *, cram_get_ref, (void *fd, int id, int from, int to), (fd, id, from, to))
/* Use the NULL of calloc(), kh_init() and cram_new_block(). */
EXEMPT(int, cram_put_bam_seq, (void *fd, void *b), (fd, b))
EXEMPT(int, cram_encode_container, (void *fd, void *c), (fd, c))
EXEMPT(int, cram_write_eof_block, (void *fd), (fd))

/* A library built from htslib's release does not export them. There, what writes CRAM is exempt. */
static bool whole_cram;
EXEMPT_IF(whole_cram, int, hts_set_fai_filename, (void *fp, const char *path), (fp, path))
EXEMPT_IF(whole_cram, int, sam_hdr_write, (void *fp, const void *header), (fp, header))
EXEMPT_IF(whole_cram, int, sam_write1, (void *fp, const void *header, const void *b),
          (fp, header, b))
EXEMPT_IF(whole_cram, int, hts_close, (void *fp), (fp))

static const char *const exempt_name[] = {
    "fai_load", "hts_idx_push", "cram_load_reference", "cram_get_ref", "cram_put_bam_seq",
    "cram_encode_container", "cram_write_eof_block",
};

/* hfile_init() of 1.22 and later takes an error of posix_memalign() for success (1.23.1 does, too).
 * Outputs are checked in hts_out.c, but not what htslib opens: an index. */
static bool has_unchecked;
int bcf_index_build3(const char *path, const char *index, int shift, int n_thread);
int bcf_index_build3(const char *path, const char *index, int shift, int n_thread)
{
    NEXT(bcf_index_build3);
    n_unchecked += has_unchecked;
    const int rc = real(path, index, shift, n_thread);
    n_unchecked -= has_unchecked;
    return rc;
}

static void find_version(void)
{
    const char *(*version)(void);
    void *found = dlsym(RTLD_NEXT, "hts_version");
    int major = 0, minor = 0;

    memcpy(&version, &found, sizeof found);
    has_unchecked = found && sscanf(version(), "%d.%d", &major, &minor) == 2
                 && (major > 1 || minor >= 22);
}

static void add_all_exempt(void)
{
    bool all = true;

    find_version();
    for (size_t i = 0; i < sizeof exempt_name / sizeof *exempt_name; i++)
        all &= add_exempt(exempt_name[i]);
    whole_cram = !all && getenv("FAULTS_CRAM");
}

/* ---- from main() to the end --------------------------------------------------------------- */

static int (*real_main)(int, char **, char **);

static void print_counts(void)
{
    const char *path = getenv("FAULTS_COUNT");

    atomic_store(&armed, false);
    FILE *f = path && getpid() == owner ? fopen(path, "w") : NULL;
    for (int i = 0; f && i < N_KIND; i++)
        fprintf(f, "%s %ld\n", kind_name[i], atomic_load(&n_call[i]));
    if (f && fclose(f) != 0)
        abort();
}

static int begin(int argc, char **argv, char **env)
{
    char name[16] = "";
    const char *what = getenv("FAULTS");

    if (!what || sscanf(what, "%15s %d %ld", name, &fail_with, &fail_at) != 3)
        abort();
    for (int i = 0; i < N_KIND; i++)
        if (strcmp(name, kind_name[i]) == 0)
            target = (enum kind)i;
    owner = getpid();
    if (atexit(print_counts) != 0)
        abort();
    add_all_exempt();
    (void)in_exempt();           /* the first one loads a library */
    atomic_store(&armed, true);
    return real_main(argc, argv, env);
}

int __libc_start_main(int (*run)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *end)
{
    int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                void (*)(void), void *);

    find("__libc_start_main", &real);
    real_main = run;
    return real(begin, argc, argv, init, fini, rtld_fini, end);
}
