/* cpu.c - feature bits, the switch that hides them, and how many processors we may use. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE              /* sched_getaffinity, CPU_ALLOC */
#endif
#include "base/cpu.h"

#include <limits.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/opt.h"

static const struct { const char *word; unsigned bit; } feature[] = {
    { "avx2", CS_CPU_AVX2 },
    { "fused", CS_CPU_FUSED },
};
enum { N_FEATURE = sizeof feature / sizeof feature[0] };

/* Written before threads start, only read afterwards. `allowed` is what cs_cpu_init() has found. */
static unsigned features, allowed;

static unsigned detect(void)
{
    unsigned bits = CS_CPU_FUSED;

#if defined(__x86_64__) || defined(__i386__)
    /* The compiler's run-time library also asks whether the system saves the wide registers. */
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        bits |= CS_CPU_AVX2;
#endif
    return bits;
}

static unsigned bit_of(const char *word, size_t n)
{
    for (int i = 0; i < N_FEATURE; i++)
        if (strlen(feature[i].word) == n && memcmp(feature[i].word, word, n) == 0)
            return feature[i].bit;
    return 0;
}

int cs_cpu_init(void)
{
    const char *s = getenv("CHORDSEQ_DISABLE");
    unsigned bits = detect();

    for (size_t n; s != NULL && *s != '\0'; s += n + (s[n] == ',')) {
        n = strcspn(s, ",");
        unsigned hide = bit_of(s, n);
        if (n > 0 && hide == 0)
            return cs_fail(CS_EUSAGE, "unknown word '%.*s' in CHORDSEQ_DISABLE; "
                           "it takes a comma-separated list of avx2, fused", (int)n, s);
        bits &= ~hide;
    }
    features = allowed = bits;
    return CS_OK;
}

bool cs_cpu_level(int level, char *name, size_t n_name)
{
    unsigned bits = 0;
    int n = 0;
    size_t len = (size_t)snprintf(name, n_name, "reference");

    for (int i = 0; i < N_FEATURE && n < level; i++) {
        /* Fused kernels are made of vector instructions: without these there are none. */
        if (!(allowed & feature[i].bit) || (feature[i].bit == CS_CPU_FUSED && n == 0))
            continue;
        len = n++ == 0 ? 0 : len;
        bits |= feature[i].bit;
        if (len < n_name)
            len += (size_t)snprintf(name + len, n_name - len, "%s%s", len ? "+" : "",
                                    feature[i].word);
    }
    features = n == level ? bits : allowed;
    return n == level;
}

bool cs_cpu_has(unsigned mask)
{
    return (features & mask) == mask;
}

static int affinity_count(void)
{
    /* The kernel refuses a set smaller than its own, so ask with larger ones (1024 is common). */
    for (size_t n = 1024; n <= 1 << 20; n *= 4) {
        cpu_set_t *set = CPU_ALLOC(n);
        size_t size = CPU_ALLOC_SIZE(n);
        if (set == NULL)
            break;
        int rc = sched_getaffinity(0, size, set);
        int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

/* Up to two numbers from a small file of the kernel; how many it has (cpu.max says "max 100000"
 * when there is no limit: none). */
static int read_numbers(const char *path, long long *first, long long *second)
{
    char *text = NULL;
    size_t n;

    if (access(path, R_OK) != 0)
        return 0;
    if (cs_file_read(path, 4096, &text, &n) != CS_OK) {
        cs_error_clear();
        return 0;
    }
    int got = sscanf(text, "%lld %lld", first, second);
    free(text);
    return got > 0 ? got : 0;
}

/* The quota of one control group in processors, rounded up; 0 for none. */
static int quota_of(const char *root, const char *group, bool v2)
{
    char path[PATH_MAX];
    long long quota = 0, period = 0, unused;

    if (v2) {
        if ((size_t)snprintf(path, sizeof path, "%s%s/cpu.max", root, group) >= sizeof path
            || read_numbers(path, &quota, &period) != 2)
            return 0;
    } else {
        if ((size_t)snprintf(path, sizeof path, "%s/cpu%s/cpu.cfs_quota_us", root, group)
                >= sizeof path || read_numbers(path, &quota, &unused) < 1)
            return 0;
        (void)snprintf(path, sizeof path, "%s/cpu%s/cpu.cfs_period_us", root, group);
        if (read_numbers(path, &period, &unused) < 1)
            return 0;
    }
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return 0;
    return (int)((quota + period - 1) / period);
}

/* The tightest quota from a group up to the root; every ancestor limits its descendants. In a
 * container the path may be the host's and exist only in part: missing levels are passed over. */
static int quota_up(const char *root, char *group, bool v2)
{
    int least = 0;

    for (;;) {
        int quota = quota_of(root, group, v2);
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return least;
        *slash = '\0';
    }
}

/* Is "cpu" one of the comma-separated controllers? */
static bool names_cpu(const char *list)
{
    for (size_t n; *list != '\0'; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == 3 && memcmp(list, "cpu", 3) == 0)
            return true;
    }
    return false;
}

int cs_cpu_quota(const char *membership, const char *root)
{
    char *text = NULL, *end;
    size_t n;
    int least = 0;

    if (access(membership, R_OK) != 0)
        return 0;
    if (cs_file_read(membership, 1 << 16, &text, &n) != CS_OK) {
        cs_error_clear();
        return 0;
    }
    /* A line is "id:controllers:path"; version 2 has id 0 and no controllers. */
    for (char *line = text; *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != '\0')
            *end++ = '\0';
        char *list = strchr(line, ':');
        char *group = list != NULL ? strchr(list + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        bool v2 = list[1] == '\0';
        int quota = v2 || names_cpu(list + 1) ? quota_up(root, group, v2) : 0;
        if (quota > 0 && (least == 0 || quota < least))
            least = quota;
    }
    free(text);
    return least;
}

int cs_cpu_count(void)
{
    int count = affinity_count();
    int quota = cs_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");

    return quota > 0 && quota < count ? quota : count;
}
