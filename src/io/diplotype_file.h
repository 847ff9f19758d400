/* diplotype_file.h - random access to records of a diplotype text file. */
#ifndef CS_IO_DIPLOTYPE_FILE_H
#define CS_IO_DIPLOTYPE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_diplotype_file cs_diplotype_file;

/** cs_diplotype_file_detect - does a file begin like diplotype text? False also for unreadable
 * files */
bool cs_diplotype_file_detect(const char *path);

/**
 * cs_diplotype_file_open - read a file once and store its records' offsets
 *
 * path     diplotype text (chordseq-diplotype(5)), plain or BGZF, whose records have lines of one
 *          length except the last, as faidx requires
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with the line; CS_EUSAGE for gzip, which has no random access;
 *          CS_EMEM
 * Memory   some 40 bytes and the name per record
 */
int  cs_diplotype_file_open(const char *path, cs_diplotype_file **out) CS_MUST_CHECK;
/** cs_diplotype_file_free - accepts NULL */
void cs_diplotype_file_free(cs_diplotype_file *s);

/** cs_diplotype_file_count, cs_diplotype_file_name, cs_diplotype_file_length - number of records in
 * the file's order, their names, which may repeat, and their numbers of sites */
int         cs_diplotype_file_count(const cs_diplotype_file *s);
const char *cs_diplotype_file_name(const cs_diplotype_file *s, int i);
int64_t     cs_diplotype_file_length(const cs_diplotype_file *s, int i);

/** cs_diplotype_file_fetch - codes of sites [from, to) of record i into out. CS_OK; CS_EIO;
 * CS_EMEM */
int  cs_diplotype_file_fetch(cs_diplotype_file *s, int i, int64_t from, int64_t to, char *out)
    CS_MUST_CHECK;

#endif
