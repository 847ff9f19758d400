/* opt_unknown.c - an option outside of all tables: the error, and tables that have it. */
#include <ctype.h>
#include <string.h>

#include "base/opt.h"
#include "base/suggest.h"

enum { NAME_BYTES = 160 };

static char unknown[NAME_BYTES];

/* --NAME or --PREFIX.NAME. */
static void spell(const cs_optset *set, const cs_opt *o, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "--%s%s%s", set->prefix ? set->prefix : "",
                   set->prefix ? "." : "", o->name);
}

static bool is_option(const cs_opt *o)
{
    return o->type != CS_OPT_GROUP;
}

/* -M for -m. */
static int fail_letter(const cs_optset *set, const char *shown)
{
    const int typed = (unsigned char)shown[1], other = isupper(typed) ? tolower(typed)
                                                                      : toupper(typed);

    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (is_option(o) && o->letter == other)
                return cs_fail(CS_EUSAGE, "unknown option '%s'; did you mean '-%c' (--%s)? --help "
                               "lists them", shown, o->letter, o->name);
    return cs_fail(CS_EUSAGE, "unknown option '%s'; --help lists them", shown);
}

int cs_opt_fail_unknown(const cs_optset *set, const char *shown)
{
    char name[NAME_BYTES];
    cs_suggest suggest = cs_suggest_begin(shown);
    const bool is_long = shown[1] == '-';

    (void)snprintf(unknown, sizeof unknown, "%s", is_long ? shown : "");
    if (!is_long)
        return fail_letter(set, shown);
    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (is_option(o)) {
                spell(set, o, name);
                cs_suggest_try(&suggest, name);
            }
    return cs_fail(CS_EUSAGE, "unknown option '%s'; %s--help lists them", shown,
                   cs_suggest_hint(&suggest));
}

const char *cs_opt_unknown(void)
{
    return unknown;
}

bool cs_opt_has(const cs_optset *set, const char *shown)
{
    char name[NAME_BYTES];

    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (is_option(o)) {
                spell(set, o, name);
                if (strcmp(name, shown) == 0)
                    return true;
            }
    return false;
}
