/* data.c - paths of installed data files. */
#include "base/data.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"

#ifndef CS_DATA_DIR
#define CS_DATA_DIR "/usr/local/share/chordseq"
#endif

/* Replace the last `level` parts of the program's path by folder/name. */
static bool beside_program(int level, const char *folder, const char *name, char *buf, size_t n_buf)
{
    ssize_t n = cs_system_program(buf, n_buf);

    for (; level > 0; level--)
        do
            n--;
        while (n > 0 && buf[n - 1] != '/');
    return n > 0
        && (size_t)snprintf(buf + n, n_buf - (size_t)n, "%s/%s", folder, name) < n_buf - (size_t)n
        && access(buf, R_OK) == 0;
}

/* The program is in PREFIX/bin: a relocated installation, such as a wheel. Other programs linked
 * with the library are ignored; data beside them may have another version. */
static bool is_installed_program(char *buf, size_t n_buf)
{
    static const char end[] = "/bin/chordseq";
    const ssize_t n = cs_system_program(buf, n_buf), n_end = (ssize_t)sizeof end - 1;

    return n > n_end && strncmp(buf + n - n_end, end, (size_t)n_end) == 0;
}

bool cs_data_find(const char *name, char *buf, size_t n_buf)
{
    return beside_program(1, "refdata", name, buf, n_buf)
        || beside_program(2, "refdata", name, buf, n_buf)
        || beside_program(1, "chordseq.data", name, buf, n_buf)
        || (is_installed_program(buf, n_buf)
            && beside_program(2, "share/chordseq", name, buf, n_buf))
        || ((size_t)snprintf(buf, n_buf, "%s/%s", CS_DATA_DIR, name) < n_buf
            && access(buf, R_OK) == 0);
}
