/* file_print.c - what outputs are full of, printed without printf, which would take a tenth of the
 * time of short reads. */
#include "base/file.h"

#include <math.h>
#include <string.h>

int cs_outfile_text(cs_outfile *f, const char *text)
{
    return cs_outfile_write(f, text, strlen(text));
}

/* A float has 24 bits and 10^6 = 2^6 * 15625 has 14, so the product is exact in double, and to
 * round it to even is to round as printf does. */
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
