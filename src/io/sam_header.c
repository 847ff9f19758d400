/* sam_header.c - one header for the alignments of several inputs. */
#include "io/sam_header.h"

#include <stdlib.h>
#include <string.h>

#include <htslib/kstring.h>
#include <htslib/sam.h>

#include "base/log.h"
#include "base/mem.h"

struct joining {
    sam_hdr_t  *to, *from;
    const char *path;
    kstring_t   line, there;     /* a line of `from`, and that of its ID in `to` */
    char      **old, **new;      /* [n] IDs of programs that were changed */
    size_t      n, cap_old, cap_new;
};

static int joining_failed(const struct joining *j)
{
    return cs_fail(CS_EFORMAT, "the header of '%s' does not fit those of the inputs before it, "
                   "at '%.60s'", j->path, j->line.s ? j->line.s : "");
}

/* Line i of a type into j->line. */
static int read_line(struct joining *j, const char *type, int i)
{
    j->line.l = 0;
    return sam_hdr_find_line_pos(j->from, type, i, &j->line) == 0 ? CS_OK : joining_failed(j);
}

static int add_line(struct joining *j)
{
    return sam_hdr_add_lines(j->to, j->line.s, j->line.l) < 0 ? joining_failed(j) : CS_OK;
}

/* Does `to` have a line of this ID? It is read to j->there. */
static bool find_there(struct joining *j, const char *type, const char *id)
{
    j->there.l = 0;
    return sam_hdr_find_line_id(j->to, type, "ID", id, &j->there) == 0;
}

static int join_group(struct joining *j, int i)
{
    int rc = CS_OK;
    const char *id = sam_hdr_line_name(j->from, "RG", i);

    CS_TRY(read_line(j, "RG", i));
    if (!id || !find_there(j, "RG", id))
        return add_line(j);
    if (strcmp(j->line.s, j->there.s) != 0)
        rc = cs_fail(CS_EUSAGE, "the read group '%s' of '%s' differs from the one in an input "
                     "before it; give one of them another ID (samtools addreplacerg)", id,
                     j->path);
out:
    return rc;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* The value of a tag such as "\tPP:" in j->line; NULL: it has none. */
static char *value_of(const struct joining *j, const char *tag, size_t *n)
{
    char *at = strstr(j->line.s, tag);

    *n = at ? strcspn(at + strlen(tag), "\t") : 0;
    return at ? at + strlen(tag) : NULL;
}

static int set_value(struct joining *j, const char *tag, const char *text)
{
    size_t n;
    char *at = value_of(j, tag, &n), *rest = at ? cs_xstrdup(at + n) : NULL;

    if (!at)
        return joining_failed(j);
    j->line.l = (size_t)(at - j->line.s);
    const bool bad = kputs(text, &j->line) < 0 || kputs(rest, &j->line) < 0;
    free(rest);
    return bad ? cs_fail(CS_EMEM, "out of memory for the header of '%s'", j->path) : CS_OK;
}

static int rename_parent(struct joining *j)
{
    size_t n;
    const char *parent = value_of(j, "\tPP:", &n);

    for (size_t i = 0; parent && i < j->n; i++)
        if (strlen(j->old[i]) == n && strncmp(j->old[i], parent, n) == 0)
            return set_value(j, "\tPP:", j->new[i]);
    return CS_OK;
}

static int rename_program(struct joining *j, const char *id)
{
    const char *free_id = sam_hdr_pg_id(j->to, id);

    if (!free_id || cs_grow((void **)&j->old, &j->cap_old, j->n + 1, sizeof *j->old) != CS_OK
        || cs_grow((void **)&j->new, &j->cap_new, j->n + 1, sizeof *j->new) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", j->path);
    j->old[j->n] = cs_xstrdup(id);
    j->new[j->n++] = cs_xstrdup(free_id);
    return set_value(j, "\tID:", j->new[j->n - 1]);
}

static int join_program(struct joining *j, int i)
{
    int rc = CS_OK;
    const char *id = sam_hdr_line_name(j->from, "PG", i);

    CS_TRY(read_line(j, "PG", i));
    CS_TRY(rename_parent(j));
    if (id && find_there(j, "PG", id)) {
        if (strcmp(j->line.s, j->there.s) == 0)
            return CS_OK;
        CS_TRY(rename_program(j, id));
    }
    rc = add_line(j);
out:
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int join_comment(struct joining *j, int i)
{
    int rc = CS_OK;

    CS_TRY(read_line(j, "CO", i));
    for (int k = sam_hdr_count_lines(j->to, "CO") - 1; k >= 0; k--) {
        j->there.l = 0;
        if (sam_hdr_find_line_pos(j->to, "CO", k, &j->there) == 0
            && strcmp(j->line.s, j->there.s) == 0)
            return CS_OK;
    }
    rc = add_line(j);
out:
    return rc;
}

int cs_sam_header_join(sam_hdr_t *to, sam_hdr_t *from, const char *path)
{
    int rc = CS_OK;
    struct joining j = { .to = to, .from = from, .path = path };
    static const struct {
        const char *type;
        int (*join)(struct joining *j, int i);
    } part[] = { { "RG", join_group }, { "PG", join_program }, { "CO", join_comment } };

    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        const int n = sam_hdr_count_lines(from, part[k].type);
        for (int i = 0; i < n; i++)
            CS_TRY(part[k].join(&j, i));
    }
out:
    for (size_t i = 0; i < j.n; i++)
        CS_FREE(j.old[i], j.new[i]);
    CS_FREE(j.old, j.new);
    ks_free(&j.line);
    ks_free(&j.there);
    return rc;
}

int cs_sam_header_unsort(sam_hdr_t *h)
{
    kstring_t order = KS_INITIALIZE;
    const bool has = sam_hdr_find_tag_hd(h, "SO", &order) == 0;
    const bool bad = (has && sam_hdr_update_hd(h, "SO", "unsorted") < 0)
        || (sam_hdr_count_lines(h, "HD") > 0 && (sam_hdr_remove_tag_hd(h, "SS") < 0
                                                 || sam_hdr_remove_tag_hd(h, "GO") < 0));

    ks_free(&order);
    return bad ? cs_fail(CS_EMEM, "out of memory for the header of the alignments") : CS_OK;
}

/* The first line of `from` whose ID `all` lacks; NULL: none. */
static const char *missing(sam_hdr_t *all, sam_hdr_t *from, const char *type)
{
    const int n = sam_hdr_count_lines(from, type);

    for (int i = 0; i < n; i++) {
        const char *id = sam_hdr_line_name(from, type, i);
        if (id && (!all || sam_hdr_line_index(all, type, id) < 0))
            return id;
    }
    return NULL;
}

int cs_sam_header_covers(sam_hdr_t *all, sam_hdr_t *from, const char *path)
{
    const char *group = missing(all, from, "RG"), *program = missing(all, from, "PG");

    if (group)
        return cs_fail(CS_EUSAGE, "the read group '%s' of '%s' is not in the header of the output, "
                       "which was written before that input could be read; give that input first, "
                       "or as a file", group, path);
    if (program)
        cs_warn("the program '%s' of '%s' is not in the header of the output, which was written "
                "before that input could be read", program, path);
    return CS_OK;
}
