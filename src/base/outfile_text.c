/* outfile_text.c - texts and numbers of outputs, without printf.
 *
 * DESIGN: printf would take a tenth of the time of short reads, and most of the time of commands
 * that write a number per base. It takes twice as long as usual in a process with LAPACK, whose
 * libquadmath adds formats to printf.
 */
#include <math.h>
#include <string.h>

#include "base/outfile.h"

int cs_outfile_text(cs_outfile *f, const char *text)
{
    return cs_outfile_write(f, text, strlen(text));
}

/* A float has 24 bits and 10^6 = 2^6 * 15625 has 14, so the product is exact in double, and
 * rounding to even equals printf's rounding. */
int cs_outfile_millionths(cs_outfile *f, float v)
{
    enum { DIGITS = 7 };         /* below ten, which probabilities are */
    const double exact = (double)v * 1e6;
    char text[DIGITS + 1];

    if (signbit(v) || !(exact < 9e6))
        return cs_outfile_printf(f, "%.6f", (double)v);
    long n = lrint(exact);
    for (int i = DIGITS; i > 1; i--, n /= 10)
        text[i] = (char)('0' + n % 10);
    text[0] = (char)('0' + n);
    text[1] = '.';
    return cs_outfile_write(f, text, sizeof text);
}

int cs_outfile_int(cs_outfile *f, int64_t v)
{
    enum { DIGITS = 20 };        /* of 2^63, and a sign */
    char text[DIGITS];
    int at = DIGITS;
    uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;

    do
        text[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (v < 0)
        text[--at] = '-';
    return cs_outfile_write(f, text + at, (size_t)(DIGITS - at));
}
