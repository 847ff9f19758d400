/* opt_given.c - which options the command line gives, even with their default values. */
#include "base/mem.h"
#include "base/opt.h"

static struct { const void **v; size_t n, cap; } given;

int cs_opt_mark_given(const void *field)
{
    const int rc = cs_grow((void **)&given.v, &given.cap, given.n + 1, sizeof *given.v);

    if (rc == CS_OK)
        given.v[given.n++] = field;
    return rc;
}

bool cs_opt_given(const void *field)
{
    for (size_t i = 0; i < given.n; i++)
        if (given.v[i] == field)
            return true;
    return false;
}
