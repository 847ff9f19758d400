/* json_text.h - pieces of strict JSON, written as they come. */
#ifndef CS_IO_JSON_TEXT_H
#define CS_IO_JSON_TEXT_H

#include "base/file.h"

/** cs_json_string - a string with its quotes; control characters are escaped, bytes that are not
 * UTF-8 become U+FFFD */
int cs_json_string(cs_outfile *f, const char *s) CS_MUST_CHECK;

#endif
