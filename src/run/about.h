/* about.h - what a run is: command line, options, inputs and model, as text and as JSON. */
#ifndef CS_RUN_ABOUT_H
#define CS_RUN_ABOUT_H

#include <jansson.h>

#include "base/opt.h"
#include "nn/exec/model.h"

/* A run, for summaries, headers of outputs, journals and manifests. */
typedef struct cs_about {
    const char       *command;   /* "classify" */
    int               argc;
    char            **argv;      /* from the command's name on */
    const cs_optset  *set;       /* the command's tables */
    const cs_strlist *input;
    const cs_model   *model;
    const char       *model_path;
    const double     *prior;     /* as cs_prior_new() gives it; NULL: equal shares */
} cs_about;
/** cs_about_line - the command line with one blank between words; free() it */
char *cs_about_line(const cs_about *a);
/** cs_about_json - an object: versions, command, model, precision and kernels (which decide the
 * last digits), shares of classes, inputs, options; json_decref() it */
json_t *cs_about_json(const cs_about *a);
/** cs_about_summary - the same for a summary: its options include those with several values, such
 * as regions, but not files, which are inputs */
json_t *cs_about_summary(const cs_about *a);
/** cs_about_text - cs_about_summary() as text; free() it. NULL when out of memory */
char *cs_about_text(const cs_about *a);

#endif
