/* opt.h - the option table: one row gives parser, default, help text and manual entry. */
#ifndef CS_BASE_OPT_H
#define CS_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* The field that `off` points to has the C type in the comment. */
typedef enum cs_opt_type {
    CS_OPT_END = 0,
    CS_OPT_GROUP,     /* a title in help and manual; no field */
    CS_OPT_FLAG,      /* int: counts occurrences (-v -v gives 2) */
    CS_OPT_INT,       /* int64_t */
    CS_OPT_SIZE,      /* int64_t with suffix k M G T (powers of 1000) */
    CS_OPT_BYTES,     /* the same, of memory: also Ki Mi Gi Ti (powers of 1024) */
    CS_OPT_REAL,      /* double; nan and inf are refused */
    CS_OPT_STR,       /* const char *: points into argv or the default */
    CS_OPT_IN,        /* the same, name of an input file */
    CS_OPT_OUT,       /* the same, of an output file */
    CS_OPT_ENUM,      /* int: index into `choice` */
    CS_OPT_WHEN,      /* the same, choice[1] without a value, which comes as --name=VALUE */
    CS_OPT_LIST,      /* cs_strlist: each occurrence adds one string; has no default */
    CS_OPT_INS        /* the same, names of input files */
} cs_opt_type;

/* The value of a macro as the text of a default: .def = CS_OPT_TEXT(CS_EVALUATE_TOLERANCE). */
#define CS_OPT_TEXT(x)  CS_OPT_TEXT_(x)
#define CS_OPT_TEXT_(x) #x

typedef struct cs_strlist { const char **v; int n; } cs_strlist;

/** cs_strlist_add - the one way to add a string (the pointer is kept); free(v) releases the list.
 * CS_OK, CS_EMEM */
int cs_strlist_add(cs_strlist *l, const char *text) CS_MUST_CHECK;

/* Property of an option that must be equal to resume a run and to merge shards. */
typedef enum cs_opt_same {
    CS_OPT_SAME_VALUE = 0,       /* its value; of an input file the name without folders, and the
                                  * size */
    CS_OPT_SAME_CONTENT,         /* IN: also the content */
    CS_OPT_SAME_NOTHING          /* nothing: it does not change results, or its object is compared
                                  * (inputs, model, precision and kernels used) */
} cs_opt_same;

typedef struct cs_opt {
    cs_opt_type type;
    char        letter;          /* 0: long form only. -t is also that of '@' */
    const char *name;            /* long name; the title for GROUP */
    size_t      off;             /* offsetof the field in the options struct */
    const char *arg;             /* placeholder: NUM, FILE, ... ; NULL for FLAG */
    const char *def;             /* default, as the user would type it; NULL: none (ENUM has one) */
    const char *help;            /* fragment, lower case, no full stop */
    const char *man;             /* further sentences for the manual, or NULL */
    double      min, max;        /* range of INT, SIZE, REAL when min < max */
    const char *const *choice;   /* NULL-terminated names for ENUM, and for STR and IN names for
                                  * completion, if any; SIZE: the word for 0, if any; REAL from 0
                                  * up: the word for -1 */
    cs_opt_same same;
} cs_opt;

extern const char *const cs_opt_auto[];    /* the word "auto", for numbers with an automatic
                                            * value */

/* A table, the struct its offsets refer to, and a prefix ("encoder" makes --encoder.track). */
typedef struct cs_optset {
    const cs_opt *opt;           /* ends with CS_OPT_END */
    void         *base;
    const char   *prefix;        /* NULL: none */
} cs_optset;

enum { CS_MAX_OPTSET = 64 };     /* rows of a command's tables, with the end */

/**
 * cs_opt_defaults - write every default into its field, by the parser of argv
 *
 * set      ends with {0}
 *
 * Without a default a field becomes 0, NULL or empty. A default that does not parse is CS_BUG.
 */
void cs_opt_defaults(const cs_optset *set);

/** cs_opt_new - a struct of n_bytes with the defaults of one table (NULL: no options); free() it */
void *cs_opt_new(const cs_opt *opt, size_t n_bytes);

/**
 * cs_opt_parse - parse argv[1..]; "--" ends options, a lone "-" is an operand
 *
 * rest     receives the operands, in order (pointers into argv); at most argc of them
 * n_rest   their number
 * Returns  CS_OK, or CS_EUSAGE with a message naming the option and its valid values
 *
 * --name VALUE, --name=VALUE, -n VALUE, -nVALUE, clustered flags. No abbreviations. The last of
 * several values counts; several files for an option of one input (IN) are an error.
 */
int cs_opt_parse(const cs_optset *set, int argc, char **argv, const char **rest, int *n_rest)
    CS_MUST_CHECK;

/** cs_opt_mark_given - cs_opt_parse() notes the field of each option in argv. CS_OK; CS_EUSAGE:
 * a second file for an option of one input, whose first would not be read; CS_EMEM
 * shown: the option in that message. text: its value, not yet in the field; NULL: none */
int cs_opt_mark_given(const cs_opt *o, const void *field, const char *shown, const char *text)
    CS_MUST_CHECK;
/** cs_opt_given - did cs_opt_parse() find the option with this field, even with its default value?
 * The struct must be that of the parsed set, not a copy. One thread */
bool cs_opt_given(const void *field);

/** cs_opt_fail_unknown - CS_EUSAGE for an option that the tables do not have, with the nearest
 * name; shown: with its dashes */
int cs_opt_fail_unknown(const cs_optset *set, const char *shown);
/** cs_opt_unknown - the long option of the last such error, with its dashes; "": there is none */
const char *cs_opt_unknown(void);
/** cs_opt_has - do the tables have a long option, given with its dashes? */
bool cs_opt_has(const cs_optset *set, const char *shown);

/** cs_opt_is_requested - is an option of this long name, or letter (0: none), outside of all
 * tables, among the words? Values of options and words after "--" do not count, nor does
 * --name=VALUE. For --help, which works despite errors in other words */
bool cs_opt_is_requested(const cs_optset *set, int argc, char **argv, const char *name,
                         char letter);

/** cs_opt_set - set one option by long name (no prefix) and text, from a model file or a preset.
 * STR, LIST and files keep the pointer `value`. A FLAG takes its count as a number. CS_OK,
 * CS_EUSAGE, CS_EMEM */
int cs_opt_set(const cs_opt *opt, void *base, const char *name, const char *value) CS_MUST_CHECK;

/** cs_opt_text - a field's present value as text that cs_opt_set() reads back. The text's length as
 * snprintf() returns it; 0 if it has none (STR that is NULL, LIST) */
int cs_opt_text(const cs_opt *o, const void *base, char *buf, size_t n_buf);
/** cs_opt_value - the same text, of any length, for free(); NULL if it has none */
char *cs_opt_value(const cs_opt *o, const void *base);

/** cs_opt_find - the row of a long name, or NULL */
const cs_opt *cs_opt_find(const cs_opt *opt, const char *name);

/** cs_opt_names - does the option take one of the names in `choice`? */
static inline bool cs_opt_names(const cs_opt *o)
{
    return o->choice != NULL
        && (o->type == CS_OPT_ENUM || o->type == CS_OPT_WHEN || o->type == CS_OPT_STR);
}

/** cs_opt_names_file - is the value the name of a file? */
static inline bool cs_opt_names_file(const cs_opt *o)
{
    return o->type == CS_OPT_IN || o->type == CS_OPT_OUT || o->type == CS_OPT_INS;
}
/** cs_opt_takes_word - is the next word its value, unless there is a '='? */
static inline bool cs_opt_takes_word(const cs_opt *o)
{
    return o->type != CS_OPT_FLAG && o->type != CS_OPT_WHEN;
}
/** cs_opt_is_list - does it accept several values? */
static inline bool cs_opt_is_list(const cs_opt *o)
{
    return o->type == CS_OPT_LIST || o->type == CS_OPT_INS;
}

/** cs_opt_add_paths - register the files named by the values of a set with base/path_conflicts.h.
 * CS_OK; CS_EUSAGE: an input is also an output; CS_EMEM */
int cs_opt_add_paths(const cs_optset *set) CS_MUST_CHECK;

/** cs_opt_release - free the lists of these sets */
void cs_opt_release(const cs_optset *set);

/**
 * cs_opt_check - is the table valid? Unique names and letters, help a lower-case fragment, valid
 * defaults in range, every FILE an input or output
 *
 * Returns  CS_OK, or CS_EUSAGE with a message naming the row (the unit test walks every table)
 */
int cs_opt_check(const cs_optset *set) CS_MUST_CHECK;

/** cs_opt_help - the option list of --help, 80 columns */
void cs_opt_help(const cs_optset *set, FILE *out);

/** cs_opt_man - the same as roff (man(7) macros), with the further sentences */
void cs_opt_man(const cs_optset *set, FILE *out);

/** cs_parse_int, cs_parse_size, cs_parse_bytes, cs_parse_real - the number parsers, for other text
 * formats too. Return CS_OK or CS_EUSAGE (no message kept); the whole string must be consumed. */
int cs_parse_int(const char *s, int64_t *v) CS_MUST_CHECK;
int cs_parse_size(const char *s, int64_t *v) CS_MUST_CHECK;
int cs_parse_bytes(const char *s, int64_t *v) CS_MUST_CHECK;
int cs_parse_real(const char *s, double *v) CS_MUST_CHECK;

#endif
