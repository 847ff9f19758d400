/* json_text.h - write strict JSON incrementally. */
#ifndef CS_IO_JSON_TEXT_H
#define CS_IO_JSON_TEXT_H

#include <jansson.h>

#include "base/file.h"

/** cs_utf8_length - bytes of the UTF-8 character at s, 1 for a NUL; 0 if there is none:
 * overlong forms, surrogates and values above U+10FFFF are invalid. Source: Unicode, table 3-7 */
size_t cs_utf8_length(const char *s);

/** cs_json_string - a string with its quotes; control characters are escaped, bytes that are not
 * UTF-8 become U+FFFD */
int cs_json_string(cs_outfile *f, const char *s) CS_MUST_CHECK;

/** cs_json_hex - any bytes as a string of hexadecimal digits: for text in any encoding, which JSON
 * strings do not allow. A new reference; NULL: out of memory */
json_t *cs_json_hex(const char *bytes, size_t n);
/** cs_json_unhex - decode to n <= max bytes; false: more, or not such a string */
bool cs_json_unhex(const json_t *hex, char *bytes, size_t max, size_t *n);

#endif
