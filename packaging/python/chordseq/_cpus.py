"""The number of processors that this process may use, as src/base/cpu.c counts them."""
import os


def _numbers(path):
    """The whole numbers at the start of a small file of the kernel; "max" is none."""
    found = []
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            for word in f.read().split():
                found.append(int(word))
    except (OSError, ValueError):
        pass
    return found


def _quota_of(folder, v2):
    """Processors that one control group allows, rounded up; None: any number."""
    if v2:
        limit = _numbers(folder + "/cpu.max")
    else:
        limit = [n for name in ("quota", "period")
                 for n in _numbers(f"{folder}/cpu.cfs_{name}_us")[:1]]
    if len(limit) < 2 or limit[0] <= 0 or limit[1] <= 0:
        return None
    return -(-limit[0] // limit[1])


def quota(membership="/proc/self/cgroup", root="/sys/fs/cgroup"):
    """The least that this process's control groups and their ancestors allow; None: any number.

    In a container the path may be the host's and exist only in part: missing levels are skipped.
    """
    least = None
    try:
        with open(membership, encoding="utf-8", errors="surrogateescape") as f:
            groups = [line.rstrip("\n").split(":", 2) for line in f]
    except OSError:
        return None
    for _, controllers, group in (g for g in groups if len(g) == 3):
        v2 = controllers == ""
        if not v2 and "cpu" not in controllers.split(","):
            continue
        while True:
            n = _quota_of(root + ("" if v2 else "/cpu") + group, v2)
            least = n if least is None else least if n is None else min(n, least)
            if "/" not in group:
                break
            group = group.rpartition("/")[0]
    return least


def cpu_count():
    """The least of the processors of the affinity mask and the quota of control groups."""
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n, quota() or n)
