/* genome.h - contigs of several files, split into training and held-out parts. */
#ifndef CS_TRAIN_GENOME_H
#define CS_TRAIN_GENOME_H

#include "base/opt.h"
#include "io/diplotype.h"
#include "io/reference.h"
#include "io/sites.h"
#include "train/corpus.h"

/* A contig of FASTA, or a record of diplotype text, of which it is number `no`. */
typedef struct cs_contig {
    cs_reference *file;          /* or NULL */
    cs_sites     *sites;
    int           no;
    const char   *name;
    int64_t       n_base;
} cs_contig;

typedef struct cs_genome {
    cs_reference **file;         /* [n_file] */
    cs_sites     **sites;        /* [n_sites] */
    cs_contig     *contig;       /* [n] */
    int32_t        n;
    int            n_file, n_sites;
    size_t         cap;
} cs_genome;

/**
 * cs_genome_open - FASTA files with their indices, and diplotype text; names and lengths are kept
 *
 * alphabet what the tokenizer wants: diplotype text is refused where it is nucleotides
 * Returns  CS_OK (release with cs_genome_release); CS_EUSAGE for what is not a file; the errors of
 *          cs_reference_open() and cs_sites_open()
 */
int  cs_genome_open(const cs_strlist *path, cs_alphabet alphabet, cs_genome *g) CS_MUST_CHECK;
void cs_genome_release(cs_genome *g);

/** cs_genome_fetch - bases [from, to) of contig `no` into out; the arg is a cs_genome. Errors of
 * cs_reference_fetch() and cs_sites_fetch() */
int cs_genome_fetch(void *genome, int32_t no, int64_t from, int64_t to, char *out) CS_MUST_CHECK;

/* What is held out for validation, or left out. A name stands for a contig, or for all whose
 * names continue with ':' behind it, as pieces NAME:FROM-TO of one sequence do. */
typedef struct cs_genome_split {
    const char *valid, *skip;    /* names with commas, or NULL */
    const char *valid_bed;       /* regions, or NULL */
    double      valid_frac;      /* where neither names nor regions are given */
} cs_genome_split;

/**
 * cs_genome_share - every contig to one of two corpora, or part to each
 *
 * Returns  CS_OK; CS_EUSAGE for a name that no contig has; the errors of reading the regions
 */
int cs_genome_share(const cs_genome *g, const cs_genome_split *how, cs_corpus *train,
                    cs_corpus *valid) CS_MUST_CHECK;

#endif
