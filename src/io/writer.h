/* writer.h - one interface to writers of all output formats. */
#ifndef CS_IO_WRITER_H
#define CS_IO_WRITER_H

#include <jansson.h>

#include "base/outfile.h"
#include "base/opt.h"
#include "io/prediction.h"
#include "io/taxonomy.h"

/* Meaning of columns or fields, set by the command before the first record. */
typedef struct cs_output_info {
    const char *const *label;    /* [n_label] class names, or target names for a regression */
    int         n_label;
    bool        is_class;        /* predictions are probabilities over the classes */
    bool        is_labels;       /* or one per label, not mutually exclusive */
    const char *model_sum;       /* checksum of the model, for formats that carry provenance */
    const char *command_line;
    const cs_taxonomy *taxonomy; /* taxonomy of the classes; NULL with values */
    bool        taxa;            /* calls may be taxa above the classes */
    const double *prior;         /* [n_label] logarithms of the shares of classes that
                                  * probabilities include, plus a constant; NULL: equal shares */
    const char *sample;          /* sample name in CAMI's formats */
    const char *about;           /* JSON object: versions, model, options; for the summary */
    const void *header;          /* sam_hdr_t of the inputs, or NULL: they have none */
    bool        several;         /* records of several inputs follow each other */
    const char *reference;       /* FASTA for CRAM, or NULL */
    int         threads;         /* extra ones for compression */
    bool        resumes;         /* the output may be continued by a later run */
    bool        wanted;          /* for check(): the output is written */
    const json_t *from;          /* result of cs_output_save() to continue from, or NULL */
    const void *cfg;             /* the writer's options, or NULL: their defaults */
} cs_output_info;

typedef struct cs_output cs_output;

enum { CS_WRITER_CFG = 64 };

/* The default of --sample. */
#define CS_USUAL_SAMPLE "sample"

typedef struct cs_writer {
    const char   *name;
    /* Options of classify: the first names the output's place; its field begins a struct of
     * cfg_size bytes (at most CS_WRITER_CFG). NULL: classify does not offer this output. */
    const cs_opt *opt;
    size_t        cfg_size;
    /* Do the options fit each other and the run? Also asked when the output is not wanted. May be
     * NULL */
    int (*check)(const void *cfg, const cs_output_info *info);
    int (*begin)(cs_output *o);                             /* NULL: no header */
    int (*record)(cs_output *o, const cs_record *r, const cs_prediction *a);
    int (*end)(cs_output *o);               /* NULL, or: flush; report errors */
    bool is_default;             /* standard output gets it if no other output per record does */
    bool per_record;             /* something for every record, unlike a report */
    bool names_sample;           /* the output states info->sample, or all options */
    bool joins;                  /* outputs of shards, joined, equal that of one run */
    bool for_classes;            /* for class predictions only */
    bool for_leaves;             /* and taxa above the classes cannot */
    bool for_nucleotides;        /* diplotypes cannot be written so */
    bool wants_native;           /* the input's alignments, in cs_record.native */
    cs_out_kind kind;            /* kind of content; 0: text */
    const char *holds;           /* its kind in io/content.h, or NULL for reports and tables */
    /* A writer of several files opens its own files in open(): path is a folder. commit() renames
     * the files completed by end(), and of a writer of one file those beside it; release() removes
     * the rest and frees the state, also if begin() was not called. NULL for others. */
    int  (*open)(cs_output *o);
    int  (*commit)(cs_output *o);
    void (*release)(cs_output *o);                          /* optional for others: frees state */
    /* Can a later run continue? Then save() returns the state in memory, and restore() reads it
     * instead of begin(); CS_EFORMAT if it is invalid, which needs no message. NULL: no state in
     * memory. sync() is called before: with several files it syncs all of them, with one it flushes
     * buffers of a library. It may be called before begin(). NULL: nothing buffered. */
    bool resumes;
    int  (*sync)(cs_output *o);
    json_t *(*save)(const cs_output *o);
    int     (*restore)(cs_output *o, const json_t *state);
} cs_writer;

struct cs_output {
    const cs_writer      *w;
    const char           *path;     /* as given; NULL: stdout */
    cs_outfile           *file;     /* NULL with a folder */
    cs_output_info        info;
    const void           *cfg;      /* [w->cfg_size] the writer's options */
    void                 *defaults; /* of these, where the command has none; or NULL */
    void                 *state;    /* the writer's own; release() or end() frees it */
    bool                  begun;    /* begin() has been called */
    bool                  finished; /* end() has been called, and all is on disk */
    uint64_t              n_record; /* written so far */
    uint64_t              n_reason[CS_N_REASON];
};

/** cs_output_open - path (kept) "-" or NULL: stdout. Writes nothing before cs_output_record() or
 * cs_output_close() */
int cs_output_open(const cs_writer *w, const char *path, const cs_output_info *info,
                   cs_output **out) CS_MUST_CHECK;
/** cs_output_path - where the writer's options put its output; NULL: it is not wanted */
const char *cs_output_path(const cs_writer *w, const void *cfg);
/** cs_output_check_sample - is info->sample a name for CAMI's formats? CS_OK, CS_EUSAGE */
int cs_output_check_sample(const cs_output_info *info) CS_MUST_CHECK;
/** cs_output_begin - write the header now, instead of with cs_output_record() or
 * cs_output_finish() */
int cs_output_begin(cs_output *o) CS_MUST_CHECK;
/** cs_output_record - one record, in input order */
int cs_output_record(cs_output *o, const cs_record *r, const cs_prediction *a) CS_MUST_CHECK;
/** cs_output_finish - header if there were no records, end, all written but not renamed; to be
 * followed by cs_output_close() or cs_output_discard() */
int cs_output_finish(cs_output *o) CS_MUST_CHECK;
/** cs_output_close - header if there were no records, end, rename into place; always frees o */
int cs_output_close(cs_output *o) CS_MUST_CHECK;
/** cs_output_discard - remove the temporary output; accepts NULL */
void cs_output_discard(cs_output *o);

/**
 * cs_output_save - sync the output, and return its state
 *
 * out      receives an object for info.from of a later run
 */
int cs_output_save(cs_output *o, json_t **out) CS_MUST_CHECK;

/** cs_prediction_taxon - the node called; -1: none */
int32_t cs_prediction_taxon(const cs_output_info *info, const cs_prediction *a);
/** cs_prediction_prob - the probability of the call, or of the best candidate; needs values */
double cs_prediction_prob(const cs_prediction *a);

enum { CS_LABEL_TEXT = 4096 };
/** cs_taxon_label - a node's name in outputs: a class by its name, others by lineage (by name if
 * the lineage exceeds buf). Returns buf or the class's name */
const char *cs_taxon_label(const cs_output_info *info, int32_t node, char buf[CS_LABEL_TEXT]);
/** cs_prediction_label - name of the call, or "unclassified"; also without a tree */
const char *cs_prediction_label(const cs_output_info *info, const cs_prediction *a,
                                char buf[CS_LABEL_TEXT]);

#endif
