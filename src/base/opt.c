/*
 * opt.c - parse, print and check options from their table.
 *
 * DESIGN
 * All values pass set_field(): argv, defaults, presets, model files. So the documented default is
 * the actual one, and the output of cs_opt_text() is parsed by the same code as the user's words. A
 * message about a bad value states the valid ones.
 */
#include "base/opt.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/path_conflicts.h"

enum { NAME_BYTES = 160, TAKES_BYTES = 512 };

static bool has_field(const cs_opt *o)
{
    return o->type != CS_OPT_END && o->type != CS_OPT_GROUP;
}

const char *const cs_opt_auto[] = { "auto", NULL };

static void *field_of(const cs_opt *o, void *base)
{
    return (char *)base + o->off;
}

static bool is_choice(const cs_opt *o)
{
    return o->type == CS_OPT_ENUM || o->type == CS_OPT_WHEN;
}

static bool in_range(const cs_opt *o, double v)
{
    return !(o->min < o->max) || (v >= o->min && v <= o->max);
}

/* Has one of its numbers a name, such as auto? */
static bool has_named_number(const cs_opt *o)
{
    return (o->type == CS_OPT_SIZE || o->type == CS_OPT_REAL) && o->choice != NULL;
}

/* "a whole number from 1 to 64": the end of the message about a bad value. */
static void format_type(const cs_opt *o, char *buf, size_t size)
{
    static const char *const what[] = {
        [CS_OPT_FLAG] = "a count", [CS_OPT_INT] = "a whole number",
        [CS_OPT_SIZE] = "a whole number with an optional suffix k, M, G or T",
        [CS_OPT_BYTES] = "a whole number with an optional suffix k, M, G, T, Ki, Mi, Gi or Ti",
        [CS_OPT_REAL] = "a number", [CS_OPT_ENUM] = "one of", [CS_OPT_WHEN] = "one of",
    };
    size_t n = (size_t)snprintf(buf, size, "%s%s%s", has_named_number(o) ? o->choice[0] : "",
                                has_named_number(o) ? " or " : "", what[o->type]);

    if (is_choice(o)) {
        for (int i = 0; o->choice[i] != NULL && n < size; i++)
            n += (size_t)snprintf(buf + n, size - n, "%s %s", i ? "," : "", o->choice[i]);
    } else if (o->type != CS_OPT_FLAG && o->min < o->max) {
        (void)snprintf(buf + n, size - n, " from %.15g to %.15g", o->min, o->max);
    }
}

int cs_strlist_add(cs_strlist *l, const char *text)
{
    /* Capacity is the next power of two, so it needs no field of its own. */
    if ((l->n & (l->n - 1)) == 0) {
        size_t cap = l->n == 0 ? 1 : 2 * (size_t)l->n;
        const char **v = cs_realloc(l->v, cap, sizeof *v);
        if (v == NULL)
            return cs_fail(CS_EMEM, "out of memory for a list of %zu names", cap);
        l->v = v;
    }
    l->v[l->n++] = text;
    return CS_OK;
}

static int set_enum(const cs_opt *o, int *field, const char *text)
{
    for (int i = 0; o->choice[i] != NULL; i++)
        if (strcmp(o->choice[i], text) == 0) {
            *field = i;
            return CS_OK;
        }
    return CS_EUSAGE;
}

/* Write `text` into o's field. CS_EUSAGE without a message for an invalid value. */
static int set_field(const cs_opt *o, void *base, const char *text)
{
    void *field = field_of(o, base);
    int64_t i;
    double d;

    switch (o->type) {
    case CS_OPT_FLAG:
        if (cs_parse_int(text, &i) != CS_OK || i < 0 || i > INT_MAX)
            return CS_EUSAGE;
        *(int *)field = (int)i;
        return CS_OK;
    case CS_OPT_INT:
    case CS_OPT_SIZE:
    case CS_OPT_BYTES:
        if (o->choice && strcmp(o->choice[0], text) == 0) {
            *(int64_t *)field = 0;
            return CS_OK;
        }
        if ((o->type == CS_OPT_INT ? cs_parse_int : o->type == CS_OPT_SIZE ? cs_parse_size
             : cs_parse_bytes)(text, &i) != CS_OK || !in_range(o, (double)i))
            return CS_EUSAGE;
        *(int64_t *)field = i;
        return CS_OK;
    case CS_OPT_REAL:
        if (o->choice && strcmp(o->choice[0], text) == 0) {
            *(double *)field = -1;
            return CS_OK;
        }
        if (cs_parse_real(text, &d) != CS_OK || !in_range(o, d))
            return CS_EUSAGE;
        *(double *)field = d;
        return CS_OK;
    case CS_OPT_STR:
    case CS_OPT_IN:
    case CS_OPT_OUT:
        *(const char **)field = text;
        return CS_OK;
    case CS_OPT_ENUM:
    case CS_OPT_WHEN:
        return set_enum(o, field, text);
    case CS_OPT_LIST:
    case CS_OPT_INS:
        return cs_strlist_add(field, text);
    case CS_OPT_END:
    case CS_OPT_GROUP:
        break;
    }
    return CS_EUSAGE;
}

/* set_field(), with a message. `shown` is the option as the user wrote it. */
static int set_shown(const cs_opt *o, void *base, const char *shown, const char *text)
{
    char takes[TAKES_BYTES];
    int rc = set_field(o, base, text);

    if (rc != CS_EUSAGE)
        return rc;
    format_type(o, takes, sizeof takes);
    return cs_fail(CS_EUSAGE, "bad value '%s' for option '%s': it takes %s", text, shown, takes);
}

static void set_nothing(const cs_opt *o, void *base)
{
    void *field = field_of(o, base);

    switch (o->type) {
    case CS_OPT_FLAG:
    case CS_OPT_ENUM:
    case CS_OPT_WHEN:
        *(int *)field = 0;
        break;
    case CS_OPT_INT:
    case CS_OPT_SIZE:
    case CS_OPT_BYTES:
        *(int64_t *)field = 0;
        break;
    case CS_OPT_REAL:
        *(double *)field = 0;
        break;
    case CS_OPT_STR:
    case CS_OPT_IN:
    case CS_OPT_OUT:
        *(const char **)field = NULL;
        break;
    case CS_OPT_LIST:
    case CS_OPT_INS:
        *(cs_strlist *)field = (cs_strlist){ NULL, 0 };
        break;
    case CS_OPT_END:
    case CS_OPT_GROUP:
        break;
    }
}

void cs_opt_defaults(const cs_optset *set)
{
    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++) {
            if (!has_field(o))
                continue;
            set_nothing(o, set->base);
            CS_BUG(o->def != NULL && set_field(o, set->base, o->def) != CS_OK);
        }
}

void *cs_opt_new(const cs_opt *opt, size_t n_bytes)
{
    void *base = cs_xcalloc(1, n_bytes + 1);

    if (opt)
        cs_opt_defaults((const cs_optset[]){ { opt, base, NULL }, { 0 } });
    return base;
}

const cs_opt *cs_opt_find(const cs_opt *opt, const char *name)
{
    for (const cs_opt *o = opt; o->type != CS_OPT_END; o++)
        if (has_field(o) && strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

int cs_opt_set(const cs_opt *opt, void *base, const char *name, const char *value)
{
    const cs_opt *o = cs_opt_find(opt, name);

    if (o == NULL)
        return cs_fail(CS_EUSAGE, "unknown option '%s'", name);
    return set_shown(o, base, name, value);
}

static int real_text(double v, char *buf, size_t n_buf)
{
    char text[40];
    int n = 0;

    /* The fewest digits that read back as the same number; 17 always do. More for one that has
     * an exponent only for want of digits: 10, not 1e+01. */
    for (int digits = 1; digits <= 17; digits++) {
        n = snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v && (strstr(text, "e+") == NULL || fabs(v) >= 1e15))
            break;
    }
    (void)snprintf(buf, n_buf, "%s", text);
    return n;
}

static int bytes_text(int64_t v, char *buf, size_t n_buf)
{
    static const char *const suffix[] = { "", "Ki", "Mi", "Gi", "Ti" };
    int i = 0;

    for (; v != 0 && v % 1024 == 0 && i < 4; i++)
        v /= 1024;
    return snprintf(buf, n_buf, "%lld%s", (long long)v, suffix[i]);
}

int cs_opt_text(const cs_opt *o, const void *base, char *buf, size_t n_buf)
{
    const void *field = base ? (const char *)base + o->off : NULL;    /* NULL: headings alone */
    const char *s;

    if (n_buf > 0)
        buf[0] = '\0';
    switch (o->type) {
    case CS_OPT_FLAG:
        return snprintf(buf, n_buf, "%d", *(const int *)field);
    case CS_OPT_INT:
        return snprintf(buf, n_buf, "%lld", (long long)*(const int64_t *)field);
    case CS_OPT_SIZE:
        if (o->choice && *(const int64_t *)field == 0)
            return snprintf(buf, n_buf, "%s", o->choice[0]);
        /* Without a suffix: in a model's file it has to be one number for every version. */
        return snprintf(buf, n_buf, "%lld", (long long)*(const int64_t *)field);
    case CS_OPT_BYTES:
        return bytes_text(*(const int64_t *)field, buf, n_buf);
    case CS_OPT_REAL:
        if (o->choice && *(const double *)field < 0)
            return snprintf(buf, n_buf, "%s", o->choice[0]);
        return real_text(*(const double *)field, buf, n_buf);
    case CS_OPT_STR:
    case CS_OPT_IN:
    case CS_OPT_OUT:
        s = *(const char *const *)field;
        return s == NULL ? 0 : snprintf(buf, n_buf, "%s", s);
    case CS_OPT_ENUM:
    case CS_OPT_WHEN:
        return snprintf(buf, n_buf, "%s", o->choice[*(const int *)field]);
    case CS_OPT_LIST:
    case CS_OPT_INS:
    case CS_OPT_END:
    case CS_OPT_GROUP:
        break;
    }
    return 0;
}

char *cs_opt_value(const cs_opt *o, const void *base)
{
    const int n = cs_opt_text(o, base, NULL, 0);
    char *text = n > 0 ? cs_xmalloc((size_t)n + 1) : NULL;

    if (text)
        (void)cs_opt_text(o, base, text, (size_t)n + 1);
    return text;
}

static int add_path_of(const cs_opt *o, void *field)
{
    int rc = CS_OK;
    const char *const *one = field;
    const cs_strlist *list = field;

    if (!cs_opt_is_list(o))
        return *one == NULL ? CS_OK
             : o->type == CS_OPT_IN ? cs_paths_add_input(*one) : cs_paths_add_output(*one);
    for (int i = 0; rc == CS_OK && i < list->n; i++)
        rc = cs_paths_add_input(list->v[i]);
    return rc;
}

int cs_opt_add_paths(const cs_optset *set)
{
    int rc = CS_OK;

    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; rc == CS_OK && o->type != CS_OPT_END; o++)
            if (cs_opt_names_file(o))
                rc = add_path_of(o, field_of(o, set->base));
    return rc;
}

void cs_opt_release(const cs_optset *set)
{
    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (cs_opt_is_list(o)) {
                cs_strlist *l = field_of(o, set->base);
                free(l->v);
                *l = (cs_strlist){ NULL, 0 };
            }
}

/* Where an option was found: its row and the struct it writes to. */
struct found {
    const cs_opt *o;
    void *base;
};

/* `name` has `n` characters and no leading dashes: "encoder.track". */
static struct found find_long(const cs_optset *set, const char *name, size_t n)
{
    for (; set->opt != NULL; set++) {
        const char *s = name;
        size_t rest = n, n_prefix = set->prefix != NULL ? strlen(set->prefix) : 0;
        if (set->prefix != NULL) {
            if (n <= n_prefix || strncmp(name, set->prefix, n_prefix) != 0
                || name[n_prefix] != '.')
                continue;
            s += n_prefix + 1;
            rest -= n_prefix + 1;
        }
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (has_field(o) && strlen(o->name) == rest && memcmp(o->name, s, rest) == 0)
                return (struct found){ o, set->base };
    }
    return (struct found){ NULL, NULL };
}

static struct found own_letter(const cs_optset *set, char letter)
{
    for (; set->opt != NULL; set++)
        for (const cs_opt *o = set->opt; o->type != CS_OPT_END; o++)
            if (has_field(o) && o->letter != '\0' && o->letter == letter)
                return (struct found){ o, set->base };
    return (struct found){ NULL, NULL };
}

/* -t sets the threads, too, as in minimap2. */
static struct found find_letter(const cs_optset *set, char letter)
{
    const struct found f = own_letter(set, letter);

    return f.o != NULL || letter != 't' ? f : own_letter(set, '@');
}

/* The remaining words. */
struct words { char **v; int n, i; };

static int need_value(const cs_opt *o, const char *shown, struct words *w, const char **value)
{
    if (w->i + 1 >= w->n)
        return cs_fail(CS_EUSAGE, "option '%s' needs a value (%s)", shown, o->arg);
    *value = w->v[++w->i];
    return CS_OK;
}

static int count_flag(struct found f, const char *shown)
{
    int *n = field_of(f.o, f.base);

    if (*n < INT_MAX)
        ++*n;
    return cs_opt_mark_given(f.o, n, shown, NULL);
}

static int set_given(struct found f, const char *shown, const char *text)
{
    const int rc = cs_opt_mark_given(f.o, field_of(f.o, f.base), shown, text);

    return rc == CS_OK ? set_shown(f.o, f.base, shown, text) : rc;
}

static int parse_long(const cs_optset *set, struct words *w)
{
    const char *word = w->v[w->i], *name = word + 2;
    size_t n = strcspn(name, "=");
    const char *value = name[n] == '=' ? name + n + 1 : NULL;
    char shown[NAME_BYTES];
    struct found f = find_long(set, name, n);
    int rc = CS_OK;

    (void)snprintf(shown, sizeof shown, "--%.*s", n < NAME_BYTES ? (int)n : NAME_BYTES, name);
    if (f.o == NULL)
        return cs_opt_fail_unknown(set, shown);
    if (f.o->type == CS_OPT_FLAG) {
        if (value != NULL)
            return cs_fail(CS_EUSAGE, "option '%s' takes no value, got '%s'", shown, value);
        return count_flag(f, shown);
    }
    if (value == NULL && f.o->type == CS_OPT_WHEN)
        value = f.o->choice[1];
    if (value == NULL)
        CS_TRY(need_value(f.o, shown, w, &value));
    CS_TRY(set_given(f, shown, value));
out:
    return rc;
}

/* -v, -vvq, -t4, -t 4, -vt4: flags share a word, the first option with a value takes the rest. */
static int parse_letters(const cs_optset *set, struct words *w)
{
    int rc = CS_OK;
    const char *word = w->v[w->i];
    const size_t n = strcspn(word + 1, "=");

    if (find_long(set, word + 1, n).o != NULL)
        return cs_fail(CS_EUSAGE, "'%.*s' has one dash; did you mean '-%.*s'?", (int)n + 1, word,
                       (int)n + 1, word);
    for (const char *p = word + 1; *p != '\0'; p++) {
        char shown[] = { '-', *p, '\0' };
        struct found f = find_letter(set, *p);
        const char *value = p + 1;
        if (f.o == NULL)
            return cs_opt_fail_unknown(set, shown);
        if (f.o->type == CS_OPT_FLAG) {
            CS_TRY(count_flag(f, shown));
            continue;
        }
        if (f.o->type == CS_OPT_WHEN && *value != '=') {
            CS_TRY(set_given(f, shown, f.o->choice[1]));
            continue;
        }
        value += f.o->type == CS_OPT_WHEN;
        if (*value == '\0')
            CS_TRY(need_value(f.o, shown, w, &value));
        return set_given(f, shown, value);
    }
out:
    return rc;
}

int cs_opt_parse(const cs_optset *set, int argc, char **argv, const char **rest, int *n_rest)
{
    struct words w = { argv, argc, 1 };
    bool ended = false;
    int rc = CS_OK;

    *n_rest = 0;
    for (; w.i < argc; w.i++) {
        const char *word = argv[w.i];
        if (ended || word[0] != '-' || word[1] == '\0')
            rest[(*n_rest)++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (word[1] == '-')
            CS_TRY(parse_long(set, &w));
        else
            CS_TRY(parse_letters(set, &w));
    }
out:
    return rc;
}

/* Is `letter` an option in this word of letters? `takes`: an option of it takes the next word. */
static bool letters_ask(const cs_optset *set, const char *word, char letter, bool *takes)
{
    for (const char *p = word + 1; *p != '\0'; p++) {
        const struct found f = find_letter(set, *p);
        if (*p == letter)
            return true;
        if (f.o != NULL && !cs_opt_takes_word(f.o) && p[1] != '=')
            continue;
        *takes = f.o != NULL && p[1] == '\0';
        return false;
    }
    return false;
}

bool cs_opt_is_requested(const cs_optset *set, int argc, char **argv, const char *name, char letter)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        bool takes = false;
        if (word[0] != '-')
            continue;
        if (word[1] != '-' && letters_ask(set, word, letter, &takes))
            return true;
        if (word[1] == '-' && strcmp(word + 2, name) == 0)
            return true;
        if (word[1] == '-') {
            const struct found f = find_long(set, word + 2, strlen(word + 2));
            takes = f.o != NULL && cs_opt_takes_word(f.o);
        }
        i += takes;
    }
    return false;
}

static bool is_long_name(const char *s)
{
    return s != NULL && islower((unsigned char)*s)
        && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

/* A fragment starts lower-case (an acronym or a number may stand first) and has no full stop. */
static bool is_fragment(const char *s)
{
    if (s == NULL || *s == '\0' || isspace((unsigned char)*s))
        return false;
    if (isupper((unsigned char)s[0]) && !isupper((unsigned char)s[1]))
        return false;
    return s[strlen(s) - 1] != '.';
}

static const char *row_fault(const cs_opt *o)
{
    union { int i; int64_t n; double d; const char *s; } scratch;
    cs_opt row = *o;

    if (!is_long_name(o->name))
        return "the name is not made of a-z, 0-9 and '-'";
    if (o->letter != '\0' && !isalnum((unsigned char)o->letter))
        return "the letter is not a letter or digit";
    if (o->letter == 'h')
        return "the letter h asks for help";
    if (!is_fragment(o->help))
        return "the help is not a lower-case fragment without full stop";
    if ((o->arg == NULL) != (o->type == CS_OPT_FLAG))
        return "a flag has no placeholder, every other option has one";
    if (is_choice(o) && (o->choice == NULL || o->def == NULL))
        return "a choice needs its names and a default";
    if (cs_opt_is_list(o) && o->def != NULL)
        return "a list has no default";
    if (o->arg != NULL && strstr(o->arg, "FILE") != NULL && !cs_opt_names_file(o))
        return "a file is one that is read or one that is written";
    if (o->same == CS_OPT_SAME_CONTENT && o->type != CS_OPT_IN)
        return "only one input file is compared by content";
    row.off = 0;
    if (o->def != NULL && set_field(&row, &scratch, o->def) != CS_OK)
        return "the default does not parse or is out of range";
    return NULL;
}

/* Is there a row before `o` (in table order) with its name or letter? */
static const char *clash(const cs_optset *all, const cs_optset *mine, const cs_opt *o)
{
    char name[NAME_BYTES];
    int n = mine->prefix != NULL ? snprintf(name, sizeof name, "%s.%s", mine->prefix, o->name)
                                 : snprintf(name, sizeof name, "%s", o->name);

    if ((size_t)n >= sizeof name)
        return "the name is too long";
    if (find_long(all, name, (size_t)n).o != o)
        return "the name is taken";
    if (o->letter != '\0' && find_letter(all, o->letter).o != o)
        return "the letter is taken";
    return NULL;
}

int cs_opt_check(const cs_optset *set)
{
    for (const cs_optset *s = set; s->opt != NULL; s++)
        for (const cs_opt *o = s->opt; o->type != CS_OPT_END; o++) {
            const char *fault = NULL;
            if (has_field(o) && (fault = row_fault(o)) == NULL)
                fault = clash(set, s, o);
            else if (o->type == CS_OPT_GROUP && (o->name == NULL || *o->name == '\0'))
                fault = "a group needs a title";
            if (fault != NULL)
                return cs_fail(CS_EUSAGE, "option '%s%s%s': %s", s->prefix ? s->prefix : "",
                               s->prefix ? "." : "", o->name ? o->name : "", fault);
        }
    return CS_OK;
}
