/* opt_given.c - which options the command line gives, even with their default values. */
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"

static struct { const void **v; size_t n, cap; } given;

bool cs_opt_given(const void *field)
{
    for (size_t i = 0; i < given.n; i++)
        if (given.v[i] == field)
            return true;
    return false;
}

int cs_opt_mark_given(const cs_opt *o, const void *field, const char *shown, const char *text)
{
    int rc = CS_OK;

    if (o->type == CS_OPT_IN && cs_opt_given(field)) {
        const char *first = *(const char *const *)field;
        if (first != NULL && strcmp(first, text) != 0)
            return cs_fail(CS_EUSAGE, "option '%s' takes one file, but is given two: '%s' and "
                           "'%s'", shown, first, text);
    }
    CS_TRY(cs_grow((void **)&given.v, &given.cap, given.n + 1, sizeof *given.v));
    given.v[given.n++] = field;
out:
    return rc;
}
