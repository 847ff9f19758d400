/* command.h - a subcommand: one file in pipelines/, one line in registry.am. */
#ifndef CS_PIPELINES_COMMAND_H
#define CS_PIPELINES_COMMAND_H

#include "infer/args.h"
#include "run/about.h"

/* A parsed command line: argv[0] is the command's name, `set` holds the tables. */
typedef struct cs_command_line { int argc; char **argv; const cs_optset *set; } cs_command_line;

typedef struct cs_command {
    const char *name;            /* "classify" */
    const char *summary;         /* one line for `chordseq help` */
    const char *usage;           /* synopsis after the name: "[OPTIONS] [FILE...]" */
    const char *words;           /* blank-separated choices of the first operand; or NULL */
    const cs_optset *tables;     /* option tables, ends with {0}; NULL: options() fills them in */
    /* Fills `set` (space for CS_MAX_OPTSET rows, zeroed) with all tables, for --help and the
     * manual. */
    void      (*options)(cs_optset *set);
    /* Before parsing: fills `set` with the tables selected by argv. NULL: all tables */
    int       (*select)(cs_optset *set, int argc, char **argv);
    /* For --help: keeps in `set` the tables selected by argv, and returns a note on the others.
     * NULL: all are shown */
    const char *(*filter)(cs_optset *set, int argc, char **argv);
    cs_strlist *operands;        /* receives the operands; NULL: none are accepted */
    /* Returns CS_OK or an error with a message. */
    int       (*run)(const cs_command_line *cmdline);
    void      (*release)(void);  /* last, also after an error: frees what select() made; or NULL */
} cs_command;

/** cs_command_about - a command line with its inputs and model, for outputs; model may be NULL */
static inline cs_about cs_command_about(const cs_command_line *cmdline, const cs_strlist *input,
                                        const cs_model *model, const char *model_path)
{
    return (cs_about){ .command = cmdline->argv[0], .argc = cmdline->argc, .argv = cmdline->argv,
                       .set = cmdline->set, .input = input, .model = model,
                       .model_path = model_path };
}

extern cs_log_args cs_command_logs;        /* of cs_log_table, in the tables of every command */

/** cs_command_tables - all option tables of a command */
void cs_command_tables(const cs_command *cmd, cs_optset set[CS_MAX_OPTSET]);

/** cs_command_run - parse argv, run the command, free lists and operands. CS_OK, or an error with a
 * message */
int cs_command_run(const cs_command *cmd, int argc, char **argv) CS_MUST_CHECK;

#endif
