/* genome.h - contigs of several files, split into training and held-out parts. */
#ifndef CS_TRAIN_GENOME_H
#define CS_TRAIN_GENOME_H

#include "base/opt.h"
#include "io/diplotype.h"
#include "io/diplotype_file.h"
#include "io/reference.h"
#include "train/corpus.h"

/* A contig of FASTA, or record number `no` of diplotype text. */
typedef struct cs_contig {
    cs_reference      *file;     /* or NULL */
    cs_diplotype_file *sites;
    int                no;
    const char        *name;
    int64_t            n_base;
} cs_contig;

typedef struct cs_genome {
    cs_reference      **file;    /* [n_file] */
    cs_diplotype_file **sites;   /* [n_sites] */
    cs_contig          *contig;  /* [n] */
    int32_t             n;
    int                 n_file, n_sites;
    size_t              cap;
} cs_genome;

/**
 * cs_genome_open - FASTA files with their indices, and diplotype text; stores names and lengths
 *
 * alphabet the tokenizer's: diplotype text is refused for nucleotides
 * Returns  CS_OK (release with cs_genome_release); CS_EUSAGE if it is not a file; the errors of
 *          cs_reference_open() and cs_diplotype_file_open()
 */
int  cs_genome_open(const cs_strlist *path, cs_alphabet alphabet, cs_genome *g) CS_MUST_CHECK;
void cs_genome_release(cs_genome *g);

/** cs_genome_fetch - bases [from, to) of contig `no` into out; the arg is a cs_genome. Errors of
 * cs_reference_fetch() and cs_diplotype_file_fetch() */
int cs_genome_fetch(void *genome, int32_t no, int64_t from, int64_t to, char *out) CS_MUST_CHECK;

/* Contigs and regions for validation, or to exclude. A name matches a contig, and all whose names
 * continue with ':', such as pieces NAME:FROM-TO of one sequence. */
typedef struct cs_genome_split {
    const char *valid, *skip;    /* names with commas, or NULL */
    const char *valid_bed;       /* regions, or NULL */
    double      valid_frac;      /* without names and regions */
} cs_genome_split;

/**
 * cs_genome_share - assign every contig, or its parts, to one of two corpora
 *
 * Returns  CS_OK; CS_EUSAGE for a name that no contig has; the errors of reading the regions
 */
int cs_genome_share(const cs_genome *g, const cs_genome_split *split, cs_corpus *train,
                    cs_corpus *valid) CS_MUST_CHECK;

#endif
