/* test_opt.c - the option table: accepted values, messages of refusals, documentation. */
#include "tests/check.h"

#include "base/mem.h"
#include "base/opt.h"

struct main_opt {
    int verbose, quiet, format, index;
    int64_t threads, batch;
    double min_prob;
    const char *out, *regions;
    cs_strlist input;
};

struct encoder_opt {
    int64_t track;
};

static const char *const index_name[] = { "off", "auto", "csi", NULL };
static const char *const format_name[] = { "tsv", "jsonl", "vcf", NULL };

#define OFF(field) .off = offsetof(struct main_opt, field)

static const cs_opt main_table[] = {
    { .type = CS_OPT_GROUP, .name = "General" },
    { .type = CS_OPT_FLAG, .letter = 'v', .name = "verbose", OFF(verbose),
      .help = "say more; twice: even more" },
    { .type = CS_OPT_FLAG, .letter = 'q', .name = "quiet", OFF(quiet),
      .help = "print errors only" },
    { .type = CS_OPT_INT, .letter = 't', .name = "threads", OFF(threads), .arg = "NUM", .def = "4",
      .help = "threads for all stages together", .man = "Reading takes one of them.",
      .min = 1, .max = 64 },
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens", OFF(batch), .arg = "NUM",
      .def = "256k", .help = "tokens per batch; a longer sequence forms a batch of its own, "
      "whatever its length may be", .min = 1, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "min-prob", OFF(min_prob), .arg = "P", .def = "0.5",
      .help = "report no class below this", .man = "See 'a\\b' and --threads for in-depth help.",
      .min = 0, .max = 1 },
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", OFF(out), .arg = "FILE",
      .help = "write here instead of stdout" },
    { .type = CS_OPT_ENUM, .letter = 'f', .name = "format", OFF(format), .arg = "NAME",
      .def = "tsv", .help = "output format", .choice = format_name },
    { .type = CS_OPT_WHEN, .letter = 'W', .name = "write-index", OFF(index), .arg = "FORMAT",
      .def = "off", .help = "write an index", .choice = index_name },
    { .type = CS_OPT_IN, .letter = 'R', .name = "regions", OFF(regions), .arg = "FILE",
      .help = "restrict to these regions" },
    { .type = CS_OPT_INS, .letter = 'i', .name = "input", OFF(input), .arg = "FILE",
      .help = "another input; may be repeated" },
    { .type = CS_OPT_END }
};

static const cs_opt encoder_table[] = {
    { .type = CS_OPT_INT, .name = "track", .off = offsetof(struct encoder_opt, track),
      .arg = "NUM", .def = "16", .help = "channels per track" },
    { .type = CS_OPT_END }
};

static struct main_opt m;
static struct encoder_opt e;
static const cs_optset set[] = {
    { main_table, &m, NULL }, { encoder_table, &e, "encoder" }, { NULL, NULL, NULL }
};

static const char *rest[16];
static int n_rest;

static int reset(void **state)
{
    (void)state;
    cs_opt_release(set);
    cs_opt_defaults(set);
    cs_error_clear();
    cs_mem_fail_at(-1);
    return 0;
}

/* Parse words given as one string with single spaces between them. */
static int parse(const char *line)
{
    static char buf[1000];
    static char *argv[16];
    int argc = 1;

    argv[0] = buf;
    (void)snprintf(buf, sizeof buf, "chordseq %s", line);
    for (char *p = buf; (p = strchr(p, ' ')) != NULL; argc++) {
        *p++ = '\0';
        argv[argc] = p;
    }
    cs_error_clear();
    return cs_opt_parse(set, argc, argv, rest, &n_rest);
}

static void defaults(void **state)
{
    (void)state;
    assert_int_equal(cs_opt_check(set), CS_OK);
    assert_int_equal(m.verbose, 0);
    assert_int_equal(m.threads, 4);
    assert_int_equal(m.batch, 256000);
    assert_true(m.min_prob == 0.5);
    assert_null(m.out);
    assert_int_equal(m.format, 0);
    assert_int_equal(m.input.n, 0);
    assert_int_equal(e.track, 16);
}

static void every_spelling(void **state)
{
    static const char *const line[] = {
        "--threads 7", "--threads=7", "-t 7", "-t7", "-vvt7", "-vt 7 -v", "-t 3 -t 7",
    };

    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        cs_opt_defaults(set);
        assert_int_equal(parse(line[i]), CS_OK);
        assert_int_equal(m.threads, 7);
        assert_int_equal(m.verbose, strchr(line[i], 'v') != NULL ? 2 : 0);
        assert_int_equal(n_rest, 0);
    }
    assert_int_equal(parse("--encoder.track 8 -f vcf --output= --min-prob=1e-3 -B 1M"), CS_OK);
    assert_int_equal(e.track, 8);
    assert_int_equal(m.format, 2);
    assert_string_equal(m.out, "");
    assert_true(m.min_prob == 1e-3);
    assert_int_equal(m.batch, 1000000);
}

static void optional_values(void **state)
{
    static const struct { const char *line; int index, verbose; } row[] = {
        { "-W", 1, 0 }, { "--write-index", 1, 0 }, { "-W=csi", 2, 0 },
        { "--write-index=csi", 2, 0 },
        { "-Wv", 1, 1 }, { "-vW=csi", 2, 1 }, { "-W=csi -W=off", 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cs_opt_defaults(set);
        assert_int_equal(parse(row[i].line), CS_OK);
        assert_int_equal(m.index, row[i].index);
        assert_int_equal(m.verbose, row[i].verbose);
    }
    assert_int_equal(parse("-W csi"), CS_OK);   /* the next word is an operand */
    assert_int_equal(n_rest, 1);
    assert_int_equal(m.index, 1);
    assert_int_equal(parse("-W=bai"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "'bai' for option '-W': it takes one of off, auto"));
}

/* A table of commands has -@, of which -t is another letter. */
static void threads_by_t(void **state)
{
    static int64_t n;
    static const cs_opt at[] = {
        { .type = CS_OPT_INT, .letter = '@', .name = "threads", .arg = "NUM", .help = "threads" },
        { .type = CS_OPT_END }
    };
    static const cs_optset one[] = { { at, &n, NULL }, { NULL, NULL, NULL } };
    char name[] = "chordseq", letter[] = "-t", value[] = "3";
    char *argv[] = { name, letter, value };

    (void)state;
    assert_int_equal(cs_opt_parse(one, 3, argv, rest, &n_rest), CS_OK);
    assert_int_equal(n, 3);
}

static void operands_and_lists(void **state)
{
    (void)state;
    assert_int_equal(parse("a.fq -i x - -iy --input=z -o --quiet -- -t --threads"), CS_OK);
    assert_int_equal(n_rest, 4);
    assert_string_equal(rest[0], "a.fq");
    assert_string_equal(rest[1], "-");
    assert_string_equal(rest[2], "-t");
    assert_string_equal(rest[3], "--threads");
    assert_int_equal(m.input.n, 3);
    assert_string_equal(m.input.v[0], "x");
    assert_string_equal(m.input.v[1], "y");
    assert_string_equal(m.input.v[2], "z");
    assert_string_equal(m.out, "--quiet");      /* a value is stored as given */
    assert_int_equal(m.quiet, 0);
}

static void errors_give_reasons(void **state)
{
    static const struct { const char *line, *says; } row[] = {
        { "-t 0", "bad value '0' for option '-t': it takes a whole number from 1 to 64" },
        { "--threads 65", "bad value '65' for option '--threads': it takes a whole number from 1 "
          "to 64" },
        { "--threads=3.5", "bad value '3.5' for" }, { "-t 4x", "'4x'" }, { "-t=4", "'=4'" },
        { "-t 99999999999999999999", "'99999999999999999999'" },
        { "--threads=", "bad value ''" },
        { "-B 0", "suffix k, M, G or T from 1 to 1000000000000" }, { "-B 1kk", "'1kk'" },
        { "-B -1", "'-1'" }, { "-B 9999999999T", "'9999999999T'" }, { "-B 1.5M", "'1.5M'" },
        { "--min-prob nan", "'nan' for option '--min-prob': it takes a number from 0 to 1" },
        { "--min-prob 0x1p-1", "'0x1p-1'" }, { "--min-prob inf", "'inf'" },
        { "--min-prob 1.0001", "'1.0001'" }, { "--min-prob 1e999", "'1e999'" },
        { "-f xml", "bad value 'xml' for option '-f': it takes one of tsv, jsonl, vcf" },
        { "-f TSV", "'TSV'" }, { "-f ts", "'ts'" },
        { "--thread 4", "unknown option '--thread'; did you mean '--threads'?" },
        { "--frobnicate 4", "unknown option '--frobnicate'; --help lists them" },
        { "--track 4", "unknown option '--track'" },
        { "--encoder.heads 4", "unknown option '--encoder.heads'; --help" },
        { "--encoder.tracks 4", "did you mean '--encoder.track'?" },
        { "--encoder.threads 4", "unknown option" }, { "--encoder. 4", "unknown option" },
        { "--encoder 4", "unknown option" }, { "--= 4", "unknown option '--'" },
        { "-x", "unknown option '-x'; --help" }, { "-vx", "unknown option '-x'; --help" },
        { "-V", "unknown option '-V'; did you mean '-v' (--verbose)? --help lists them" },
        { "-threads 4", "'-threads' has one dash; did you mean '--threads'?" },
        { "-min-prob=1", "'-min-prob' has one dash; did you mean '--min-prob'?" },
        { "--quiet=1", "option '--quiet' takes no value, got '1'" },
        { "--threads", "option '--threads' needs a value (NUM)" },
        { "-vt", "option '-t' needs a value (NUM)" },
        { "-R a --regions=b", "option '--regions' takes one file, but is given two: 'a' and 'b'" },
        { "-R a -R -", "option '-R' takes one file, but is given two: 'a' and '-'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cs_opt_defaults(set);
        assert_int_equal(parse(row[i].line), CS_EUSAGE);
        if (strstr(cs_error_message(), row[i].says) == NULL)
            fail_msg("'%s' said: %s", row[i].line, cs_error_message());
        assert_int_equal(m.threads, 4);
        assert_true(m.min_prob == 0.5);
    }
}

static void one_file_twice(void **state)
{
    (void)state;
    assert_int_equal(parse("-R a --regions a -o x -o y"), CS_OK);
    assert_string_equal(m.regions, "a");
    assert_string_equal(m.out, "y");
}

static void unknown_options(void **state)
{
    (void)state;
    assert_int_equal(parse("--encoder.heads 4"), CS_EUSAGE);
    assert_string_equal(cs_opt_unknown(), "--encoder.heads");
    assert_int_equal(parse("--no-such=4"), CS_EUSAGE);
    assert_string_equal(cs_opt_unknown(), "--no-such");
    assert_int_equal(parse("-x"), CS_EUSAGE);
    assert_string_equal(cs_opt_unknown(), "");
    assert_true(cs_opt_has(set, "--threads") && cs_opt_has(set, "--encoder.track"));
    assert_false(cs_opt_has(set, "--track") || cs_opt_has(set, "--General"));
}

static void list_without_memory(void **state)
{
    (void)state;
    cs_mem_fail_at(1);
    assert_int_equal(parse("-i a -i b"), CS_EMEM);
    assert_int_equal(m.input.n, 1);
    assert_string_equal(m.input.v[0], "a");
}

static void number_parsers(void **state)
{
    int64_t i = 5;
    double d = 5;

    (void)state;
    assert_int_equal(cs_parse_int("-9223372036854775808", &i), CS_OK);
    assert_true(i == INT64_MIN);
    assert_int_equal(cs_parse_int("+12", &i), CS_OK);
    assert_int_equal(i, 12);
    assert_int_equal(cs_parse_size("3g", &i), CS_OK);
    assert_true(i == INT64_C(3000000000));
    assert_int_equal(cs_parse_size("10k", &i), CS_OK);
    assert_int_equal(i, 10000);
    assert_int_equal(cs_parse_size("9223372T", &i), CS_OK);
    assert_int_equal(cs_parse_size("9223373T", &i), CS_EUSAGE);
    assert_int_equal(cs_parse_size("1Ki", &i), CS_EUSAGE);
    assert_int_equal(cs_parse_bytes("3Gi", &i), CS_OK);
    assert_true(i == INT64_C(3) << 30);
    assert_int_equal(cs_parse_bytes("2M", &i), CS_OK);
    assert_int_equal(i, 2000000);
    assert_int_equal(cs_parse_bytes("8388608Ti", &i), CS_EUSAGE);
    assert_int_equal(cs_parse_bytes("1KiB", &i), CS_EUSAGE);
    assert_int_equal(cs_parse_real("-.5e-1", &d), CS_OK);
    assert_true(d == -0.05);
    assert_int_equal(cs_parse_real("5e-324", &d), CS_OK);      /* denormal, not an error */
    i = 5;
    d = 5;
    static const char *const bad[] = { "", " 1", "1 ", "--1", "+-1", "0x10", "1,0", "e", ".", "-" };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(cs_parse_int(bad[k], &i), CS_EUSAGE);
        assert_int_equal(cs_parse_size(bad[k], &i), CS_EUSAGE);
        assert_int_equal(cs_parse_real(bad[k], &d), CS_EUSAGE);
    }
    assert_int_equal(i, 5);
    assert_true(d == 5);
    assert_string_equal(cs_error_message(), "");
}

static void text_round_trip(void **state)
{
    static const struct { const char *name, *value, *text; } row[] = {
        { "threads", "64", "64" }, { "batch-tokens", "1048576", "1048576" },
        { "batch-tokens", "1000", "1000" }, { "batch-tokens", "2048k", "2048000" },
        { "min-prob", "0.1", "0.1" }, { "min-prob", "0.30000000000000004",
          "0.30000000000000004" }, { "format", "jsonl", "jsonl" }, { "output", "a b", "a b" },
        { "verbose", "3", "3" },
    };
    char buf[100];

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const cs_opt *o = cs_opt_find(main_table, row[i].name);
        assert_non_null(o);
        assert_int_equal(cs_opt_set(main_table, &m, row[i].name, row[i].value), CS_OK);
        assert_int_equal(cs_opt_text(o, &m, buf, sizeof buf), strlen(row[i].text));
        assert_string_equal(buf, row[i].text);
        /* A small buffer is filled; the return value is the full length. */
        assert_int_equal(cs_opt_text(o, &m, buf, 1), strlen(row[i].text));
        assert_string_equal(buf, "");
        char *value = cs_opt_value(o, &m);
        assert_string_equal(value, row[i].text);
        free(value);
    }
    cs_opt_defaults(set);
    assert_int_equal(cs_opt_text(cs_opt_find(main_table, "output"), &m, buf, sizeof buf), 0);
    assert_int_equal(cs_opt_text(cs_opt_find(main_table, "input"), &m, buf, sizeof buf), 0);
    assert_null(cs_opt_value(cs_opt_find(main_table, "output"), &m));
    assert_null(cs_opt_value(&main_table[0], &m));
    assert_int_equal(cs_opt_set(main_table, &m, "General", "1"), CS_EUSAGE);
    assert_string_equal(cs_error_message(), "unknown option 'General'");
    assert_null(cs_opt_find(main_table, "Output"));
}

/* Is a table of this row (and another, if any) refused with this message? */
static void assert_refused(cs_opt first, cs_opt second, const char *says)
{
    int64_t field[8] = { 0 };
    const cs_opt table[] = { first, second, { .type = CS_OPT_END } };
    const cs_optset one[] = { { table, field, NULL }, { NULL, NULL, NULL } };

    cs_error_clear();
    assert_int_equal(cs_opt_check(one), CS_EUSAGE);
    if (strstr(cs_error_message(), says) == NULL)
        fail_msg("expected '%s', got: %s", says, cs_error_message());
}

static void check_finds_faults(void **state)
{
    const cs_opt none = { .type = CS_OPT_END };
    const cs_opt good = { .type = CS_OPT_INT, .letter = 'a', .name = "alpha", .arg = "N",
                          .def = "1", .help = "a fragment", .min = 0, .max = 9 };
    cs_opt o;

    (void)state;
    o = good, o.name = "Alpha", assert_refused(o, none, "the name");
    o = good, o.name = "al_pha", assert_refused(o, none, "the name");
    o = good, o.letter = '-', assert_refused(o, none, "the letter");
    o = good, o.help = "A sentence", assert_refused(o, none, "the help");
    o = good, o.help = "a sentence.", assert_refused(o, none, "the help");
    o = good, o.help = NULL, assert_refused(o, none, "the help");
    o = good, o.def = "10", assert_refused(o, none, "the default");
    o = good, o.def = "x", assert_refused(o, none, "the default");
    o = good, o.arg = NULL, assert_refused(o, none, "placeholder");
    o = good, o.type = CS_OPT_FLAG, assert_refused(o, none, "placeholder");
    o = good, o.type = CS_OPT_ENUM, assert_refused(o, none, "a choice");
    o = good, o.type = CS_OPT_LIST, assert_refused(o, none, "a list");
    o = good, o.arg = "FILE", assert_refused(o, none, "a file is one that");
    o = good, o.same = CS_OPT_SAME_CONTENT, assert_refused(o, none, "compared by content");
    o = good, o.letter = 'b', assert_refused(good, o, "the name is taken");
    o = good, o.name = "beta", assert_refused(good, o, "the letter is taken");
    assert_refused((cs_opt){ .type = CS_OPT_GROUP, .name = "" }, good, "a title");
}

static void break_default(void *arg)
{
    const cs_opt table[] = { { .type = CS_OPT_INT, .name = "n", .arg = "N", .def = "x" },
                             { .type = CS_OPT_END } };
    const cs_optset one[] = { { table, arg, NULL }, { NULL, NULL, NULL } };

    cs_opt_defaults(one);
}

static void bad_default_is_a_bug(void **state)
{
    int64_t field;

    (void)state;
    assert_true(check_aborts(break_default, &field));
}

static char *printed(void (*print)(const cs_optset *, FILE *))
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    print(set, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void help_text(void **state)
{
    char *got = printed(cs_opt_help);

    (void)state;
    assert_string_equal(got,
        "General:\n"
        "  -v, --verbose             say more; twice: even more\n"
        "  -q, --quiet               print errors only\n"
        "  -t, --threads NUM         threads for all stages together [4]\n"
        "  -B, --batch-tokens NUM    tokens per batch; a longer sequence forms a batch\n"
        "                            of its own, whatever its length may be [256k]\n"
        "      --min-prob P          report no class below this [0.5]\n"
        "\n"
        "Output:\n"
        "  -o, --output FILE         write here instead of stdout\n"
        "  -f, --format NAME         output format: tsv, jsonl, vcf [tsv]\n"
        "  -W, --write-index[=FORMAT]\n"
        "                            write an index: off, auto, csi [off]\n"
        "  -R, --regions FILE        restrict to these regions\n"
        "  -i, --input FILE          another input; may be repeated\n"
        "      --encoder.track NUM   channels per track [16]\n");
    for (const char *line = got; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 79);
    free(got);
}

/* Choices are listed unless the text has each of them as a word of its own. */
static void choices_are_listed_once(void **state)
{
    static const char *const kind[] = { "own", "one", "none", NULL };
    static const struct { const char *help; bool listed; } text[] = {
        { "weights: own, one or none", false }, { "weights of their own", true },
        { "own, one-sided, none", true }, { "own or onerous, none", true }
    };
    int field = 0;

    (void)state;
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        const cs_opt row[] = {
            { .type = CS_OPT_ENUM, .name = "kind", .arg = "KIND", .def = "one",
              .help = text[i].help, .choice = kind },
            { .type = CS_OPT_END }
        };
        const cs_optset one[] = { { row, &field, NULL }, { NULL, NULL, NULL } };
        char *got = NULL;
        size_t n;
        FILE *f = open_memstream(&got, &n);
        assert_non_null(f);
        cs_opt_help(one, f);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(strstr(got, ": own, one, none [one]") != NULL, text[i].listed);
        free(got);
    }
}

static void manual_text(void **state)
{
    char *got = printed(cs_opt_man);

    (void)state;
    assert_non_null(strstr(got, ".SS General\n.TP\n\\fB\\-v\\fR, \\fB\\-\\-verbose\\fR\n"
                           "Say more; twice: even more.\n"));
    assert_non_null(strstr(got, ".TP\n\\fB\\-t\\fR, \\fB\\-\\-threads\\fR \\fINUM\\fR\n"
                           "Threads for all stages together. Reading takes one of them. "
                           "Default: 4.\n"));
    assert_non_null(strstr(got, "See \\(aqa\\(rsb\\(aq and \\-\\-threads for in-depth help."));
    assert_non_null(strstr(got, "\\fB\\-\\-encoder.track\\fR"));
    assert_non_null(strstr(got, "Output format: tsv, jsonl, vcf. Default: tsv.\n"));
    free(got);
}

/* A sentence begins with a capital, but a word to type is printed as typed. */
static void names_as_typed(void **state)
{
    static const char *const kind[] = { "adam", "adamw", NULL };
    static const cs_opt row[] = {
        { .type = CS_OPT_ENUM, .name = "a", .arg = "NAME", .def = "adam", .help = "adam or adamw",
          .choice = kind },
        { .type = CS_OPT_STR, .name = "b", .arg = "NAME", .off = sizeof(void *), .help = "the kind",
          .choice = kind },
        { .type = CS_OPT_END }
    };
    void *field[2];
    const cs_optset one[] = { { row, field, NULL }, { NULL, NULL, NULL } };
    char *got = NULL;
    size_t n;
    FILE *f = open_memstream(&got, &n);

    (void)state;
    assert_non_null(f);
    cs_opt_man(one, f);
    assert_int_equal(fclose(f), 0);
    assert_non_null(strstr(got, "\nadam or adamw. Default: adam.\n"));
    assert_non_null(strstr(got, "\nThe kind: adam, adamw.\n"));
    free(got);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(defaults, reset),
        cmocka_unit_test_setup(every_spelling, reset),
        cmocka_unit_test_setup(optional_values, reset),
        cmocka_unit_test_setup(threads_by_t, reset),
        cmocka_unit_test_setup(operands_and_lists, reset),
        cmocka_unit_test_setup(errors_give_reasons, reset),
        cmocka_unit_test_setup(one_file_twice, reset),
        cmocka_unit_test_setup(unknown_options, reset),
        cmocka_unit_test_setup(list_without_memory, reset),
        cmocka_unit_test_setup(number_parsers, reset),
        cmocka_unit_test_setup(text_round_trip, reset),
        cmocka_unit_test_setup(check_finds_faults, reset),
        cmocka_unit_test_setup(bad_default_is_a_bug, reset),
        cmocka_unit_test_setup(help_text, reset),
        cmocka_unit_test_setup(choices_are_listed_once, reset),
        cmocka_unit_test_setup(manual_text, reset),
        cmocka_unit_test(names_as_typed),
    };
    int n_failed = cmocka_run_group_tests(test, NULL, NULL);

    cs_opt_release(set);
    return n_failed;
}
