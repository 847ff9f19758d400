/*
 * fuzz_opt.c - options from arbitrary text: no crash; printed values parse to themselves.
 *
 * DESIGN
 * The input is lines. Each "NAME=VALUE" line goes to cs_opt_set(); after one that is accepted,
 * cs_opt_text() must give text that is accepted, too, and leaves the same value. All lines go to
 * cs_opt_parse() as words. Accepted values are in range; refusals have a message.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

struct fuzzed {
    int flag, choice;
    int64_t i, i_any, size, size_any;
    double real, real_any;
    const char *text;
    cs_strlist list;
};

#define OFF(field) .off = offsetof(struct fuzzed, field)

static const char *const choice_name[] = { "mean", "last", "none", NULL };

static const cs_opt table[] = {
    { .type = CS_OPT_GROUP, .name = "All types" },
    { .type = CS_OPT_FLAG, .letter = 'f', .name = "flag", OFF(flag), .help = "a flag" },
    { .type = CS_OPT_INT, .letter = 'i', .name = "int", OFF(i), .arg = "N", .def = "1",
      .help = "a number", .min = -5, .max = 1e6 },
    { .type = CS_OPT_INT, .name = "int-any", OFF(i_any), .arg = "N", .help = "a number" },
    { .type = CS_OPT_SIZE, .letter = 's', .name = "size", OFF(size), .arg = "N", .def = "2k",
      .help = "a size", .min = 1, .max = 1e15 },
    { .type = CS_OPT_SIZE, .name = "size-any", OFF(size_any), .arg = "N", .help = "a size" },
    { .type = CS_OPT_REAL, .letter = 'r', .name = "real", OFF(real), .arg = "X", .def = "0.5",
      .help = "a real", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "real-any", OFF(real_any), .arg = "X", .help = "a real" },
    { .type = CS_OPT_STR, .letter = 't', .name = "text", OFF(text), .arg = "T", .help = "a text" },
    { .type = CS_OPT_ENUM, .letter = 'c', .name = "choice", OFF(choice), .arg = "C",
      .def = "mean", .help = "a choice", .choice = choice_name },
    { .type = CS_OPT_LIST, .letter = 'l', .name = "list", OFF(list), .arg = "T",
      .help = "a list" },
    { .type = CS_OPT_END }
};

static void check_ranges(const struct fuzzed *v)
{
    CS_BUG(v->flag < 0);
    CS_BUG(v->i < -5 || v->i > 1000000);
    CS_BUG(v->size < 1 || v->size > INT64_C(1000000000000000) || v->size_any < 0);
    CS_BUG(!(v->real >= 0 && v->real <= 1) || !isfinite(v->real_any));
    CS_BUG(v->choice < 0 || v->choice > 2);
}

/* Does every byte of o's field agree? For STR the texts, not the pointers. */
static bool same_value(const cs_opt *o, const struct fuzzed *a, const struct fuzzed *b)
{
    const char *p = (const char *)a + o->off, *q = (const char *)b + o->off;

    switch (o->type) {
    case CS_OPT_FLAG:
    case CS_OPT_ENUM:
        return *(const int *)(const void *)p == *(const int *)(const void *)q;
    case CS_OPT_STR:
        return strcmp(a->text, b->text) == 0;
    default:
        return memcmp(p, q, 8) == 0;
    }
}

static void check_round_trip(const cs_opt *o, const struct fuzzed *v)
{
    struct fuzzed again = { 0 };
    int n = cs_opt_text(o, v, NULL, 0);

    CS_BUG(n < 0 || (n == 0 && o->type != CS_OPT_STR && o->type != CS_OPT_LIST));
    if (o->type == CS_OPT_LIST)
        return;
    char *text = cs_xmalloc((size_t)n + 1);
    CS_BUG(cs_opt_text(o, v, text, (size_t)n + 1) != n || strlen(text) != (size_t)n);
    CS_BUG(cs_opt_set(table, &again, o->name, text) != CS_OK);
    CS_BUG(!same_value(o, v, &again));
    free(text);
}

static void set_line(struct fuzzed *v, char *line)
{
    char *equals = strchr(line, '=');

    if (equals == NULL)
        return;
    *equals = '\0';
    cs_error_clear();
    int rc = cs_opt_set(table, v, line, equals + 1);
    CS_BUG(rc != CS_OK && rc != CS_EUSAGE);
    CS_BUG((rc == CS_OK) != (cs_error_message()[0] == '\0'));
    if (rc == CS_OK)
        check_round_trip(cs_opt_find(table, line), v);
    *equals = '=';
}

static void parse_words(const cs_optset *set, char **word, int n)
{
    const char **rest = cs_xcalloc((size_t)n, sizeof *rest);
    int n_rest;

    cs_error_clear();
    int rc = cs_opt_parse(set, n, word, rest, &n_rest);
    CS_BUG(rc != CS_OK && rc != CS_EUSAGE);
    CS_BUG((rc == CS_OK) != (cs_error_message()[0] == '\0'));
    CS_BUG(n_rest < 0 || n_rest >= n);
    free(rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct fuzzed v;
    const cs_optset set[] = { { table, &v, NULL }, { table, &v, "twice" }, { NULL, NULL, NULL } };
    char *text = cs_xmalloc(n_bytes + 1), *end = text + n_bytes;
    char **word = cs_xmalloc((n_bytes + 2) * sizeof *word);
    int n = 1;

    memcpy(text, data, n_bytes);
    *end = '\0';
    word[0] = text;
    cs_opt_defaults(set);
    for (char *line = text; line < end; line += strlen(line) + 1) {
        line[strcspn(line, "\n")] = '\0';
        word[n++] = line;
        set_line(&v, line);
        check_ranges(&v);
    }
    parse_words(set, word, n);
    check_ranges(&v);
    for (const cs_opt *o = table; o->type != CS_OPT_END; o++)
        if (o->type != CS_OPT_GROUP && (o->type != CS_OPT_STR || v.text != NULL))
            check_round_trip(o, &v);
    CS_BUG(cs_opt_value(&(cs_opt){ .type = CS_OPT_GROUP, .name = "heading" }, NULL) != NULL);
    cs_error_clear();
    /* Both sets refer to one struct, so one of them releases it. */
    const cs_optset one[] = { { table, &v, NULL }, { NULL, NULL, NULL } };
    cs_opt_release(one);
    free(word);
    free(text);
    return 0;
}
