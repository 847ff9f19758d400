/* diplotype_file.c - random access to records of a diplotype text file.
 *
 * DESIGN: htslib's FASTA index cannot be used: it stops at the first line, and samples have several
 * records of one name. So the file is read once, which also validates it, and record offsets are
 * stored; for BGZF, htslib records block offsets while reading.
 */
#include "io/diplotype_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <htslib/bgzf.h>
#include <htslib/kstring.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/diplotype.h"

static const char magic[] = CS_DIPLOTYPE_MAGIC;

enum { GZIP = 1, BGZF_BLOCKS = 2 };      /* result of bgzf_compression() */

/* A record: its codes begin at `off`, `per` to a line of `stride` bytes. */
struct entry { char *name; int64_t n, off, per, stride; };

struct cs_diplotype_file {
    char         *path;
    BGZF         *fp;
    struct entry *entry;         /* [n] */
    size_t        n, cap;
    char         *raw;           /* fetched bytes, with line ends */
    size_t        cap_raw;
};

/* State of the first pass. */
struct scan {
    cs_diplotype_file *s;
    kstring_t line;
    int64_t   no;                /* of the line, from 1 */
    bool      last;              /* the record's present line must be its last */
    bool      is_code[256];
};

bool cs_diplotype_file_detect(const char *path)
{
    char head[sizeof magic - 1];
    BGZF *fp = bgzf_open(path, "r");

    if (!fp)
        return false;
    const bool are = bgzf_read(fp, head, sizeof head) == (ssize_t)sizeof head
                  && memcmp(head, magic, sizeof head) == 0;
    (void)bgzf_close(fp);
    return are;
}

static int sites_refuse(const struct scan *c, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s' line %lld: %s", c->s->path, (long long)c->no, what);
}

/* ---- the first pass -------------------------------------------------------------------------- */

static int add_entry(struct scan *c)
{
    cs_diplotype_file *s = c->s;
    const size_t n = strcspn(c->line.s + 1, " \t");

    for (size_t i = 0; i < c->line.l; i++)
        if ((unsigned char)c->line.s[i] < ' ' && c->line.s[i] != '\t')
            return sites_refuse(c, "a control character in the header of a record");
    if (s->n == INT_MAX
        || cs_try_grow((void **)&s->entry, &s->cap, s->n + 1, sizeof *s->entry) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the records of '%s'", s->path);
    s->entry[s->n] = (struct entry){ .name = cs_xmalloc(n + 1), .off = bgzf_utell(s->fp) };
    memcpy(s->entry[s->n].name, c->line.s + 1, n);
    s->entry[s->n++].name[n] = '\0';
    c->last = false;
    return CS_OK;
}

static int add_codes(struct scan *c, int64_t n_bytes)
{
    const int64_t n = (int64_t)c->line.l;

    if (c->s->n == 0)
        return sites_refuse(c, "a record must begin with '>'");
    struct entry *e = &c->s->entry[c->s->n - 1];
    for (int64_t i = 0; i < n; i++)
        if (!c->is_code[(unsigned char)c->line.s[i]])
            return cs_fail(CS_EFORMAT, "'%s' line %lld: byte 0x%02x is not a diplotype code",
                           c->s->path, (long long)c->no, (unsigned char)c->line.s[i]);
    if (e->n == 0) {
        e->per = n;
        e->stride = n_bytes;
    }
    if (c->last || n > e->per || (n == e->per && n_bytes > e->stride))
        return sites_refuse(c, "all lines of a record but the last must have the same length");
    c->last = n < e->per || n_bytes < e->stride;
    e->n += n;
    return CS_OK;
}

static int take_line(struct scan *c, int64_t n_bytes)
{
    static const char first[] = CS_DIPLOTYPE_HEAD;
    const size_t n_first = sizeof first - 1;

    if (c->no == 1)
        return c->line.l == n_first && memcmp(c->line.s, first, n_first) == 0 ? CS_OK
             : sites_refuse(c, "the header must be " CS_DIPLOTYPE_MAGIC ", a tab and 1");
    if (c->line.l > 0 && c->line.s[0] == '>')
        return add_entry(c);
    if (c->line.l > 0)
        return add_codes(c, n_bytes);
    c->last = true;
    return CS_OK;
}

static int scan(struct scan *c)
{
    int rc = CS_OK, r;
    BGZF *fp = c->s->fp;

    for (int64_t at = 0; (r = bgzf_getline(fp, '\n', &c->line)) >= 0;) {
        const int64_t end = bgzf_utell(fp);
        c->no++;
        CS_TRY(take_line(c, end - at));
        at = end;
    }
    if (r < -1)
        rc = cs_fail(CS_EFORMAT, "'%s' is truncated or damaged after line %lld", c->s->path,
                     (long long)c->no);
out:
    return rc;
}

int cs_diplotype_file_open(const char *path, cs_diplotype_file **out)
{
    int rc = CS_OK;
    cs_diplotype_file *s = cs_xcalloc(1, sizeof *s);
    struct scan c = { .s = s };

    *out = NULL;
    s->path = cs_xstrdup(path);
    s->fp = bgzf_open(path, "r");
    for (int i = 0; i < CS_N_DIPLOTYPE; i++)
        c.is_code[(unsigned char)cs_diplotype_codes[i]] = true;
    if (!s->fp)
        rc = cs_fail(CS_EIO, "cannot open '%s': %s", path, strerror(errno));
    else if (bgzf_compression(s->fp) == GZIP)
        rc = cs_fail(CS_EUSAGE, "'%s' is compressed by gzip, which has no random access; "
                     "decompress it, or compress it with bgzip", path);
    else if (bgzf_compression(s->fp) == BGZF_BLOCKS && bgzf_index_build_init(s->fp) != 0)
        rc = cs_fail(CS_EMEM, "out of memory for the blocks of '%s'", path);
    CS_TRY(rc);
    if (bgzf_compression(s->fp) == BGZF_BLOCKS && bgzf_check_EOF(s->fp) == 0)
        cs_warn("'%s' has no BGZF end marker; it may be truncated", path);
    rc = scan(&c);
out:
    ks_free(&c.line);
    if (rc == CS_OK)
        *out = s;
    else
        cs_diplotype_file_free(s);
    return rc;
}

void cs_diplotype_file_free(cs_diplotype_file *s)
{
    if (!s)
        return;
    if (s->fp)
        (void)bgzf_close(s->fp);     /* read only: nothing can be lost */
    for (size_t i = 0; i < s->n; i++)
        free(s->entry[i].name);
    CS_FREE(s->entry, s->raw, s->path, s);
}

/* ---- records --------------------------------------------------------------------------------- */

int cs_diplotype_file_count(const cs_diplotype_file *s)
{
    return (int)s->n;
}

const char *cs_diplotype_file_name(const cs_diplotype_file *s, int i)
{
    return s->entry[i].name;
}

int64_t cs_diplotype_file_length(const cs_diplotype_file *s, int i)
{
    return s->entry[i].n;
}

static int64_t place(const struct entry *e, int64_t site)
{
    return e->off + site / e->per * e->stride + site % e->per;
}

int cs_diplotype_file_fetch(cs_diplotype_file *s, int i, int64_t from, int64_t to, char *out)
{
    const struct entry *e = &s->entry[i];

    if (from >= to)
        return CS_OK;
    const int64_t at = place(e, from), n = place(e, to - 1) + 1 - at;
    if (cs_try_grow((void **)&s->raw, &s->cap_raw, (size_t)n, 1) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for %lld sites of '%s'", (long long)(to - from),
                       s->path);
    int64_t n_code = 0;
    bool good = bgzf_useek(s->fp, at, SEEK_SET) >= 0
             && bgzf_read(s->fp, s->raw, (size_t)n) == (ssize_t)n;
    /* A file that was changed since may have codes in place of line ends. */
    for (int64_t k = 0; good && k < n; k++) {
        if (s->raw[k] == '\n' || s->raw[k] == '\r')
            continue;
        good = n_code < to - from;
        if (good)
            out[n_code++] = s->raw[k];
    }
    return good && n_code == to - from ? CS_OK
         : cs_fail(CS_EIO, "'%s': cannot read '%s' from %lld to %lld; was it changed?", s->path,
                   e->name, (long long)from + 1, (long long)to);
}
