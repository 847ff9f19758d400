/*
 * opt_doc.c - the option table as --help text and as manual page.
 *
 * DESIGN
 * Both walk over the rows. Help is a fragment, the valid values, and the default in brackets,
 * wrapped to 80 columns; the manual makes sentences of the same parts and adds the row's further
 * sentences. Words are collected first and laid out last.
 */
#include "base/opt.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 79, TEXT_BYTES = 2048 };

struct text {
    char s[TEXT_BYTES];
    size_t n;
};

static void add(struct text *t, const char *fmt, ...) CS_PRINTF(2, 3);
static void add(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    CS_BUG(n < 0 || (size_t)n >= sizeof t->s - t->n);    /* our own table, not input */
    t->n += (size_t)n;
}

static void add_name(struct text *t, const cs_optset *set, const cs_opt *o)
{
    add(t, "--%s%s%s", set->prefix ? set->prefix : "", set->prefix ? "." : "", o->name);
}

static void add_choices(struct text *t, const cs_opt *o)
{
    for (int i = 0; o->choice[i] != NULL; i++)
        add(t, "%s%s", i ? ", " : "", o->choice[i]);
}

/* Is the default worth showing? Not for flags and empty strings. */
static bool shows_default(const cs_opt *o)
{
    return o->def != NULL && o->def[0] != '\0' && o->type != CS_OPT_FLAG;
}

/* Print words from column HELP_COLUMN on; the cursor is at `column`. */
static void print_wrapped(const char *s, size_t column, FILE *out)
{
    bool first = true;

    for (size_t n; *(s += strspn(s, " ")) != '\0'; s += n) {
        n = strcspn(s, " ");
        if (!first && column + 1 + n > HELP_WIDTH) {
            (void)fprintf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (!first) {
            (void)fputc(' ', out);
            column++;
        }
        (void)fprintf(out, "%.*s", (int)n, s);
        column += n;
        first = false;
    }
    (void)fputc('\n', out);
}

static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
        const bool starts = p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '-');
        if (starts && !isalnum((unsigned char)p[n]) && p[n] != '-')
            return true;
    }
    return false;
}

/* Does a choice's help need the list of values? Not if it names each already. */
static bool lists_choices(const cs_opt *o)
{
    bool named = true;
    for (int i = 0; cs_opt_names(o) && named && o->choice[i] != NULL; i++)
        named = has_word(o->help, o->choice[i]);
    return !named;
}

/* A sentence begins with a capital, unless its first word is literal input. */
static char first_letter(const cs_opt *o)
{
    const size_t n = strcspn(o->help, " ,:;");

    for (int i = 0; cs_opt_names(o) && o->choice[i] != NULL; i++)
        if (strlen(o->choice[i]) == n && strncmp(o->choice[i], o->help, n) == 0)
            return o->help[0];
    return (char)toupper((unsigned char)o->help[0]);
}

static void help_row(const cs_optset *set, const cs_opt *o, FILE *out)
{
    struct text left = { .n = 0 }, right = { .n = 0 };

    if (o->letter != '\0')
        add(&left, "  -%c, ", o->letter);
    else
        add(&left, "      ");
    add_name(&left, set, o);
    if (o->arg != NULL)
        add(&left, o->type == CS_OPT_WHEN ? "[=%s]" : " %s", o->arg);
    add(&right, "%s", o->help);
    if (lists_choices(o)) {
        add(&right, ": ");
        add_choices(&right, o);
    }
    if (shows_default(o))
        add(&right, " [%s]", o->def);
    (void)fputs(left.s, out);
    if (left.n + 2 > HELP_COLUMN)
        (void)fprintf(out, "\n%*s", HELP_COLUMN, "");
    else
        (void)fprintf(out, "%*s", (int)(HELP_COLUMN - left.n), "");
    print_wrapped(right.s, HELP_COLUMN, out);
}

void cs_opt_help(const cs_optset *set, FILE *out)
{
    for (bool first = true; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++) {
            if (o->type == CS_OPT_GROUP)
                (void)fprintf(out, "%s%s:\n", first ? "" : "\n", o->name);
            else
                help_row(set, o, out);
            first = false;
        }
}

/* Print text for roff. Hyphens of words that begin with '-' are escaped, because roff prints
 * others as dashes, which cannot be searched or copied as options. */
static void print_roff(const char *s, FILE *out)
{
    bool start = true, option = false;

    for (const char *p = s; *p != '\0'; p++) {
        if (start)
            option = *p == '-';
        if (*p == '\\')
            (void)fputs("\\(rs", out);
        else if (*p == '-' && option)
            (void)fputs("\\-", out);
        else if (*p == '\'')
            (void)fputs("\\(aq", out);
        else if (*p == '.' && p == s)
            (void)fputs("\\&.", out);
        else
            (void)fputc(*p, out);
        start = strchr(" ('\"=,", *p) != NULL;
    }
}

static void man_row(const cs_optset *set, const cs_opt *o, FILE *out)
{
    struct text name = { .n = 0 }, body = { .n = 0 };

    (void)fputs(".TP\n", out);
    if (o->letter != '\0')
        (void)fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
    add_name(&name, set, o);
    (void)fputs("\\fB", out);
    print_roff(name.s, out);
    (void)fputs("\\fR", out);
    if (o->arg != NULL)
        (void)fprintf(out, o->type == CS_OPT_WHEN ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", o->arg);
    (void)fputc('\n', out);
    add(&body, "%c%s", first_letter(o), o->help + 1);
    if (lists_choices(o)) {
        add(&body, ": ");
        add_choices(&body, o);
    }
    add(&body, ".");
    if (o->man != NULL)
        add(&body, " %s", o->man);
    if (shows_default(o))
        add(&body, " Default: %s.", o->def);
    print_roff(body.s, out);
    (void)fputc('\n', out);
}

void cs_opt_man(const cs_optset *set, FILE *out)
{
    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++) {
            if (o->type == CS_OPT_GROUP) {
                (void)fputs(".SS ", out);
                print_roff(o->name, out);
                (void)fputc('\n', out);
            } else {
                man_row(set, o, out);
            }
        }
}
