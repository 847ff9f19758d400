/*
 * join.c - join an output of all shards, piece by piece.
 *
 * DESIGN: pieces are taken in the order dealt by shard.c: shard 1, 2 ... N, and again. Their
 * content is opaque, except for two formats: rows are renumbered in the table of names, and NPY has
 * their number in its header. Headers must be equal in all shards.
 */
#include "run/join.h"

#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/path_conflicts.h"
#include "base/signals.h"
#include "io/npy.h"

enum { BUF_BYTES = 1 << 16, MAX_OPEN = 200 };

/* One shard's file of the output. */
struct shard_file {
    char         *path;
    FILE         *f;             /* NULL while it is closed */
    const json_t *record;
    int64_t       at;            /* bytes read */
    uLong         crc;
};

struct joint {
    const cs_manifests *all;
    const char   *option, *path; /* the output's name, for messages */
    cs_join_kind   kind;
    cs_outfile   *out;
    struct shard_file *in;       /* [all->n] */
    char         *head;          /* [n_head] of the first of these */
    int64_t       n_head, n_row; /* n_row: lines of a table of names so far */
    bool          line_start;
    char          buf[BUF_BYTES];
};

static int changed(const struct joint *j, int i)
{
    return cs_fail(CS_EFORMAT, "'%s' does not match '%s'; it was changed or truncated; rerun "
                   "shard %d", j->in[i].path, j->all->m[i].path, i + 1);
}

static int open_shard(struct joint *j, int i)
{
    struct shard_file *s = &j->in[i];

    if (s->f)
        return CS_OK;
    s->f = fopen(s->path, "rbe");
    if (!s->f || fseeko(s->f, (off_t)s->at, SEEK_SET) != 0)
        return cs_fail(CS_EIO, "cannot read '%s', an output of shard %d: it is neither beside "
                       "'%s' nor at its original path", s->path, i + 1, j->all->m[i].path);
    return CS_OK;
}

static void close_shard(struct shard_file *s)
{
    if (s->f)
        (void)fclose(s->f);      /* read only: errors do not matter */
    s->f = NULL;
}

static int join_take(struct joint *j, int i, void *to, size_t n)
{
    struct shard_file *s = &j->in[i];

    if (fread(to, 1, n, s->f) != n)
        return changed(j, i);
    s->crc = crc32(s->crc, to, (uInt)n);
    s->at += (int64_t)n;
    return CS_OK;
}

/* Renumber lines that begin with their row number. */
static int put_rows(struct joint *j, size_t n)
{
    int rc = CS_OK;

    for (size_t i = 0; i < n; i++) {
        const char c = j->buf[i];
        if (j->line_start && c >= '0' && c <= '9')
            continue;
        if (j->line_start)
            CS_TRY(cs_outfile_printf(j->out, "%lld", (long long)j->n_row++));
        j->line_start = c == '\n';
        CS_TRY(cs_outfile_write(j->out, &c, 1));
    }
out:
    return rc;
}

static int copy(struct joint *j, int i, int64_t n)
{
    int rc = CS_OK;

    CS_TRY(open_shard(j, i));
    for (int64_t part; n > 0; n -= part) {
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
        part = n < BUF_BYTES ? n : BUF_BYTES;
        CS_TRY(join_take(j, i, j->buf, (size_t)part));
        CS_TRY(j->kind == CS_JOIN_ROWS ? put_rows(j, (size_t)part)
                                      : cs_outfile_write(j->out, j->buf, (size_t)part));
    }
    if (j->all->n > MAX_OPEN)
        close_shard(&j->in[i]);
out:
    return rc;
}

/* The VCF header line with the command differs between shards. */
static const char *pass_command(const char *s)
{
    static const char command[] = "##chordseq_variantCommand=";
    const char *end = strncmp(s, command, sizeof command - 1) == 0 ? strchr(s, '\n') : NULL;

    return end ? end + 1 : s;
}

/* Both are NUL-terminated. */
static bool same_heads(const char *a, const char *b)
{
    while (*a && *b) {
        a = pass_command(a);
        b = pass_command(b);
        const size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || memcmp(a, b, n) != 0)
            return false;
        a += n + (a[n] == '\n');
        b += n + (b[n] == '\n');
    }
    return *a == *b;
}

/* Write the first shard's header; the others' must equal it. */
static int take_head(struct joint *j, int i)
{
    int rc = CS_OK;
    const int64_t n = json_integer_value(json_object_get(j->in[i].record, "head"));
    char *head = cs_alloc((size_t)n + 1, 1);

    if (!head)
        return cs_fail(CS_EMEM, "out of memory for the head of '%s'", j->in[i].path);
    CS_TRY(open_shard(j, i));
    CS_TRY(join_take(j, i, head, (size_t)n));
    head[n] = '\0';
    if (i == 0) {
        j->head = head;
        j->n_head = n;
        return cs_outfile_write(j->out, head, (size_t)n);
    }
    if (j->kind == CS_JOIN_NPY ? n != j->n_head : !same_heads(j->head, head))
        rc = cs_fail(CS_EFORMAT, "'%s' and '%s' have different headers", j->in[0].path,
                     j->in[i].path);
    if (j->all->n > MAX_OPEN)
        close_shard(&j->in[i]);
out:
    free(head);
    return rc;
}

static int find_files(struct joint *j)
{
    int rc = CS_OK;

    for (int i = 0; i < j->all->n; i++) {
        struct shard_file *s = &j->in[i];
        s->record = cs_manifest_output(&j->all->m[i], j->option);
        if (!s->record)
            return cs_fail(CS_EUSAGE, "'%s' has no --%s; that shard was run without it",
                           j->all->m[i].path, j->option);
        s->path = cs_manifest_find(&j->all->m[i], s->record, j->path);
        s->crc = crc32(0, NULL, 0);
        CS_TRY(cs_paths_add_input(s->path));
    }
out:
    return rc;
}

static int check_files(const struct joint *j)
{
    for (int i = 0; i < j->all->n; i++) {
        const struct shard_file *s = &j->in[i];
        if (json_integer_value(json_object_get(s->record, "crc32")) != (json_int_t)s->crc
            || cs_file_size(s->path) != json_integer_value(json_object_get(s->record, "bytes")))
            return changed(j, i);
    }
    return CS_OK;
}

/* Piece 1 of every shard, piece 2 of every shard ... */
static int join_pieces(struct joint *j)
{
    int rc = CS_OK;
    bool more = true;

    for (size_t p = 0; more; p++) {
        more = false;
        for (int i = 0; i < j->all->n; i++) {
            const json_t *pieces = json_object_get(j->in[i].record, "pieces");
            if (p >= json_array_size(pieces))
                continue;
            CS_TRY(copy(j, i, json_integer_value(json_array_get(pieces, p))));
            more = true;
        }
    }
out:
    return rc;
}

static int join(struct joint *j)
{
    int rc = CS_OK;
    int64_t n_row = 0;

    CS_TRY(find_files(j));
    for (int i = 0; i < j->all->n; i++) {
        CS_TRY(take_head(j, i));
        n_row += j->all->m[i].records;
    }
    CS_TRY(join_pieces(j));
    CS_TRY(check_files(j));
    if (j->kind == CS_JOIN_NPY) {
        const json_t *columns = json_object_get(j->all->m[0].all, "columns");
        rc = cs_npy_end(j->out, CS_NPY_F4, cs_npy_shape2(n_row, json_integer_value(columns)));
    }
out:
    return rc;
}

int cs_join(const cs_manifests *all, const char *option, cs_join_kind kind, const char *path,
            cs_outfile *out)
{
    struct joint *j = cs_xcalloc(1, sizeof *j);

    *j = (struct joint){ .all = all, .option = option, .path = path, .kind = kind, .out = out,
                         .line_start = true };
    j->in = cs_xcalloc((size_t)all->n, sizeof *j->in);
    const int rc = join(j);
    for (int i = 0; i < all->n; i++) {
        close_shard(&j->in[i]);
        free(j->in[i].path);
    }
    CS_FREE(j->in, j->head, j);
    return rc;
}
