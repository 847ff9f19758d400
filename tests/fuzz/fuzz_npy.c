/* fuzz_npy.c - .npy files from arbitrary bytes: nothing crashes, a refusal keeps a message, and
 * accepted arrays are equal after writing and reading. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_again(const cs_npy *a)
{
    char path[32];
    cs_npy b;
    const int fd = memfd_create("npy", 0);

    CS_BUG(fd < 0);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    CS_BUG(cs_npy_write(path, CS_NPY_F8, a->shape, a->v) != CS_OK);
    CS_BUG(lseek(fd, 0, SEEK_SET) != 0);     /* reading starts at the present offset */
    CS_BUG(cs_npy_read(path, &b) != CS_OK);
    CS_BUG(a->n != b.n || memcmp(&a->shape, &b.shape, sizeof a->shape) != 0);
    CS_BUG(a->n > 0 && memcmp(a->v, b.v, (size_t)a->n * sizeof *a->v) != 0);
    free(b.v);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_npy a;

    if (cs_npy_parse(data, n_bytes, "input", &a) == CS_OK)
        check_again(&a);
    else
        CS_BUG(a.v || *cs_error_message() == '\0');
    cs_error_clear();
    free(a.v);
    return 0;
}
