/* cgroup.h - CPU and memory limits of this process's control groups. */
#ifndef CS_BASE_CGROUP_H
#define CS_BASE_CGROUP_H

#include <stdint.h>

/* Linux's files; the arguments of the functions below. */
#define CS_CGROUP_MEMBERSHIP "/proc/self/cgroup"
#define CS_CGROUP_ROOT "/sys/fs/cgroup"

/**
 * cs_cgroup_cpus - CPUs, rounded up
 *
 * membership  the file with the groups of the process (versions 1 and 2)
 * root        where the groups are mounted
 * Returns     0 when there is no limit or no control group
 */
int64_t cs_cgroup_cpus(const char *membership, const char *root);

/**
 * cs_cgroup_memory - bytes up to the memory limit; inactive file pages count as free
 *
 * Returns     INT64_MAX when there is no limit or no control group
 */
int64_t cs_cgroup_memory(const char *membership, const char *root);

#endif
