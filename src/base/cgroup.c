/*
 * cgroup.c - CPU and memory limits of this process's control groups.
 *
 * DESIGN. Every ancestor limits its descendants, so the minimum of a group's and its ancestors'
 * limits applies. In a container the path may be the host's and exist only in part: missing levels
 * are skipped.
 */
#include "base/cgroup.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* CPUs of one group, or bytes that it has left; INT64_MAX: no limit. */
typedef int64_t limit_of(const char *root, const char *group, bool v2);

/* A small file of the kernel, or NULL. */
static char *read_small(const char *path)
{
    char *text = NULL;
    size_t n;

    if (access(path, R_OK) != 0)
        return NULL;
    if (cs_file_read(path, 1 << 16, &text, &n) != CS_OK)
        cs_error_clear();
    return text;
}

static char *read_of(const char *root, const char *controller, const char *group, const char *file)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s%s%s/%s", root, controller, group, file)
            >= sizeof path)
        return NULL;
    return read_small(path);
}

/* Reads up to two numbers from such a file; returns how many ("max" is none). */
static int numbers_of(const char *root, const char *controller, const char *group,
                      const char *file, long long *first, long long *second)
{
    char *text = read_of(root, controller, group, file);
    const int got = text ? sscanf(text, "%lld %lld", first, second) : 0;

    free(text);
    return got > 0 ? got : 0;
}

static int64_t cpus_of(const char *root, const char *group, bool v2)
{
    long long quota = 0, period = 0, unused;

    if (v2) {
        if (numbers_of(root, "", group, "cpu.max", &quota, &period) != 2)
            return INT64_MAX;
    } else if (numbers_of(root, "/cpu", group, "cpu.cfs_quota_us", &quota, &unused) < 1
               || numbers_of(root, "/cpu", group, "cpu.cfs_period_us", &period, &unused) < 1) {
        return INT64_MAX;
    }
    if (quota <= 0 || period <= 0 || quota / period >= INT_MAX)
        return INT64_MAX;
    return quota / period + (quota % period > 0);
}

/* The number after `name` in memory.stat, 0 if missing. */
static long long stat_of(const char *text, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = text; p && *p; p = strchr(p, '\n'), p += p != NULL)
        if (strncmp(p, name, n) == 0 && p[n] == ' ')
            return strtoll(p + n, NULL, 10);
    return 0;
}

static int64_t memory_of(const char *root, const char *group, bool v2)
{
    const char *controller = v2 ? "" : "/memory";
    long long max = 0, used = 0, unused;

    if (numbers_of(root, controller, group, v2 ? "memory.max" : "memory.limit_in_bytes", &max,
                   &unused) < 1
        || numbers_of(root, controller, group, v2 ? "memory.current" : "memory.usage_in_bytes",
                      &used, &unused) < 1 || max < 0 || used < 0)
        return INT64_MAX;
    char *stat = read_of(root, controller, group, "memory.stat");
    const long long idle = stat_of(stat, v2 ? "inactive_file" : "total_inactive_file");
    free(stat);
    used = idle < 0 ? used : idle < used ? used - idle : 0;
    return used < max ? max - used : 0;
}

/* The minimum from a group up to the root. */
static int64_t min_to_root(const char *root, char *group, bool v2, limit_of *limit)
{
    int64_t min = INT64_MAX;

    for (;;) {
        const int64_t n = limit(root, group, v2);
        min = n < min ? n : min;
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return min;
        *slash = '\0';
    }
}

/* Is it one of the comma-separated controllers? */
static bool names(const char *list, const char *controller)
{
    for (size_t n; *list != '\0'; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == strlen(controller) && memcmp(list, controller, n) == 0)
            return true;
    }
    return false;
}

static int64_t min_of_groups(const char *membership, const char *root, const char *controller,
                             limit_of *limit)
{
    char *text = read_small(membership), *end;
    int64_t min = INT64_MAX;

    /* A line is "id:controllers:path"; version 2 has id 0 and no controllers. */
    for (char *line = text; line != NULL && *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != '\0')
            *end++ = '\0';
        char *list = strchr(line, ':');
        char *group = list != NULL ? strchr(list + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        const bool v2 = list[1] == '\0';
        const int64_t n = v2 || names(list + 1, controller) ? min_to_root(root, group, v2, limit)
                                                            : INT64_MAX;
        min = n < min ? n : min;
    }
    free(text);
    return min;
}

int64_t cs_cgroup_cpus(const char *membership, const char *root)
{
    const int64_t n = min_of_groups(membership, root, "cpu", cpus_of);

    return n < INT64_MAX ? n : 0;
}

int64_t cs_cgroup_memory(const char *membership, const char *root)
{
    return min_of_groups(membership, root, "memory", memory_of);
}
