/* main.c - find and run the command, close and check stdout. */
#include <ctype.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/std_streams.h"
#include "base/suggest.h"
#include "base/system.h"
#include "io/inflate.h"
#include "io/io_init.h"
#include "io/prediction.h"
#include "io/variant_windows.h"
#include "kernels/backend.h"
#include "pipelines/command.h"
#include "registry.h"

/* Exit statuses, as chordseq(1) documents them. */
enum { EXIT_RUN = 1, EXIT_USE = 2 };

static void print_usage(FILE *out)
{
    fputs("Usage: chordseq COMMAND [OPTIONS] [ARGUMENTS]\n"
          "\n"
          "Classify and model DNA sequences of any length with neural networks.\n"
          "\n"
          "Commands:\n", out);
    const cs_command *cmd;
    for (int i = 0; (cmd = cs_command_at(i)) != NULL; i++)
        fprintf(out, "  %-10s %s\n", cmd->name, cmd->summary);
    fputs("  help       print this text, or the help of a command\n"
          "\n"
          "'chordseq COMMAND --help' lists a command's options; its manual page is\n"
          "chordseq-COMMAND(1). 'chordseq --version' prints the version.\n", out);
}

/* For chordseq.1, as --man-options of a command is for its page. */
static void print_man_commands(void)
{
    const cs_command *cmd;
    for (int i = 0; (cmd = cs_command_at(i)) != NULL; i++)
        printf(".TP\n.BR chordseq\\-%s (1)\n%s\n", cmd->name, cmd->summary);
}

/* For manual pages that list the reasons without a call. */
static void print_man_item(const char *name, const char *help)
{
    printf(".TP\n.B %s\n", name);
    for (; *help != '\0'; help++)
        printf(*help == '-' ? "\\-" : "%c", *help);
    putchar('\n');
}

static void print_man_reasons(void)
{
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++)
        print_man_item(cs_reason_name((cs_reason)r), cs_reason_help((cs_reason)r));
}

static void print_man_unscored(void)
{
    for (int u = CS_SCORED + 1; u < CS_N_UNSCORED; u++)
        print_man_item(cs_unscored_name((cs_unscored)u), cs_unscored_help((cs_unscored)u));
}

static void print_help(const cs_command *cmd, cs_optset *set, int argc, char **argv)
{
    const char *more = cmd->filter != NULL ? cmd->filter(set, argc, argv) : NULL;

    printf("Usage: chordseq %s %s\n\n%c%s.\n\n", cmd->name, cmd->usage,
           toupper((unsigned char)cmd->summary[0]), cmd->summary + 1);
    cs_opt_help(set, stdout);
    if (more != NULL)
        printf("\n%s\n", more);
}

static int unknown_command(const char *name)
{
    const cs_command *cmd;
    cs_suggest suggest = cs_suggest_begin(name);

    for (int i = 0; (cmd = cs_command_at(i)) != NULL; i++)
        cs_suggest_try(&suggest, cmd->name);
    cs_error("unknown command '%s'; %s'chordseq help' lists the commands", name,
             cs_suggest_hint(&suggest));
    return EXIT_USE;
}

/* "--" ends options: all words after it are files. */
static int has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0)
            return 1;
    return 0;
}

static int status_of(const cs_command *cmd, int rc)
{
    if (rc == CS_OK)
        return 0;
    if (rc == CS_ECANCEL && cs_signal_caught() == 0)
        return 0;               /* the reader of our output has closed it */
    if (rc == CS_ECANCEL) {
        /* Outputs are cleaned up: now end by the signal, so that a shell's loop ends, too. */
        signal(cs_signal_caught(), SIG_DFL);
        raise(cs_signal_caught());
    }
    const char *message = cs_error_message();
    cs_error("%s: %s", cmd->name, message[0] != '\0' ? message : cs_error_name(rc));
    return rc == CS_EUSAGE ? EXIT_USE : EXIT_RUN;
}

static void print_version(void)
{
    puts("chordseq " PACKAGE_VERSION);
}

static int run_command(const cs_command *cmd, int argc, char **argv)
{
    cs_optset set[CS_MAX_OPTSET] = { { 0 } };
    cs_command_tables(cmd, set);
    if (cs_opt_is_requested(set, argc, argv, "help", 'h')) {
        print_help(cmd, set, argc, argv);
        return 0;
    }
    if (cs_opt_is_requested(set, argc, argv, "version", '\0')) {
        print_version();
        return 0;
    }
    if (cs_opt_is_requested(set, argc, argv, "man-options", '\0')) {
        cs_opt_man(set, stdout);
        return 0;
    }
    cs_signal_init();
    cs_io_init();
    int rc = cs_cpu_init();
    if (rc == CS_OK)
        rc = cs_command_run(cmd, argc, argv);
    return status_of(cmd, rc);
}

/* Details of build and machine; the version itself stays one line for scripts. */
static void print_features(void)
{
    const char *kernels = cs_cpu_init() == CS_OK ? cs_cpu_kernels() : "portable";
    char reducer[256];

    printf("compiler  %s\n", __VERSION__);
    printf("htslib    %s\n", cs_io_library());
    printf("zlib      %s\n", ZLIB_VERSION);
    printf("bgzf by   %s\n", cs_inflater_name());
    printf("jansson   %s\n", JANSSON_VERSION);
#ifdef _OPENMP
    printf("openmp    %d\n", _OPENMP);
#else
    puts("openmp    no");
#endif
    printf("kernels   %s\n", kernels);
    printf("bf16      %s\n", cs_cpu_has(CS_CPU_BF16) ? "yes" : "no");
    printf("amx       %s\n", cs_cpu_has(CS_CPU_AMX) ? "yes" : "no");
    cs_reducer_about(reducer, sizeof reducer);
    printf("reducer   %s\n", reducer);
    printf("threads   %d\n", cs_cpu_count());
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        print_version();
        if (has_word(argc, argv, "--verbose"))
            print_features();
        return 0;
    }
    const bool help = strcmp(word, "help") == 0;
    if (asks_for_help(word) && (!help || argc == 2 || asks_for_help(argv[2]))) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(word, "--man-options") == 0) {
        print_man_commands();
        return 0;
    }
    if (strcmp(word, "--man-reasons") == 0) {
        print_man_reasons();
        return 0;
    }
    if (strcmp(word, "--man-unscored") == 0) {
        print_man_unscored();
        return 0;
    }
    const char *name = help ? argv[2] : word;
    const cs_command *cmd = cs_command_find(name);
    if (cmd == NULL)
        return unknown_command(name);
    if (help) {
        char *ask[] = { argv[2], (char[]){ "--help" } };
        return run_command(cmd, 2, ask);
    }
    return run_command(cmd, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    cs_std_streams_init();
    /* Callers of jansson need not check for memory: the program ends without. */
    json_set_alloc_funcs(cs_xmalloc, free);
    int status = cs_run_with_large_stack(dispatch, argc, argv);
    const int rc = cs_stdout_close();
    if (rc != CS_OK && rc != CS_ECANCEL && status == 0) {
        cs_error("%s", cs_error_message());
        status = EXIT_RUN;
    }
    return status;
}
