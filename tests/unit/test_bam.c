/* test_bam.c - SAM, BAM and CRAM: records, strands, and refused input. */
#include "inputs.h"

#include <htslib/sam.h>

#include "base/file.h"
#include "io/cram_guard.h"

static const char header[] = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:40\n";
static const char fasta[] = ">c\nACGTTGCATTAGGACCATAGGCATTACGGATTCAGGACTA\n";
static const char other_fasta[] = ">c\nCCCCCGCATTAGGACCATAGGCATTACGGATTCAGGACTA\n";
static const char records[] =
    "fwd\t0\tc\t1\t60\t8M\t*\t0\t0\tACGTTGCA\tIJKLMNOP\n"
    "rev\t16\tc\t9\t60\t8M\t*\t0\t0\tTTAGGACC\t!\"#$%&'(\n"
    "sec\t256\tc\t9\t0\t4M\t*\t0\t0\tTTAG\tIIII\n"
    "sup\t2064\tc\t9\t0\t4M4H\t*\t0\t0\tTTAG\tIIII\n"
    "noqual\t16\tc\t17\t60\t3M\t*\t0\t0\tATA\t*\n"
    "pair\t99\tc\t20\t60\t2M\t=\t22\t4\tGG\tAB\n"
    "pair\t147\tc\t22\t60\t2M\t=\t20\t-4\tCA\tCD\n"
    "odd\t0\tc\t25\t60\t5M\t*\t0\t0\tNRYK=\tIIIII\n"
    "noseq\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\n"
    "un\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\tIIIII\n"
    "unrev\t20\t*\t0\t0\t*\t*\t0\t0\tAACCG\tABCDE\n";
static const char want[] =
    "fwd[]=ACGTTGCA/IJKLMNOP rev[]=GGTCCTAA/('&%$#\"! noqual[]=TAT pair/1[]=GG/AB pair/2[]=TG/DC "
    "odd[]=NRYKN/IIIII noseq[]= un[]=ACGTN/IIIII unrev[]=CGGTT/EDCBA";

/* x.sam in another format, through htslib. */
static void convert(const char *to, const char *mode)
{
    samFile *in = sam_open("x.sam", "r"), *out = sam_open(to, mode);
    bam1_t *b = bam_init1();
    assert_true(in && out && b);
    sam_hdr_t *h = sam_hdr_read(in);
    assert_non_null(h);
    if (mode[1] == 'c')
        assert_int_equal(hts_set_fai_filename(out, "ref.fa"), 0);
    assert_int_equal(sam_hdr_write(out, h), 0);
    int r;
    while ((r = sam_read1(in, h, b)) >= 0)
        assert_true(sam_write1(out, h, b) >= 0);
    assert_int_equal(r, -1);
    bam_destroy1(b);
    sam_hdr_destroy(h);
    assert_int_equal(sam_close(in), 0);
    assert_int_equal(sam_close(out), 0);
}

static void put_sam(void)
{
    bytes b = { NULL, 0, 0 };
    add_text(&b, header);
    add_text(&b, records);
    put_file("x.sam", b.p, b.n);
    put_text("ref.fa", fasta);
    free(b.p);
}

/* The nine primary records in every format; the two others counted. */
static void check_primary(const char *path, const char *reference, int threads)
{
    cs_chunk *c;
    cs_input_count count = { 0 };
    const cs_input_opt opt = { .reference = reference, .threads = threads, .count = &count };
    if (read_all(path, &opt, &c) != CS_OK)
        fail_msg("%s", cs_error_message());
    char *got = show_records(c);
    assert_string_equal(got, want);
    assert_int_equal(count.n_secondary, 1);
    assert_int_equal(count.n_supplementary, 1);
    assert_null(c->rec[2].seg[0].qual);
    assert_int_equal(c->rec[8].serial, 8);
    free(got);
    cs_chunk_free(c);
}

static void test_primary_on_sequenced_strand(void **state)
{
    (void)state;
    put_sam();
    check_primary("x.sam", NULL, 0);
    check_primary("x.sam", NULL, 2);
    convert("x.bam", "wb");
    check_primary("x.bam", NULL, 0);
    check_primary("x.bam", NULL, 2);
    convert("x.sam.gz", "wz");
    check_primary("x.sam.gz", NULL, 0);
    bytes z = { NULL, 0, 0 };
    add_gzip(&z, header, sizeof header - 1);
    add_gzip(&z, records, sizeof records - 1);
    put_file("plain.sam.gz", z.p, z.n);
    check_primary("plain.sam.gz", NULL, 0);
    free(z.p);
}

/* In a child process, because htslib 1.16 leaks if it finds no reference, and reports
 * it on stderr at every level. */
static void read_without_reference(void *arg)
{
    cs_chunk *c;
    const cs_input_opt opt = { .reference = NULL };
    static const char message[] = "'x.cram': record 1 cannot be decoded; the file is truncated "
        "or damaged, or a reference is needed (--reference FILE); -v shows htslib's reason";
    (void)arg;
    if (read_all("x.cram", &opt, &c) != CS_EFORMAT || strcmp(cs_error_message(), message) != 0)
        abort();
}

static void test_cram_and_its_reference(void **state)
{
    (void)state;
    put_sam();
    convert("x.cram", "wc");
    check_primary("x.cram", "ref.fa", 0);
    check_primary("x.cram", "ref.fa", 2);
    check_primary("x.cram", NULL, 0);            /* found where the header says */

    cs_chunk *c;
    cs_input_opt opt = { .reference = "other.fa" };
    put_text("other.fa", other_fasta);
    assert_int_equal(read_all("x.cram", &opt, &c), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "'x.cram': record 1 cannot be decoded; the file is "
                        "truncated or damaged, or the reference differs; -v shows htslib's reason");
    cs_error_clear();
    cs_chunk_free(c);
    opt.reference = "nosuch.fa";
    assert_int_equal(read_all("x.cram", &opt, &c), CS_EIO);
    assert_string_equal(cs_error_message(), "cannot read the reference 'nosuch.fa' for 'x.cram': "
                        "No such file or directory");
    cs_error_clear();
    cs_chunk_free(c);
    assert_int_equal(unlink("ref.fa"), 0);
    assert_int_equal(check_status(read_without_reference, NULL), 0);
}

static size_t get_file(const char *path, char **p)
{
    size_t n;
    assert_int_equal(cs_file_read(path, 1 << 20, p, &n), CS_OK);
    return n;
}

/* A truncated file is always detected, wherever it is cut. */
static void check_cuts(const char *path, const char *reference)
{
    char *p;
    const size_t n = get_file(path, &p);
    const cs_input_opt opt = { .reference = reference };
    for (size_t k = 1; k < n; k++) {
        cs_chunk *c;
        put_file("cut", p, k);
        const int rc = read_all("cut", &opt, &c);
        if (rc != CS_EFORMAT)
            fail_msg("'%s' cut to %zu of %zu bytes: code %d", path, k, n, rc);
        cs_error_clear();
        cs_chunk_free(c);
    }
    free(p);
}

static void test_cut_files(void **state)
{
    (void)state;
    char *p;
    put_sam();
    convert("x.bam", "wb");
    convert("x.cram", "wc");
    check_cuts("x.bam", NULL);
    check_cuts("x.cram", "ref.fa");

    size_t n = get_file("x.bam", &p);
    put_file("cut.bam", p, n - 28);          /* the end marker: SAM specification 4.1.2 */
    check_refused("cut.bam", CS_EFORMAT, "'cut.bam': the end marker is missing after record 11; "
                  "the file is probably truncated");
    put_file("cut.bam", p, n - 60);
    check_refused("cut.bam", CS_EFORMAT, "'cut.bam': record 1 cannot be decoded; the file is "
                  "truncated or damaged; -v shows htslib's reason");
    free(p);
}

/* The guard on a CRAM 2.1 file: the container of the header, and one with a compression header, of
 * read lengths as numbers of n_bit bits minus an offset, which has the bytes `offset`. */
static int guard_lengths(const char *offset, char n_bit)
{
    static const char start[] = "CRAM\2\1--------------------" "\6\0\0\0\0\0\0\0\0\0\1\0"
        "\0\0\0\1\1-" "\24\0\0\0\0\0\0\0\0\0\1\0" "\0\1\0\17\17\0\13\1RL\6\6";
    bytes b = { NULL, 0, 0 };
    add(&b, start, sizeof start - 1);
    add(&b, offset, 5);
    add(&b, (const char[]){ n_bit, 0, 0, 0 }, 4);
    put_file("lengths.cram", b.p, b.n);
    free(b.p);
    cs_cram_guard *g = cs_cram_guard_new("lengths.cram", 0);
    const int rc = cs_cram_guard_reach(g, INT64_MAX);
    cs_cram_guard_free(g);
    return rc;
}

static void test_lengths_of_reads_in_cram(void **state)
{
    (void)state;
    assert_int_equal(guard_lengths("\xf0\0\0\0\0", 10), CS_OK);       /* 0 */
    assert_int_equal(guard_lengths("\xff\xff\xff\xf9\x0c", 3), CS_OK);   /* -100 */
    assert_int_equal(guard_lengths("\xff\xff\xff\xf9\x0c", 31), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "'lengths.cram': the container at byte 44 declares "
                        "2147483647 bases of a read, which do not fit its size; the file is "
                        "damaged");
    cs_error_clear();
    assert_int_equal(guard_lengths("\xf8\0\0\0\0", 3), CS_EFORMAT);    /* -2^31 */
    cs_error_clear();
}

static void test_bad_sam(void **state)
{
    (void)state;
    bytes b = { NULL, 0, 0 };
    add_text(&b, header);
    add_text(&b, "a\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
    add_text(&b, "b\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIII\n");
    put_file("x.sam", b.p, b.n);
    check_refused("x.sam", CS_EFORMAT,
                  "'x.sam' line 4: not a valid SAM record; -v shows htslib's reason");
    put_text("x.sam", "a\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n");
    check_refused("x.sam", CS_EFORMAT, "'x.sam' line 1: not a valid SAM record; there is no "
                  "header, which 'samtools view' writes with -h");
    put_text("x.sam", header);
    check_reads("x.sam", 0, "");
    free(b.p);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    put_sam();
    convert("x.bam", "wb");
    for (long at = 0;; at++) {
        cs_chunk *c;
        const cs_input_opt opt = { .threads = 0 };
        cs_mem_fail_at(at);
        const int rc = read_all("x.bam", &opt, &c);
        cs_mem_fail_at(-1);
        cs_error_clear();
        cs_chunk_free(c);
        if (rc == CS_OK) {
            assert_true(at > 20);
            return;
        }
        assert_int_equal(rc, CS_EMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_primary_on_sequenced_strand),
        cmocka_unit_test(test_cram_and_its_reference), cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_lengths_of_reads_in_cram),
        cmocka_unit_test(test_bad_sam), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, inputs_setup, inputs_teardown);
}
