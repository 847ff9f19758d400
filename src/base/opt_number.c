/* opt_number.c - parse numbers of options and text formats. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"

int cs_parse_int(const char *s, int64_t *v)
{
    char *end;
    const char *digits = s + (*s == '-' || *s == '+');

    if (!isdigit((unsigned char)*digits))
        return CS_EUSAGE;
    errno = 0;
    long long x = strtoll(s, &end, 10);
    if (errno != 0 || *end != '\0')
        return CS_EUSAGE;
    *v = x;
    return CS_OK;
}

/* A whole number with an optional suffix k, M, G or T, of powers of 1000, or, where `binary`, also
 * Ki, Mi, Gi or Ti, of powers of 1024. */
static int parse_scaled(const char *s, bool binary, int64_t *v)
{
    static const char suffix[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)*s))
        return CS_EUSAGE;
    errno = 0;
    long long x = strtoll(s, &end, 10);
    if (errno != 0)
        return CS_EUSAGE;
    if (*end != '\0') {
        const char *which = strchr(suffix, toupper((unsigned char)*end));
        const bool by_1024 = binary && end[1] == 'i';
        if (which == NULL || end[1 + by_1024] != '\0')
            return CS_EUSAGE;
        for (const char *p = suffix; p <= which; p++)
            if (__builtin_mul_overflow(x, by_1024 ? 1024 : 1000, &x))
                return CS_EUSAGE;
    }
    *v = x;
    return CS_OK;
}

int cs_parse_size(const char *s, int64_t *v)
{
    return parse_scaled(s, false, v);
}

int cs_parse_bytes(const char *s, int64_t *v)
{
    return parse_scaled(s, true, v);
}

int cs_parse_real(const char *s, double *v)
{
    char *end;

    /* strtod alone would also take spaces, hexadecimal, "nan" and "infinity". */
    if (*s == '\0' || s[strspn(s, "0123456789+-.eE")] != '\0')
        return CS_EUSAGE;
    double x = strtod(s, &end);
    if (end == s || *end != '\0' || !isfinite(x))
        return CS_EUSAGE;
    *v = x;
    return CS_OK;
}
