/* sites.h - random access to records of a diplotype text file. */
#ifndef CS_IO_SITES_H
#define CS_IO_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_sites cs_sites;

/** cs_sites_detect - does a file begin like diplotype text? False also for unreadable files */
bool cs_sites_detect(const char *path);

/**
 * cs_sites_open - read a file once and store its records' offsets
 *
 * path     diplotype text (chordseq-diplotype(5)), plain or BGZF, whose records have lines of one
 *          length except the last, as faidx requires
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with the line; CS_EUSAGE for gzip, which has no random access;
 *          CS_EMEM
 * Memory   some 40 bytes and the name per record
 */
int  cs_sites_open(const char *path, cs_sites **out) CS_MUST_CHECK;
/** cs_sites_free - accepts NULL */
void cs_sites_free(cs_sites *s);

/** cs_sites_count, cs_sites_name, cs_sites_length - number of records in the file's order, their
 * names, which may repeat, and their numbers of sites */
int         cs_sites_count(const cs_sites *s);
const char *cs_sites_name(const cs_sites *s, int i);
int64_t     cs_sites_length(const cs_sites *s, int i);

/** cs_sites_fetch - codes of sites [from, to) of record i into out. CS_OK; CS_EIO; CS_EMEM */
int  cs_sites_fetch(cs_sites *s, int i, int64_t from, int64_t to, char *out) CS_MUST_CHECK;

#endif
