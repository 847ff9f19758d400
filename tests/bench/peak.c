/* peak.c - run a command and print its peak KiB of memory, wall and processor seconds.
 *
 *     peak COMMAND [ARGUMENT...]
 *
 * Writes one line of three tab-separated numbers to file descriptor 3. The exit status is that of
 * the command.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPORT_FD = 3, CANNOT_RUN = 127, CANNOT_TELL = 126 };

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int main(int argc, char **argv)
{
    const double start = now_s();
    const pid_t child = argc > 1 ? fork() : -1;
    int status;
    struct rusage u;

    if (child == 0) {
        (void)close(REPORT_FD);
        (void)execvp(argv[1], argv + 1);
        _exit(CANNOT_RUN);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || getrusage(RUSAGE_CHILDREN, &u) != 0)
        return CANNOT_TELL;
    if (dprintf(REPORT_FD, "%ld\t%.2f\t%.2f\n", u.ru_maxrss, now_s() - start,
                seconds(u.ru_utime) + seconds(u.ru_stime)) < 0)
        return CANNOT_TELL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : CANNOT_RUN;
}
