/* same_options.h - the options that runs must share, to resume one or to merge shards. */
#ifndef CS_RUN_SAME_OPTIONS_H
#define CS_RUN_SAME_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/opt.h"

enum { CS_SAME_BYTES = 160 };

/* An option that differs, and its values in two runs, shortened: JSON or "nothing". */
typedef struct cs_same_diff {
    const char *option;          /* long name, of the objects compared */
    char        a[CS_SAME_BYTES], b[CS_SAME_BYTES];
} cs_same_diff;

/** cs_same_list - the values of an option with several as a JSON array; of more than 64 of a LIST
 * their number and checksum. A new reference */
json_t *cs_same_list(const cs_opt *o, const void *base);

/**
 * cs_same_describe - add what "options" of cs_about_json() lacks: "lists", values of options with
 * several, and "files", the properties of input files that must be equal (cs_opt_same in
 * base/opt.h)
 *
 * Returns  CS_OK; CS_EIO if a file whose content counts cannot be read
 */
int cs_same_describe(const cs_optset *set, json_t *run) CS_MUST_CHECK;

/**
 * cs_same_options - are the options, files and lists of two runs the same where they must be?
 *
 * set      tables that the options are in; options of no table must have the same value
 * a, b     objects with any of "options", "files" and "lists"
 * matters  false for a row that need not be the same here; NULL: all count
 * d        receives the first difference, if any
 */
bool cs_same_options(const cs_optset *set, const json_t *a, const json_t *b,
                     bool (*matters)(const cs_opt *o), cs_same_diff *d);

/** cs_same_value - are two values equal? Names of files are compared without folders: workflow
 * engines place inputs in different ones */
bool cs_same_value(const json_t *a, const json_t *b, bool is_file);
/** cs_same_show - a value as JSON, cut to size, or "nothing" */
void cs_same_show(const json_t *v, char buf[CS_SAME_BYTES]);
/** cs_same_last_name - a path without its folders */
const char *cs_same_last_name(const char *path);

#endif
