/* json_text.c - write strict JSON: text in any encoding, and values by jansson. */
#include "io/json_text.h"

#include <string.h>

#include "base/mem.h"

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

static const char hex_digit[] = "0123456789abcdef";

json_t *cs_json_hex(const char *bytes, size_t n)
{
    char *hex = cs_alloc(2 * n + 1, 1);

    for (size_t i = 0; hex && i < n; i++) {
        hex[2 * i] = hex_digit[(unsigned char)bytes[i] >> 4];
        hex[2 * i + 1] = hex_digit[(unsigned char)bytes[i] & 15];
    }
    json_t *s = hex ? json_stringn(hex, 2 * n) : NULL;
    free(hex);
    return s;
}

bool cs_json_unhex(const json_t *hex, char *bytes, size_t max, size_t *n)
{
    const char *s = json_string_value(hex);
    const size_t size = json_string_length(hex) / 2;

    if (!s || strspn(s, hex_digit) != json_string_length(hex) || json_string_length(hex) % 2 != 0
        || size > max)
        return false;
    for (size_t i = 0; i < size; i++, s += 2)
        bytes[i] = (char)((strchr(hex_digit, s[0]) - hex_digit) << 4
                          | (strchr(hex_digit, s[1]) - hex_digit));
    *n = size;
    return true;
}

json_t *cs_json_counts(const uint64_t *v, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_integer((json_int_t)v[i]));
    return a;
}

bool cs_json_read_counts(const json_t *a, uint64_t *v, size_t n)
{
    bool good = json_array_size(a) == n;

    for (size_t i = 0; good && i < n; i++) {
        const json_t *x = json_array_get(a, i);
        v[i] = (uint64_t)json_integer_value(x);
        good = json_is_integer(x) && json_integer_value(x) >= 0;
    }
    return good;
}

json_t *cs_json_of_bytes(const char *text)
{
    json_t *j = json_string(text);

    if (j)
        return j;
    char *ascii = cs_xstrdup(text);
    for (char *p = ascii; *p; p++)
        *p = (unsigned char)*p < 0x80 ? *p : '?';
    j = json_string(ascii);
    free(ascii);
    return j;
}

int cs_outfile_json(cs_outfile *f, const json_t *j, size_t flags, const char *name)
{
    int rc = CS_OK;
    char *text = json_dumps(j, flags);

    if (!text)
        return cs_fail(CS_EMEM, "out of memory for '%s'", name);
    CS_TRY(cs_outfile_text(f, text));
    rc = cs_outfile_text(f, "\n");
out:
    free(text);
    return rc;
}
