/* json_text.c - pieces of strict JSON, written as they come. */
#include "io/json_text.h"

size_t cs_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
               s[0] < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)
        || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

static int one(cs_outfile *f, const unsigned char *s, size_t n)
{
    if (n == 0)
        return cs_outfile_write(f, "\xef\xbf\xbd", 3);
    if (*s == '"' || *s == '\\')
        return cs_outfile_printf(f, "\\%c", *s);
    if (*s < 0x20 || *s == 0x7f)
        return cs_outfile_printf(f, "\\u%04x", *s);
    return cs_outfile_write(f, s, n);
}

int cs_json_string(cs_outfile *f, const char *text)
{
    int rc = CS_OK;
    const unsigned char *s = (const unsigned char *)text;

    CS_TRY(cs_outfile_write(f, "\"", 1));
    while (*s) {
        const size_t n = cs_utf8_length((const char *)s);
        CS_TRY(one(f, s, n));
        s += n ? n : 1;
    }
    rc = cs_outfile_write(f, "\"", 1);
out:
    return rc;
}
