/* data.c - where the files lie that are installed with the program. */
#include "base/data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef CS_DATA_DIR
#define CS_DATA_DIR "/usr/local/share/chordseq"
#endif

/* refdata beside the running program, or one folder up: it was built in a source tree or in a
 * folder of one. */
static bool in_source_tree(const char *name, char *buf, size_t n_buf)
{
    ssize_t n = readlink("/proc/self/exe", buf, n_buf);

    for (int level = 0; level < 2; level++) {
        do
            n--;
        while (n > 0 && buf[n - 1] != '/');
        if (n <= 0 || (size_t)snprintf(buf + n, n_buf - (size_t)n, "refdata/%s", name)
                          >= n_buf - (size_t)n)
            return false;
        if (access(buf, R_OK) == 0)
            return true;
    }
    return false;
}

bool cs_data_find(const char *name, char *buf, size_t n_buf)
{
    return in_source_tree(name, buf, n_buf)
        || ((size_t)snprintf(buf, n_buf, "%s/%s", CS_DATA_DIR, name) < n_buf
            && access(buf, R_OK) == 0);
}
