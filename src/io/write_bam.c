/* write_bam.c - write SAM, BAM or CRAM with predictions in tags.
 *
 * DESIGN: hts_out.c opens files that htslib writes. Tags: cl:Z the class or "unclassified", cp:f
 * its probability, ct:i its taxid, cr:Z the reason without a call. Lower case is for local use (SAM
 * specification 1.5, footnote); we know of no other tool that uses them.
 *
 * A run continues with BAM where it was interrupted: sync() has complete blocks written, and save()
 * keeps the bytes of the one that is not full, so that blocks end where they would have. SAM has no
 * blocks. Of CRAM, what htslib gathers for a container, and what it has learned from those before,
 * cannot be had from it; containers that end where the journal is written would depend on the
 * clock. So bam_check() refuses that.
 */
#include <errno.h>
#include <string.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>

#include "io/content.h"
#include "io/hts_out.h"
#include "io/index_name.h"
#include "io/json_text.h"
#include "io/reference.h"
#include "io/writer.h"

static const char *const formats[] = { "auto", "sam", "bam", "cram", NULL };

static const char *const indexes[] = { "off", "auto", "bai", "csi", NULL };
enum { INDEX_OFF, INDEX_AUTO, INDEX_BAI, INDEX_CSI, CSI_SHIFT = 14 };

struct bam_cfg { const char *path, *format; cs_strlist option; int no_pg, index; };

struct alignments {
    cs_outfile *index;           /* NULL unless requested */
    int32_t    last_tid;         /* with an index: of the record before; -1: unplaced, or none */
    hts_pos_t  last_pos;
    bool       any;              /* is there a record before? */
    cs_htsout  to;
    sam_hdr_t *header;
    bam1_t    *b;
};

/* A tag's text is printable ASCII. */
static void make_printable(char *s)
{
    for (; *s; s++)
        *s = *s < ' ' || *s > '~' ? '_' : *s;
}

static void bam_release(cs_output *o)
{
    struct alignments *w = o->state;

    if (!w)
        return;
    cs_htsout_discard(&w->to);
    cs_outfile_discard(w->index);
    sam_hdr_destroy(w->header);
    bam_destroy1(w->b);
    free(w);
    o->state = NULL;
}

/* The format before options, "cram" of "cram,level=9"; NULL: there is none of this name. */
static const char *stated_format(const char *text)
{
    const size_t n = strcspn(text, ",");

    for (int i = 0; formats[i]; i++)
        if (strlen(formats[i]) == n && strncmp(formats[i], text, n) == 0)
            return formats[i];
    return NULL;
}

/* As given by the option, or by the suffix. */
static const char *format_of(const char *path, const struct bam_cfg *cfg)
{
    const char *end = strrchr(path, '.'), *stated = stated_format(cfg->format);

    if (stated && stated != formats[0])
        return stated;
    return end && (strcmp(end, ".sam") == 0 || strcmp(end, ".cram") == 0) ? end + 1 : "bam";
}

/* ---- options of htslib ----------------------------------------------------------------------- */

/* Those for writing that are not options of the program. Names before '='. */
static bool is_option(const char *s)
{
    static const char *const name[] = {
        "level", "version", "seqs_per_slice", "bases_per_slice", "slices_per_container",
        "embed_ref", "no_ref", "lossy_names", "multi_seq_per_slice", "use_bzip2", "use_lzma",
        "use_rans", "use_tok", "use_fqz", "use_arith", "fast", "normal", "small", "archive",
    };
    const size_t n = strcspn(s, "=");

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (strlen(name[i]) == n && strncmp(name[i], s, n) == 0)
            return true;
    return false;
}

static int add_option(hts_opt **all, const char *s)
{
    if (is_option(s) && hts_opt_add(all, s) == 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' is not an option for writing SAM, BAM or CRAM, such as "
                   "level=9; samtools(1) describes them", s);
}

/* Those after the format, and of --output-fmt-option. */
static int read_options(const struct bam_cfg *cfg, hts_opt **all)
{
    int rc = CS_OK;
    char *text = cs_xstrdup(cfg->format), *rest = strchr(text, ',');

    *all = NULL;
    if (rest)
        rest++;
    for (char *word; rc == CS_OK && (word = strsep(&rest, ",")) != NULL;)
        rc = add_option(all, word);
    free(text);
    for (int i = 0; rc == CS_OK && i < cfg->option.n; i++)
        rc = add_option(all, cfg->option.v[i]);
    return rc;
}

static int apply_options(cs_output *o, struct alignments *w)
{
    hts_opt *all;
    int rc = read_options(o->cfg, &all);

    if (rc == CS_OK && hts_opt_apply(w->to.fp, all) < 0)
        rc = cs_fail(CS_EUSAGE, "'%s' cannot be written with these options of --output-fmt",
                     o->path);
    hts_opt_free(all);
    return rc;
}

/* ---- index ----------------------------------------------------------------------------------- */

static bool is_crai(const cs_output *o)
{
    return strcmp(format_of(o->path, o->cfg), "cram") == 0;
}

static int bam_open_index(cs_output *o, struct alignments *w)
{
    const struct bam_cfg *cfg = o->cfg;

    if (cfg->index == INDEX_OFF)
        return CS_OK;
    if (o->info.header && o->info.several)
        return cs_fail(CS_EUSAGE, "--write-index needs alignments sorted by position, but those of "
                       "several inputs follow each other; join the inputs first (samtools merge)");
    if (!cs_outfile_temp_path(o->file))
        return cs_fail(CS_EUSAGE, "--write-index needs a regular file, which '%s' is not", o->path);
    const size_t n = strlen(o->path) + sizeof ".crai";
    char *path = cs_xmalloc(n);
    (void)snprintf(path, n, "%s.%s", o->path, is_crai(o) ? "crai"
                   : cfg->index == INDEX_BAI ? "bai" : "csi");
    const int rc = cs_outfile_open(path, &w->index);
    free(path);
    return rc;
}

/* By a second pass over the complete file. */
static int bam_index(cs_output *o, struct alignments *w)
{
    int rc = CS_OK;
    const struct bam_cfg *cfg = o->cfg;
    const int shift = is_crai(o) || cfg->index == INDEX_BAI ? 0 : CSI_SHIFT;

    if (!w->index)
        return CS_OK;
    CS_TRY(cs_outfile_finish(o->file));
    if (sam_index_build3(cs_outfile_temp_path(o->file), cs_outfile_temp_path(w->index), shift,
                         o->info.threads) < 0)
        return cs_fail(CS_EFORMAT, "cannot index '%s'; its alignments must be sorted by position",
                       o->path);
    rc = cs_outfile_finish(w->index);
out:
    return rc;
}

static int bam_commit(cs_output *o)
{
    struct alignments *w = o->state;
    const int rc = cs_outfile_close(w->index);

    w->index = NULL;
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int bam_open_file(cs_output *o, struct alignments *w)
{
    const char *format = format_of(o->path, o->cfg);
    const char *mode = strcmp(format, "sam") == 0 ? "w" : strcmp(format, "cram") == 0 ? "wc" : "wb";
    int rc = CS_OK;

    CS_TRY(cs_htsout_open(&w->to, o->file, o->path, mode));
    /* Lines of SAM held by threads cannot be flushed. */
    const int threads = o->info.resumes && !w->to.fp->is_bgzf ? 0 : o->info.threads;
    if (threads && hts_set_threads(w->to.fp, threads) < 0)
        return cs_htsout_failed(&w->to, "no threads for compression");
    const char *reference = mode[1] == 'c' ? o->info.reference : NULL;
    if (reference)
        CS_TRY(cs_reference_usable(reference));
    /* Loaded after the header: CRAM_OPT_REFERENCE before it would number contigs in the order of
     * the FASTA file. */
    if (reference && hts_set_fai_filename(w->to.fp, reference) < 0)
        return cs_fail(CS_EIO, "cannot use the reference '%s' for '%s'; it must be a FASTA file, "
                       "indexed or in a writable folder", reference, o->path);
    rc = apply_options(o, w);
out:
    return rc;
}

/* htslib chains the line to existing ones. Line ends and tabs would end the field. */
static int add_program(const cs_output *o, sam_hdr_t *h)
{
    char *command = cs_xstrdup(o->info.command_line ? o->info.command_line : "chordseq");
    char model[96];

    make_printable(command);
    (void)snprintf(model, sizeof model, "model sha256:%s", o->info.model_sum);
    const int bad = sam_hdr_add_pg(h, "chordseq", "VN", PACKAGE_VERSION, "CL", command, "DS", model,
                                   NULL) < 0;
    free(command);
    return bad ? cs_fail(CS_EFORMAT, "the header of the input has an invalid line, such as @RG or "
                         "@PG without ID; correct it, or use --no-PG") : CS_OK;
}

/* The text of a BAM header may be padded by NULs, which SAM cannot have. htslib drops them only
 * when the header changes. */
static void cut_padding(sam_hdr_t *h)
{
    if (h->text)
        h->l_text = strnlen(h->text, h->l_text);
}

/* Open the output, without the header. */
static int open_alignments(cs_output *o)
{
    int rc = CS_OK;
    const struct bam_cfg *cfg = o->cfg;
    struct alignments *w = o->state = cs_xcalloc(1, sizeof *w);

    w->b = bam_init1();
    w->header = o->info.header ? sam_hdr_dup(o->info.header) : sam_hdr_init();
    if (!w->b || !w->header)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", o->path);
    if (!o->info.header
        && sam_hdr_add_line(w->header, "HD", "VN", "1.6", "SO", "unknown", NULL) < 0)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", o->path);
    cut_padding(w->header);
    if (!cfg->no_pg)
        CS_TRY(add_program(o, w->header));
    CS_TRY(cs_outfile_flush(o->file));
    CS_TRY(bam_open_index(o, w));
    rc = bam_open_file(o, w);
out:
    return rc;
}

static int bam_begin(cs_output *o)
{
    int rc = CS_OK;

    CS_TRY(open_alignments(o));
    struct alignments *w = o->state;
    errno = 0;
    if (sam_hdr_write(w->to.fp, w->header) < 0)
        rc = cs_htsout_failed(&w->to, NULL);
out:
    return rc;
}

/* Segment s of a record from FASTA or FASTQ. */
static int make_unaligned(cs_output *o, bam1_t *b, const cs_record *r, int s)
{
    const cs_segment *g = &r->seg[s];
    const uint16_t mate = s == 0 ? BAM_FREAD1 : BAM_FREAD2;
    const uint16_t flag = BAM_FUNMAP
                        | (r->n_seg == 1 ? 0 : (uint16_t)(BAM_FPAIRED | BAM_FMUNMAP | mate));
    const char *name = cs_record_name(r);

    /* In SAM '@' begins a line of the header. */
    if (*name != '@'
        && bam_set1(b, strlen(name), name, flag, -1, -1, 0, 0, NULL, -1, -1, 0, (size_t)g->n_base,
                    g->base, (const char *)g->qual, 64) >= 0)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "cannot write '%s': record '%.60s' does not fit the format (names "
                   "of at most 254 bytes, without '@' at the start; %lld bases)", o->path, name,
                   (long long)g->n_base);
}

/* Tags of these names, of an earlier run or of another program: their types may differ, and one
 * may occur twice. */
static bool drop_tags(bam1_t *b)
{
    static const char *const name[] = { "cl", "cp", "ct", "cr" };
    uint8_t *old;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        while ((old = bam_aux_get(b, name[i])) != NULL)
            if (bam_aux_del(b, old) < 0)
                return false;
    return true;
}

static int set_tags(cs_output *o, bam1_t *b, const cs_prediction *a)
{
    const int32_t node = cs_prediction_taxon(&o->info, a);
    const int64_t taxid = node >= 0 ? o->info.taxonomy->node[node].taxid : 0;
    const char *why = cs_reason_name(a->reason);
    char buf[CS_LABEL_TEXT], label[CS_LABEL_TEXT];

    if (!drop_tags(b))
        return cs_fail(CS_EFORMAT, "record '%.60s' has damaged tags", bam_get_qname(b));
    (void)snprintf(label, sizeof label, "%s", cs_prediction_label(&o->info, a, buf));
    make_printable(label);
    bool bad = bam_aux_update_str(b, "cl", (int)strlen(label) + 1, label) < 0;
    if (cs_prediction_best(a) >= 0)
        bad |= bam_aux_update_float(b, "cp", (float)cs_prediction_prob(a)) < 0;
    bad |= bam_aux_update_int(b, "ct", taxid) < 0;
    if (node < 0)
        bad |= bam_aux_update_str(b, "cr", (int)strlen(why) + 1, why) < 0;
    return bad ? cs_fail(CS_EMEM, "out of memory for the tags of record '%.60s'",
                         bam_get_qname(b)) : CS_OK;
}

/* Here rather than after the last record, when the index would be refused. */
static int check_order(cs_output *o, struct alignments *w)
{
    const int32_t tid = w->b->core.tid;
    const hts_pos_t pos = w->b->core.pos;
    const bool back = w->any && (tid == w->last_tid ? tid >= 0 && pos < w->last_pos
                                 : (uint32_t)tid < (uint32_t)w->last_tid);

    w->any = true;
    w->last_tid = tid;
    w->last_pos = pos;
    return back ? cs_fail(CS_EFORMAT, "cannot index '%s': alignment '%.60s' is out of order; sort "
                          "the input by position (samtools sort), or omit --write-index", o->path,
                          bam_get_qname(w->b)) : CS_OK;
}

static int write_segment(cs_output *o, const cs_record *r, int s, const cs_prediction *a)
{
    int rc = CS_OK;
    struct alignments *w = o->state;
    const bam1_t *native = r->native[s];

    if (!native)
        CS_TRY(make_unaligned(o, w->b, r, s));
    else if (!bam_copy1(w->b, native))
        return cs_fail(CS_EMEM, "out of memory for record '%s'", r->name);
    if (w->index)
        CS_TRY(check_order(o, w));
    CS_TRY(set_tags(o, w->b, a));
    errno = 0;
    if (sam_write1(w->to.fp, w->header, w->b) < 0)
        rc = cs_htsout_failed(&w->to, w->to.fp->format.format == cram ? "CRAM needs the reference "
                              "of the alignments; give it with --reference" : NULL);
out:
    return rc;
}

/* Alignments in the order of the input, which may be sorted. */
static int bam_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    const bool turn = r->swapped && r->native[0];

    for (int s = 0; rc == CS_OK && s < r->n_seg; s++)
        rc = write_segment(o, r, turn ? r->n_seg - 1 - s : s, a);
    return rc;
}

static int bam_end(cs_output *o)
{
    struct alignments *w = o->state;
    const int rc = cs_htsout_close(&w->to);

    if (rc != CS_OK)
        return rc;
    cs_index_warn_left(o->path, w->index ? cs_outfile_name(w->index) : NULL);
    return bam_index(o, w);
}

/* Complete blocks go to the descriptor. The partial one is removed meanwhile, because flushing
 * would end it here. */
static int bam_sync(cs_output *o)
{
    struct alignments *w = o->state;

    if (!w)
        return CS_OK;
    BGZF *b = w->to.fp->is_bgzf ? w->to.fp->fp.bgzf : NULL;
    const int n = b ? b->block_offset : 0;

    errno = 0;
    if (b)
        b->block_offset = 0;
    bool bad = b && bgzf_flush(b) < 0;
    bad |= hflush(b ? b->fp : w->to.fp->fp.hfile) < 0;
    if (b)
        b->block_offset = n;
    return bad ? cs_htsout_failed(&w->to, NULL) : CS_OK;
}

static json_t *bam_save(const cs_output *o)
{
    const struct alignments *w = o->state;
    const BGZF *b = w->to.fp->is_bgzf ? w->to.fp->fp.bgzf : NULL;

    return b ? cs_json_hex(b->uncompressed_block, (size_t)b->block_offset) : json_string("");
}

static int bam_restore(cs_output *o, const json_t *state)
{
    int rc = CS_OK;
    char block[BGZF_MAX_BLOCK_SIZE];
    size_t n;

    CS_TRY(open_alignments(o));
    if (!cs_json_unhex(state, block, BGZF_BLOCK_SIZE, &n))
        return CS_EFORMAT;
    const struct alignments *w = o->state;
    if (n > 0 && (!w->to.fp->is_bgzf || bgzf_write(w->to.fp->fp.bgzf, block, n) != (ssize_t)n))
        rc = CS_EFORMAT;
out:
    return rc;
}

#define CFG(field) .off = offsetof(struct bam_cfg, field)

static const cs_opt bam_opt[] = {
    { .type = CS_OPT_OUT, .name = "bam", CFG(path), .arg = "FILE",
      .help = "input alignments, or unaligned sequences, with tags cl, cp, ct, cr",
      .man = "cl:Z is the class or 'unclassified', cp:f its probability, ct:i its taxid; cr:Z is "
             "the reason if there is no call. The format is SAM or CRAM if the name ends in .sam "
             "or .cram, otherwise BAM. Only alignments that are read are written, in input order. "
             "With several inputs, the header is that of the first, marked as unsorted, plus the "
             "read groups, programs and comments of the others; a read group that differs "
             "between inputs is an error, and programs with the same ID are renamed, also in PG "
             "tags. Headers of pipes after the first input are not merged; a warning lists what "
             "is missing. Comments of FASTA and FASTQ are omitted, also with SAM tags such as MM "
             "and ML; samtools import -T '*' converts those." },
    { .type = CS_OPT_STR, .letter = 'O', .name = "output-fmt", CFG(format), .arg = "FORMAT",
      .def = "auto", .choice = formats,
      .help = "format of --bam: auto (by its name), sam, bam or cram",
      .man = "Options of samtools(1) for writing can follow, as in 'bam,level=1'." },
    { .type = CS_OPT_LIST, .name = "output-fmt-option", CFG(option), .arg = "OPT[=VAL]",
      .help = "option for writing --bam, such as level=1; may be repeated" },
    { .type = CS_OPT_WHEN, .letter = 'W', .name = "write-index", CFG(index), .arg = "FORMAT",
      .def = "off", .choice = indexes,
      .help = "write an index beside --bam: auto, bai, csi or off",
      .man = "For alignments sorted by position. Without a format, it is auto: CSI for BAM and "
             "CRAI for CRAM, as in samtools. Not for several inputs: their alignments follow each "
             "other, so the output is not sorted. Join inputs first (samtools merge), or sort "
             "and index the output." },
    { .type = CS_OPT_FLAG, .name = "no-PG", CFG(no_pg),
      .help = "with --bam, add no @PG line to the header" },
    { .type = CS_OPT_END }
};

/* What the name says, if no option does. */
static int check_suffix(const struct bam_cfg *c)
{
    const char *named = cs_out_format_name(c->path);

    if (stated_format(c->format) != formats[0] || !named || strcmp(named, "BAM") == 0
        || strcmp(named, "CRAM") == 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "--bam '%s': SAM, BAM or CRAM is written, not %s; choose another "
                   "name, or state a format with --output-fmt", c->path, named);
}

static int bam_check(const void *cfg, const cs_output_info *info)
{
    const struct bam_cfg *c = cfg;

    if (!stated_format(c->format))
        return cs_fail(CS_EUSAGE, "--output-fmt '%s': give sam, bam, cram or auto", c->format);
    if ((strcmp(c->format, formats[0]) != 0 || c->no_pg || c->option.n > 0 || c->index)
        && !c->path)
        return cs_fail(CS_EUSAGE, "--output-fmt, --output-fmt-option, --write-index and --no-PG "
                       "need --bam");
    if (!c->path)
        return CS_OK;
    hts_opt *all;
    int rc = read_options(c, &all);
    hts_opt_free(all);
    if (rc == CS_OK)
        rc = check_suffix(c);
    if (rc != CS_OK)
        return rc;
    if (c->index && strcmp(format_of(c->path, c), "sam") == 0)
        return cs_fail(CS_EUSAGE, "--write-index is for BAM and CRAM; '%s' is SAM", c->path);
    if (c->index > INDEX_AUTO && strcmp(format_of(c->path, c), "cram") == 0)
        return cs_fail(CS_EUSAGE, "--write-index=%s is for BAM; the index of CRAM is CRAI",
                       indexes[c->index]);
    if (info->resumes && strcmp(format_of(c->path, c), "cram") == 0)
        return cs_fail(CS_EUSAGE, "--resume does not support CRAM, which buffers records in "
                       "memory; write BAM and convert it: samtools view -C");
    return CS_OK;
}

const cs_writer cs_write_bam = {
    .name = "bam",
    .kind = CS_OUT_PACKED,
    .opt = bam_opt,
    .cfg_size = sizeof(struct bam_cfg),
    .check = bam_check,
    .begin = bam_begin,
    .record = bam_record,
    .end = bam_end,
    .commit = bam_commit,
    .per_record = true,
    .for_classes = true,
    .for_nucleotides = true,
    .wants_native = true,
    .holds = CS_ALIGNMENTS,
    .release = bam_release,
    .resumes = true,
    .sync = bam_sync,
    .save = bam_save,
    .restore = bam_restore,
};
