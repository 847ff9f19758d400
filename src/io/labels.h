/* labels.h - labels of records: from a TSV or CSV table, the header line or the file. */
#ifndef CS_IO_LABELS_H
#define CS_IO_LABELS_H

#include <string.h>

#include "base/names.h"
#include "io/record.h"

/* An ordered list of class names. Index = class number. */
typedef struct cs_classes { char **name; int n; cs_names by_name; } cs_classes;
void cs_classes_release(cs_classes *c);
/** cs_classes_find - the number of a name, or -1 */
int cs_classes_find(const cs_classes *c, const char *name);
/** cs_classes_add - the number of a name, added if new; CS_EFORMAT for one with control characters;
 * CS_EMEM */
int cs_classes_add(cs_classes *c, const char *name, int *no) CS_MUST_CHECK;
/** cs_classes_sort - put the classes into the order of `compare` (arguments: char *const *); to[i]
 * receives the new number of class i. CS_EMEM leaves them as they are */
int cs_classes_sort(cs_classes *c, int (*compare)(const void *, const void *), int32_t *to)
    CS_MUST_CHECK;

/* name -> text of the label columns, read from TSV or CSV. */
typedef struct cs_labels cs_labels;

/**
 * cs_labels_open - read a table: first column the record's name, the rest its label or values
 *
 * path     TSV, or CSV with commas or semicolons if the first row has no tab; plain or gzip, "-"
 *          refused. Lines that start with '#' and empty lines are skipped; CRLF and a byte order
 *          mark accepted. A name that occurs twice with different labels is
 *          CS_EFORMAT with both lines; with the same labels it counts once.
 *          The first line may have no name, as names of columns that pandas writes: it is skipped.
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with file and line; CS_EMEM
 */
int cs_labels_open(const char *path, cs_labels **out) CS_MUST_CHECK;
/** cs_labels_open_named - the same of a table whose first line names the columns, with or without a
 * '#' before it. Lines with a '#' and no tab before it are skipped, too */
int cs_labels_open_named(const char *path, cs_labels **out) CS_MUST_CHECK;
/** cs_labels_open_values - the same of a table of values, whose first line names the columns if no
 * column after the first is a number or cs_label_unknown() */
int cs_labels_open_values(const char *path, cs_labels **out) CS_MUST_CHECK;
/** cs_labels_name - name of column `i` (0 = first after the name) of a table with a header */
const char *cs_labels_name(const cs_labels *l, int i);
/** cs_labels_line - the line of a record's row, or of the header with name NULL; 0: there is
 * none */
int64_t cs_labels_line(const cs_labels *l, const char *name);
/** cs_labels_find - column `i` (0 = first after the name) of a record's row, or NULL */
const char *cs_labels_find(const cs_labels *l, const char *name, int i);
/** cs_labels_with - the column (0 = first after the name) in which a row has this text; -1: none */
int cs_labels_with(const cs_labels *l, const char *text);
/** cs_labels_next - the next column of the same row, which must exist */
static inline const char *cs_labels_next(const char *column) { return column + strlen(column) + 1; }
/** cs_labels_mark - mark the row of this name as used: the input has its record; accepts NULL for
 * the table */
void cs_labels_mark(cs_labels *l, const char *name);
/** cs_labels_unused - number of rows whose records did not occur, and the first one's name if
 * any */
int64_t cs_labels_unused(const cs_labels *l, const char **first);
/** cs_labels_columns - label columns in the table */
int cs_labels_columns(const cs_labels *l);
/** cs_labels_count - rows of the table, without its header */
int64_t cs_labels_count(const cs_labels *l);
void cs_labels_close(cs_labels *l);

/** cs_label_unknown - is this text of a value or of one of several labels an unknown one: NA, NaN
 * (also nan), '.' or empty? */
static inline bool cs_label_unknown(const char *text)
{
    return *text == '\0' || strcmp(text, ".") == 0 || strcmp(text, "NA") == 0 ||
           strcmp(text, "NaN") == 0 || strcmp(text, "nan") == 0;
}

/**
 * cs_label_key - the value of KEY in a header comment ("... class=virus ..."), copied
 *
 * Returns  1 and the value in buf (NUL-terminated); 0 if the key is missing or does not fit
 */
int cs_label_key(const char *comment, const char *key, char *buf, size_t n_buf);
/** cs_label_key_find - the value of the blank-separated word KEY=VALUE in the comment, *n bytes of
 * it; the first one counts. NULL: the key is missing */
const char *cs_label_key_find(const char *comment, const char *key, size_t *n);
/** cs_label_key_cut - does a word without '=' follow KEY=VALUE, as in "species=Homo sapiens"? 1 and
 * the word in buf, as much as fits; else 0 */
int cs_label_key_cut(const char *comment, const char *key, char *buf, size_t n_buf);

#endif
