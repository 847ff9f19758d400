/* writer.h - records and answers to bytes: one interface over the output formats. */
#ifndef CS_IO_WRITER_H
#define CS_IO_WRITER_H

#include "base/file.h"
#include "base/opt.h"
#include "io/record.h"

/* What the columns or fields mean, told by the command before the first record. */
typedef struct cs_output_info {
    const char *const *label;    /* [n_label] class names, or target names for a regression */
    int         n_label;
    int         is_class;        /* answers are probabilities over the classes */
    int         all;             /* every probability, not just the best */
    const char *model_sum;       /* checksum of the model, for formats that carry provenance */
    const char *command_line;
} cs_output_info;

typedef struct cs_output cs_output;

typedef struct cs_writer {
    const char   *name, *summary;
    const cs_opt *opt;                                      /* or NULL */
    size_t        cfg_size;
    int (*begin)(cs_output *o);
    int (*record)(cs_output *o, const cs_record *r, const cs_answer *a);
    int (*end)(cs_output *o);                               /* flush; report what was lost */
} cs_writer;

struct cs_output {
    const cs_writer      *w;
    cs_outfile           *file;
    cs_output_info        info;
    void                 *cfg;      /* [w->cfg_size] the writer's options */
    void                 *state;    /* the writer's own; end() frees it */
    int                   begun;    /* has begin() been called? */
    uint64_t              n_record; /* written so far */
    uint64_t              n_reason[CS_N_REASON];
};

/** cs_output_open - path "-" or NULL: stdout. Writes nothing before cs_output_record() or
 * cs_output_close() */
int cs_output_open(const cs_writer *w, const char *path, const cs_output_info *info,
                   cs_output **out) CS_MUST_CHECK;
/** cs_output_record - one record, in input order */
int cs_output_record(cs_output *o, const cs_record *r, const cs_answer *a) CS_MUST_CHECK;
/** cs_output_close - header if nothing came, end, rename into place; frees o in every case */
int cs_output_close(cs_output *o) CS_MUST_CHECK;
/** cs_output_discard - remove what was begun; accepts NULL */
void cs_output_discard(cs_output *o);

/** cs_answer_best - index of the largest value, ties to the lowest index; -1 if there are no values
 * (every reason but CS_REASON_LOW_PROB) */
int cs_answer_best(const cs_answer *a);

#endif
