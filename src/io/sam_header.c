/* sam_header.c - one header for the alignments of several inputs. */
#include "io/sam_header.h"

#include <stdlib.h>
#include <string.h>

#include <htslib/kstring.h>
#include <htslib/sam.h>

#include "base/log.h"
#include "base/mem.h"

struct joining {
    sam_hdr_t   *to, *from;
    const char  *path;
    kstring_t    line, there;    /* lines of `from`, and that of an ID in `to` */
    cs_programs *programs;       /* changed so far */
};

int cs_sam_header_read(htsFile *fp, const char *path, sam_hdr_t **h)
{
    *h = sam_hdr_read(fp);
    return *h ? CS_OK
        : cs_fail(CS_EFORMAT, "'%s': cannot read the header; the file is truncated or damaged, or "
                  "the header has an invalid line, such as @RG or @PG without ID; -v shows "
                  "htslib's reason", path);
}

/* The number of the first line that htslib refuses; 0: unknown. */
static int find_invalid(const char *text, const char **line)
{
    sam_hdr_t *above = sam_hdr_init();
    bool good = above && text;
    int no = 0;

    for (size_t n; good && *text; text += n + (text[n] == '\n'), no++) {
        *line = text;
        n = strcspn(text, "\n");
        good = n == 0 || sam_hdr_add_lines(above, text, n) == 0;
    }
    if (above)
        sam_hdr_destroy(above);
    return good ? 0 : no;
}

int cs_sam_header_check(sam_hdr_t *h, const char *path)
{
    const char *line = NULL;

    if (sam_hdr_count_lines(h, "RG") >= 0)
        return CS_OK;
    const int no = find_invalid(sam_hdr_str(h), &line);
    if (no > 0)
        return cs_fail(CS_EFORMAT, "the header of '%s' has an invalid line, number %d (%.3s); "
                       "correct it (samtools reheader); -v shows htslib's reason", path, no, line);
    return cs_fail(CS_EFORMAT, "the header of '%s' has an invalid line, such as @RG or @PG without "
                   "ID; correct it (samtools reheader); -v shows htslib's reason", path);
}

static int joining_failed(const struct joining *j)
{
    return cs_fail(CS_EFORMAT, "the header of '%s' contradicts that of an earlier input, at "
                   "'%.60s'", j->path, j->line.s ? j->line.s : "");
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
    return j->to && sam_hdr_find_line_id(j->to, type, "ID", id, &j->there) == 0;
}

static bool has_field(const char *line, const char *field, size_t n)
{
    for (const char *s = line; s; s = strchr(s, '\t')) {
        s += *s == '\t';
        if (strcspn(s, "\t") == n && memcmp(s, field, n) == 0)
            return true;
    }
    return false;
}

/* Have j->line and j->there the same tags, in any order? */
static bool same_line(const struct joining *j)
{
    size_t n;

    if (j->line.l != j->there.l)
        return false;
    for (const char *s = j->line.s; *s; s += n + (s[n] == '\t')) {
        n = strcspn(s, "\t");
        if (!has_field(j->there.s, s, n))
            return false;
    }
    return true;
}

static int group_differs(const struct joining *j, const char *id)
{
    return cs_fail(CS_EUSAGE, "the read group '%s' of '%s' differs from the one in an input "
                   "before it; give one of them another ID (samtools addreplacerg)", id, j->path);
}

static int join_group(struct joining *j, int i)
{
    int rc = CS_OK;
    const char *id = sam_hdr_line_name(j->from, "RG", i);

    CS_TRY(read_line(j, "RG", i));
    if (!id || !find_there(j, "RG", id))
        return add_line(j);
    if (!same_line(j))
        rc = group_differs(j, id);
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
    const cs_programs *m = j->programs;
    char *parent = value_of(j, "\tPP:", &n);

    if (!parent)
        return CS_OK;
    const char after = parent[n];
    parent[n] = '\0';
    const int64_t no = cs_names_find(&m->no, parent);
    parent[n] = after;
    return no < 0 ? CS_OK : set_value(j, "\tPP:", m->new[no]);
}

/* new_id: or NULL, if the header has no line of it. */
static int add_change(const struct joining *j, const char *id, const char *new_id)
{
    cs_programs *m = j->programs;

    if (cs_try_grow((void **)&m->old, &m->cap_old, m->n + 1, sizeof *m->old) != CS_OK
        || cs_try_grow((void **)&m->new, &m->cap_new, m->n + 1, sizeof *m->new) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", j->path);
    m->old[m->n] = cs_xstrdup(id);
    m->new[m->n] = new_id ? cs_xstrdup(new_id) : NULL;
    m->n++;
    return cs_names_add(&m->no, m->old[m->n - 1], (int64_t)m->n - 1);
}

static int rename_program(struct joining *j, const char *id)
{
    int rc = CS_OK;
    const char *free_id = sam_hdr_pg_id(j->to, id);

    if (!free_id)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", j->path);
    CS_TRY(add_change(j, id, free_id));
    rc = set_value(j, "\tID:", j->programs->new[j->programs->n - 1]);
out:
    return rc;
}

static int join_program(struct joining *j, int i)
{
    int rc = CS_OK;
    const char *id = sam_hdr_line_name(j->from, "PG", i);

    CS_TRY(read_line(j, "PG", i));
    CS_TRY(rename_parent(j));
    if (id && find_there(j, "PG", id)) {
        if (same_line(j))
            return CS_OK;
        CS_TRY(rename_program(j, id));
    }
    rc = add_line(j);
out:
    return rc;
}

/* A line of `from` while the order is found. */
struct program {
    int parent;                  /* line, or -1 */
    int round;                   /* of the line's turn; 0: unknown */
    int no, child;               /* its own line; on the way up, the line before */
};

static int parent_of(struct joining *j, int i, int *parent)
{
    int rc = CS_OK;
    size_t n;

    *parent = -1;
    CS_TRY(read_line(j, "PG", i));
    char *id = value_of(j, "\tPP:", &n);
    if (!id)
        return CS_OK;
    id[n] = '\0';
    const int found = sam_hdr_line_index(j->from, "PG", id);
    *parent = found >= 0 ? found : -1;
out:
    return rc;
}

/* Sets the rounds of line i and its ancestors: a line is joined in the first round in which its
 * parent was joined before it; those of a circle, or after one, in round `last`. */
static void find_round(struct program *p, int i, int last)
{
    int up = i, down = -1;

    for (; up >= 0 && p[up].round == 0; down = up, up = p[up].parent) {
        p[up].child = down;
        p[up].round = -1;                          /* on the way */
    }
    int round = up < 0 ? 1 : p[up].round < 0 ? last : p[up].round;
    for (; down >= 0; up = down, down = p[down].child) {
        round += up > down && round < last;
        p[down].round = round;
    }
}

static int by_round(const void *a, const void *b)
{
    const struct program *x = a, *y = b;
    return x->round != y->round ? (x->round > y->round) - (x->round < y->round)
                                : (x->no > y->no) - (x->no < y->no);
}

/* Lines in order, but each after its parent, whose ID may change; those of a circle at last. */
static int join_programs(struct joining *j)
{
    int rc = CS_OK;
    const int n = sam_hdr_count_lines(j->from, "PG");
    struct program *p = cs_alloc((size_t)n + 1, sizeof *p);

    if (!p)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", j->path);
    for (int i = 0; i < n; i++) {
        p[i] = (struct program){ .no = i };
        CS_TRY(parent_of(j, i, &p[i].parent));
    }
    for (int i = 0; i < n; i++)
        find_round(p, i, n + 1);
    qsort(p, (size_t)n, sizeof *p, by_round);
    for (int i = 0; i < n; i++)
        CS_TRY(join_program(j, p[i].no));
out:
    free(p);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* A copy of the text of a header; NULL: no memory. */
static char *copy_text(sam_hdr_t *h)
{
    const char *text = sam_hdr_str(h);
    const size_t n = text ? strlen(text) + 1 : 0;
    char *copy = text ? cs_alloc(n, 1) : NULL;

    return copy ? memcpy(copy, text, n) : NULL;
}

/* The next comment of a text, which ends with a NUL then; NULL: none is left. */
static char *next_comment(char **text)
{
    char *line;

    do
        line = strsep(text, "\n");
    while (line && strncmp(line, "@CO", 3) != 0);
    return line;
}

/* From the texts: htslib finds a comment by its number in linear time. */
static int join_comments(struct joining *j)
{
    int rc = CS_OK;
    char *to = copy_text(j->to), *from = copy_text(j->from), *rest = to, *line;
    cs_names there = { NULL, 0, 0 };
    bool bad = !to || !from;

    while (!bad && (line = next_comment(&rest)) != NULL)
        bad = cs_names_add(&there, line, 0) != CS_OK;
    j->line.l = 0;
    for (rest = from; !bad && (line = next_comment(&rest)) != NULL;) {
        if (cs_names_find(&there, line) < 0)
            bad = cs_names_add(&there, line, 0) != CS_OK || kputs(line, &j->line) < 0
                || kputc('\n', &j->line) < 0;
    }
    if (bad)
        rc = cs_fail(CS_EMEM, "out of memory for the header of '%s'", j->path);
    else if (j->line.l > 0)
        rc = add_line(j);
    cs_names_release(&there);
    CS_FREE(to, from);
    return rc;
}

static void joining_release(struct joining *j)
{
    ks_free(&j->line);
    ks_free(&j->there);
}

int cs_sam_header_join(sam_hdr_t *to, sam_hdr_t *from, const char *path, cs_programs *programs)
{
    int rc = CS_OK;
    struct joining j = { .to = to, .from = from, .path = path, .programs = programs };

    for (int i = 0; i < sam_hdr_count_lines(from, "RG"); i++)
        CS_TRY(join_group(&j, i));
    CS_TRY(join_programs(&j));
    CS_TRY(join_comments(&j));
    programs->joined = true;
out:
    joining_release(&j);
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

/* ---- a header that is written ---------------------------------------------------------------- */

/* *missing: the first read group that `to` lacks, or unchanged. */
static int check_groups(struct joining *j, const char **missing)
{
    int rc = CS_OK;
    const int n = sam_hdr_count_lines(j->from, "RG");

    for (int i = n - 1; i >= 0; i--) {
        const char *id = sam_hdr_line_name(j->from, "RG", i);
        CS_TRY(read_line(j, "RG", i));
        if (id && !find_there(j, "RG", id))
            *missing = id;
        else if (id && !same_line(j))
            return group_differs(j, id);
    }
out:
    return rc;
}

/* The same of programs. Records must not name another one of the same ID. */
static int check_programs(struct joining *j, const char **missing)
{
    int rc = CS_OK;
    const int n = sam_hdr_count_lines(j->from, "PG");

    for (int i = n - 1; i >= 0; i--) {
        const char *id = sam_hdr_line_name(j->from, "PG", i);
        CS_TRY(read_line(j, "PG", i));
        const bool there = id && find_there(j, "PG", id);
        if (!id || (there && same_line(j)))
            continue;
        *missing = id;
        if (there)
            CS_TRY(add_change(j, id, NULL));
    }
out:
    return rc;
}

int cs_sam_header_covers(sam_hdr_t *all, sam_hdr_t *from, const char *path, cs_programs *programs)
{
    int rc = CS_OK;
    const char *group = NULL, *program = NULL;
    struct joining j = { .to = all, .from = from, .path = path, .programs = programs };

    CS_TRY(check_groups(&j, &group));
    CS_TRY(check_programs(&j, &program));
    if (group || program)
        cs_warn("the %s '%s' of '%s' is not in the header of the output, which was written before "
                "that input could be read; give that input first, or as a file",
                group ? "read group" : "program", group ? group : program, path);
out:
    joining_release(&j);
    return rc;
}

/* ---- records --------------------------------------------------------------------------------- */

int cs_programs_change(const cs_programs *m, bam1_t *b)
{
    uint8_t *tag = m->n > 0 ? bam_aux_get(b, "PG") : NULL;
    const char *id = tag ? bam_aux2Z(tag) : NULL;
    const int64_t i = id ? cs_names_find(&m->no, id) : -1;

    if (i < 0)
        return CS_OK;
    const int bad = m->new[i] ? bam_aux_update_str(b, "PG", (int)strlen(m->new[i]) + 1, m->new[i])
                              : bam_aux_del(b, tag);
    return bad ? cs_fail(CS_EMEM, "out of memory for the tags of record '%.60s'", bam_get_qname(b))
               : CS_OK;
}

void cs_programs_release(cs_programs *m)
{
    for (size_t i = 0; i < m->n; i++)
        CS_FREE(m->old[i], m->new[i]);
    CS_FREE(m->old, m->new);
    cs_names_release(&m->no);
}
