/* json_text.h - write strict JSON: text in any encoding, and values by jansson. */
#ifndef CS_IO_JSON_TEXT_H
#define CS_IO_JSON_TEXT_H

#include <jansson.h>

#include "base/outfile.h"

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

/** cs_json_counts - n counts as a JSON array. cs_json_read_counts - the reverse; false if it is not
 * one of n */
json_t *cs_json_counts(const uint64_t *v, size_t n);
bool    cs_json_read_counts(const json_t *a, uint64_t *v, size_t n) CS_MUST_CHECK;

/** cs_json_of_bytes - text in any encoding, such as a file's name, as a JSON string: of text that
 * is not UTF-8 all bytes that are not ASCII become '?' */
json_t *cs_json_of_bytes(const char *text);

/** cs_outfile_json - a JSON value and a newline. flags: of jansson; name: the file, for messages.
 * CS_OK; CS_EMEM; errors as cs_outfile_write() */
int cs_outfile_json(cs_outfile *f, const json_t *j, size_t flags, const char *name) CS_MUST_CHECK;

#endif
