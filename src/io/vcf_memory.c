/* vcf_memory.c - memory that htslib takes to unpack and copy a record, which it does without checks
 * or ends the program for lack of it. */
#include <limits.h>
#include <string.h>

#include <htslib/kstring.h>
#include <htslib/vcf.h>

#include "base/mem.h"
#include "io/vcf_internal.h"

/* At least n elements in p, of which *cap are there. */
static bool grow_to(void **p, int *cap, size_t n, size_t size)
{
    if (n <= (size_t)*cap)
        return true;
    char *grown = n > INT_MAX ? NULL : cs_realloc(*p, n, size);
    if (!grown)
        return false;
    memset(grown + (size_t)*cap * size, 0, (n - (size_t)*cap) * size);
    *p = grown;
    *cap = (int)n;
    return true;
}

/* Each character of the texts and each filter is at least a byte of the record, and each text ends
 * by a NUL. */
int cs_vcf_reserve(void *record, int n_field)
{
    bcf1_t *b = record;
    bcf_dec_t *d = &b->d;
    const size_t n_text = b->shared.l + b->n_allele + 2;

    return grow_to((void **)&d->allele, &d->m_allele, b->n_allele, sizeof *d->allele)
        && grow_to((void **)&d->id, &d->m_id, n_text, 1)
        && grow_to((void **)&d->als, &d->m_als, n_text, 1)
        && grow_to((void **)&d->flt, &d->m_flt, b->shared.l + 1, sizeof *d->flt)
        && grow_to((void **)&d->info, &d->m_info, b->n_info + (size_t)n_field, sizeof *d->info)
        && grow_to((void **)&d->fmt, &d->m_fmt, b->n_fmt, sizeof *d->fmt) ? CS_OK : CS_EMEM;
}

int cs_vcf_copy(void *to, void *from)
{
    bcf1_t *a = to, *b = from;

    return a && ks_resize(&a->shared, b->shared.l) == 0 && ks_resize(&a->indiv, b->indiv.l) == 0
        && bcf_copy(a, b) ? CS_OK : CS_EMEM;
}
