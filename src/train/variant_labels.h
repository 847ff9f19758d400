/* variant_labels.h - labelled variants from VCF or a table, as samples of two windows. */
#ifndef CS_TRAIN_VARIANT_LABELS_H
#define CS_TRAIN_VARIANT_LABELS_H

#include "base/opt.h"
#include "io/labels.h"
#include "io/variant_windows.h"
#include "train/dataset.h"

/* The default of --window-length. */
#define CS_VARIANT_WINDOW 1000

typedef struct cs_variant_args {
    int64_t     window;
    int         ends;
    cs_strlist  circular;
    const char *exons;
} cs_variant_args;
extern const cs_opt cs_variant_table[];    /* --window-length, --ends, --circular, --exons */

/* Source of labelled variants and labels. */
typedef struct cs_variant_labels {
    const char        *reference;
    const char        *key;      /* INFO keys of VCF and BCF, with commas, or NULL */
    const char        *split;    /* contig -> train, valid or skip, or NULL */
    const cs_strlist  *file;
    cs_window_opt      window;   /* length, ends, circular contigs */
    const char        *exons;    /* mark the nearest one of this file by upper case; or NULL */
    int                threads;
} cs_variant_labels;

/**
 * cs_variant_labels_read - read every labelled variant as an example: its reference window, then
 * its alternate one; a value per label, NaN if unknown
 *
 * Rows of one variant (the same contig, position, alleles and strand) are one example, in any
 * order. Contradicting labels are dropped. Windows of rows on strand '-' are reverse complements.
 * Examples of one contig are a group: they are never split.
 *
 * classes  receives the labels: INFO keys in their order, or the table's labels, sorted if all are
 *          numbers, else in order of occurrence
 * Returns  CS_OK with warnings about omitted rows; CS_EUSAGE, CS_EFORMAT, CS_EIO, CS_EMEM
 */
int cs_variant_labels_read(const cs_variant_labels *from, cs_dataset *d, cs_classes *classes)
    CS_MUST_CHECK;

#endif
