/* command.h - a subcommand: one file in pipelines/, one line in registry.am. */
#ifndef CS_PIPELINES_COMMAND_H
#define CS_PIPELINES_COMMAND_H

#include "base/opt.h"

typedef struct cs_command {
    const char *name;            /* "classify" */
    const char *summary;         /* one line for `chordseq help` */
    const char *usage;           /* synopsis after the name: "[OPTIONS] [FILE...]" */
    const char *words;           /* blank-separated choices of the first operand; or NULL */
    /* Fills `set` (space for CS_MAX_OPTSET rows, ends with {0}) with this command's option tables.
     * Called for parsing, --help and --man-options, so they cannot disagree. */
    void      (*options)(cs_optset *set);
    /* For --help: keeps in `set` the tables selected by argv, and returns a note on the others.
     * NULL: all are shown */
    const char *(*filter)(cs_optset *set, int argc, char **argv);
    /* argv[0] is the command's name. Returns CS_OK or an error with a message. */
    int       (*run)(int argc, char **argv);
} cs_command;

enum { CS_MAX_OPTSET = 64 };

#endif
