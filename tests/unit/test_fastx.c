/* test_fastx.c - FASTA and FASTQ: variants in use, and damaged files. */
#include "inputs.h"

#include "io/source.h"

enum { PIECE = 1 << 18 };        /* as in source.c: where text is cut into pieces */

struct sound { const char *text, *want; };

static void check_sound(const struct sound *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_text("x", t[i].text);
        check_reads("x", 0, t[i].want);
    }
}

static void test_fasta(void **state)
{
    (void)state;
    static const struct sound t[] = {
        { "", "" },
        { "\n\n", "" },
        { ">a\nACGT\n", "a[]=ACGT" },
        { ">a\nACGT", "a[]=ACGT" },
        { ">a b c\nAC\nGT\n>b\nTT\n", "a[b c]=ACGT b[]=TT" },
        { ">a\r\nAC\r\nGT\r\n", "a[]=ACGT" },
        { ">a\r\nAC\r\nGT\r", "a[]=ACGT" },
        { ">a\rAC\rGT\r>b\rT", "a[]=ACGT b[]=T" },
        { "\n\r\n>a\n\nAC\n\n\nGT\n\n>b\n", "a[]=ACGT b[]=" },
        { ">a\n>b\n>c", "a[]= b[]= c[]=" },
        { ">\nAC\n", "[]=AC" },
        { ">", "[]=" },
        { "> a  b \nAC\n", "a[b ]=AC" },
        { ">a\tx\ty\nAC\n", "a[x\ty]=AC" },
        { ">a\nacgtunryswkmbdhv\n", "a[]=ACGTTNRYSWKMBDHV" },
        { ">a\nAC-GT.A*\n", "a[]=ACNGTNAN" },
        { ">a\nAC GT\t A \n  C\n", "a[]=ACGTAC" },
        { ">a\nACxGX\n", "a[]=ACNGN" },
        { ">a>b\nAC\n", "a>b[]=AC" },
        { "\xEF\xBB\xBF>a\nAC\n", "a[]=AC" },
        { ">\xC3\xA4 \xC3\xB6\nAC\n", "\xC3\xA4[\xC3\xB6]=AC" },
    };
    check_sound(t, sizeof t / sizeof *t);
}

static void test_fastq(void **state)
{
    (void)state;
    static const struct sound t[] = {
        { "@a\nACGT\n+\nIIII\n", "a[]=ACGT/IIII" },
        { "@a\nACGT\n+\nIIII", "a[]=ACGT/IIII" },
        { "@a b\nACGT\n+a\n!~5I\n@c\nA\n+c d\n@\n", "a[b]=ACGT/!~5I c[]=A/@" },
        { "@a\r\nACGT\r\n+\r\nIIII\r\n", "a[]=ACGT/IIII" },
        { "@a\rACGT\r+\rIIII\r@b\rA\r+\rI", "a[]=ACGT/IIII b[]=A/I" },
        { "@a\nAC\nGT\nA\n+\n@>\n+I\n>\n@b\nC\n+\n>\n", "a[]=ACGTA/@>+I> b[]=C/>" },
        { "@a\nACGT\n+\nII\nII\n", "a[]=ACGT/IIII" },
        { "@a\nAC\nGT\n+\nIIII\n", "a[]=ACGT/IIII" },
        { "@a\n\n+\n\n@b\n+\n@c\nA\n+\nI\n", "a[]=/ b[]=/ c[]=A/I" },
        { "\n@a\nA\n+\nI\n\n\n@b\nC\n+\nJ\n\n", "a[]=A/I b[]=C/J" },
        { "@a\nacgu\n+\nIIII\n", "a[]=ACGT/IIII" },
        { "@\nA\n+\nI\n", "[]=A/I" },
    };
    check_sound(t, sizeof t / sizeof *t);
}

/* No end of line, record or number may depend on where a piece of text ends. */
static void check_at_pieces(const char *text, const char *want)
{
    const size_t n = strlen(text);
    for (size_t k = 0; k <= n; k++) {
        bytes b = { NULL, 0, 0 }, z = { NULL, 0, 0 }, all = { NULL, 0, 0 };
        const char *head = *text == '>' ? ">p\n" : "@p\n";
        const size_t n_base = *text == '>' ? PIECE - 4 - k : (PIECE - 6 - k - k % 2) / 2;
        char *base = malloc(n_base + 1);
        memset(base, 'A', n_base);
        base[n_base] = '\n';
        add_text(&b, head);
        if (*text == '@' && k % 2)
            add_text(&b, "\n");
        add(&b, base, n_base + 1);
        if (*text == '@') {
            add_text(&b, "+\n");
            add(&b, base, n_base + 1);
        }
        add_text(&b, text);
        add_gzip(&z, b.p, b.n);
        add_text(&all, "p[]=");
        add(&all, base, n_base);
        add_text(&all, *text == '@' ? "/" : "");
        add(&all, base, *text == '@' ? n_base : 0);
        add_text(&all, " ");
        add_text(&all, want);
        put_file("x", b.p, b.n);
        check_reads("x", 0, (char *)all.p);
        put_file("x", z.p, z.n);
        check_reads("x", 0, (char *)all.p);
        free(base);
        free(b.p);
        free(z.p);
        free(all.p);
    }
}

static void test_any_piece_boundary(void **state)
{
    (void)state;
    check_at_pieces(">a b\r\nACX\r\n\r\nGT\r\n>c\r\n", "a[b]=ACNGT c[]=");
    check_at_pieces("@a b\r\nAC\r\nG\r\n+a\r\n@>\r\n+\r\n@c\nA\n+\nI", "a[b]=ACG/@>+ c[]=A/I");
}

static void check_broken(const char *text, size_t n, const char *message)
{
    put_file("x", text, n);
    check_refused("x", CS_EFORMAT, message);
}

static void test_broken_text(void **state)
{
    (void)state;
    static const struct { const char *text, *message; } t[] = {
        { "hello\n", "'x' line 1: expected '>' or '@' at the start of a record, got 'hello'" },
        { "\n\n  >a\nAC\n",
          "'x' line 3: expected '>' or '@' at the start of a record, got '  >a'" },
        { "LOCUS       NC_1 10 bp\n",
          "'x' line 1: looks like GenBank; a FASTA or FASTQ record begins with '>' or '@'" },
        { "\xff\xfe>", "'x' line 1: looks like UTF-16; a FASTA or FASTQ record begins with '>' or "
          "'@'" },
        { "S\t1\tACGT\n", "'x' line 1: looks like GFA; extract its sequences first: awk '/^S/ { "
          "print \">\" $2; print $3 }' FILE | chordseq ... -" },
        { "\x8bPOD\r\n\x1a\n", "'x' line 1: looks like POD5; it has signals; call their bases "
          "first, for example with dorado" },
        { "\x04\x22\x4d\x18\x64\x40\xa7", "'x' is compressed with lz4, which is not supported; "
          "decompress it first: lz4 -dc FILE | chordseq ... -" },
        { "\x1f\x9d\x90", "'x' is compressed with compress, which is not supported; decompress it "
          "first: gzip -dc FILE | chordseq ... -" },
        { "7z\xbc\xaf\x27\x1c", "'x' is a 7z archive; extract its files (7z x), or pipe them in: "
          "7z x -so FILE | chordseq ... -" },
        { ">p\nACDEFG\n",
          "'x' line 2: 'E' in the sequence of record 'p' is not a nucleotide code; is this protein?"
        },
        { ">p\nAC\nAC1\n",
          "'x' line 3: '1' in the sequence of record 'p' is not a nucleotide code" },
        { ">p\nAC\x01\n",
          "'x' line 2: byte 0x01 in the sequence of record 'p' is not a nucleotide code" },
        { ">p\nAC\rGT\n",
          "'x' line 2: byte 0x0d in the sequence of record 'p' is not a nucleotide code" },
        { "@a\nACGT\n+\nIII\n@b\nA\n+\nI\n",
          "'x' line 4: record 'a' has 4 bases but 3 quality characters" },
        { "@a\nACGT\n+\nIIIII\n", "'x' line 4: record 'a' has 4 bases but 5 quality characters" },
        { "@a\nACGT\n+\nII I\n",
          "'x' line 4: byte 0x20 in the quality of record 'a' is not in '!' .. '~'" },
        { "@a\nACGT\n+\nII\x7fI\n",
          "'x' line 4: byte 0x7f in the quality of record 'a' is not in '!' .. '~'" },
        { "@a\nACGT\n+b\nIIII\n", "'x' line 3: '+' repeats the name 'b', but the record is 'a'" },
        { "@a\nACGT\nIIII\n@b\n",
          "'x' line 3: 'I' in the sequence of record 'a' is not a nucleotide code; is this protein?"
        },
        { "@a\nACGT\n@b\nA\n+\nI\n", "'x' line 3: '@' in the sequence of record 'a' is not a "
          "nucleotide code; is the line with '+' missing?" },
        { "@a\nA\n+\nI\n>b\nA\n", "'x' line 5: FASTA and FASTQ records are mixed (or the "
          "previous record is damaged): expected '@', got '>b'" },
        { "@a\nA\n+\nI\njunk\n", "'x' line 5: expected '@' at the start of a record, got 'junk'" },
        { "@a\nAC\n", "'x' line 3: the file ends before the '+' line of record 'a'; it is "
          "probably truncated" },
        { "@a\nACGT\n+\n", "'x' line 4: the file ends in the quality of record 'a'; it is "
          "probably truncated" },
        { "@a\nACGT\n+\nII\n", "'x' line 5: the file ends in the quality of record 'a'; it is "
          "probably truncated" },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        check_broken(t[i].text, strlen(t[i].text), t[i].message);
    check_broken(">a\n\nAC\n>b\rc\nAC\n", 15,
                 "'x' line 4: mixed line endings (CR and LF)");
    check_broken(">a\0b\nAC\n", 8, "'x' line 1: a NUL byte; not a text file");
    check_broken(">a\nA\0C\n", 7,
                 "'x' line 2: byte 0x00 in the sequence of record 'a' is not a nucleotide code");
    check_broken("@a\nAC\n+\nI\0\n", 11, "'x' line 4: a NUL byte; not a text file");
}

static void test_other_formats(void **state)
{
    (void)state;
    put_text("x", "##fileformat=VCFv4.2\n#CHROM\tPOS\n");
    check_refused("x", CS_EFORMAT, "'x' is not a sequence file (VCF version 4.2 variant calling "
                  "text); supported formats are FASTA, FASTQ, SAM, BAM and CRAM");
    put_file("x", "\xFD" "7zXZ\0\0\x04\xe6\xd6\xb4\x46", 12);
    check_refused("x", CS_EFORMAT, "'x' is compressed with xz, which is not supported; "
                  "decompress it first: xz -dc FILE | chordseq ... -");
    put_file("x", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    check_refused("x", CS_EFORMAT,
                  "'x' line 1: looks like PNG; a FASTA or FASTQ record begins with '>' or '@'");
    check_refused("nosuch", CS_EIO, "cannot open 'nosuch': No such file or directory");
    check_refused(".", CS_EIO, "cannot read '.': Is a directory");
}

/* Counts of unusual but accepted input, and X as N. */
static void test_counts(void **state)
{
    (void)state;
    cs_chunk *c;
    cs_input_count count = { 0 };
    const cs_input_opt opt = { .count = &count };
    put_text("x", ">a\nAC\n>b\nXX\n>c\nNN\n>d\nx\n");
    assert_int_equal(read_all("x", &opt, &c), CS_OK);
    assert_int_equal(count.outside_iupac.n, 2);
    assert_string_equal(count.outside_iupac.first, "b");
    assert_int_equal(c->rec[3].serial, 3);
    assert_int_equal(c->n_base, 7);
    cs_chunk_free(c);

    bytes b = { NULL, 0, 0 };
    add_bgzf(&b, ">a\nAC\n", 6, 4);
    put_file("x", b.p, b.n);
    assert_int_equal(read_all("x", &opt, &c), CS_OK);
    assert_int_equal(count.no_end_marker.n, 1);
    cs_chunk_free(c);
    add_bgzf(&b, "", 0, 1);
    put_file("x", b.p, b.n);
    assert_int_equal(read_all("x", &opt, &c), CS_OK);
    assert_int_equal(count.no_end_marker.n, 1);
    cs_chunk_free(c);
    free(b.p);
}

static const char small[] = ">a\nACGTACGTTGCA\n>b c\nGGGTACCATGAGGATACA\n>d\nTTAGGACAATTA\n";
static const char small_read[] = "a[]=ACGTACGTTGCA b[c]=GGGTACCATGAGGATACA d[]=TTAGGACAATTA";

/* Members of any kind one after the other, in every order that `cat` can make. */
static void test_members(void **state)
{
    (void)state;
    for (int order = 0; order < 81; order++) {
        bytes b = { NULL, 0, 0 };
        size_t at = 0;
        for (int i = 0, o = order; i < 4; i++, o /= 3) {
            const size_t n = i < 3 ? 17 : sizeof small - 1 - at;
            if (o % 3 == 0)
                add_gzip(&b, small + at, n);
            else if (o % 3 == 1)
                add_bgzf(&b, small + at, n, 5);
            else
                add_gzip(&b, "", 0), add_bgzf(&b, small + at, n, 100), add_bgzf(&b, "", 0, 1);
            at += n;
        }
        put_file("x", b.p, b.n);
        check_reads("x", order % 3, small_read);
        add(&b, "\0\0\0\0", 4);                  /* padding, as tapes leave it */
        put_file("x", b.p, b.n);
        check_reads("x", order % 3, small_read);
        free(b.p);
    }
}

/* Truncated anywhere but between members: refused. Any bit flipped: refused, or the text is the
 * same. */
static void check_damage(const bytes *b, const size_t *end, int n_end)
{
    for (size_t n = 1; n < b->n; n++) {
        cs_chunk *c;
        const cs_input_opt opt = { .threads = 0 };
        bool between = false;
        for (int i = 0; i < n_end; i++)
            between |= n == end[i];
        put_file("x", b->p, n);
        const int rc = read_all("x", &opt, &c);
        assert_true(between ? rc == CS_OK : rc == CS_EFORMAT);
        cs_error_clear();
        cs_chunk_free(c);
    }
    for (size_t bit = 0; bit < 8 * b->n; bit++) {
        cs_chunk *c;
        const cs_input_opt opt = { .threads = 0 };
        b->p[bit / 8] ^= (unsigned char)(1 << bit % 8);
        put_file("x", b->p, b->n);
        if (read_all("x", &opt, &c) == CS_OK) {
            char *got = show_records(c);
            assert_string_equal(got, small_read);
            free(got);
        }
        cs_error_clear();
        cs_chunk_free(c);
        b->p[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void test_damaged_gzip(void **state)
{
    (void)state;
    bytes b = { NULL, 0, 0 };
    size_t end[4];
    add_gzip(&b, small, 16);
    end[0] = b.n;
    add_gzip(&b, small + 16, sizeof small - 17);
    check_damage(&b, end, 1);

    b.p[b.n - 5] ^= 1;           /* the checksum's last byte */
    put_file("x.gz", b.p, b.n);
    check_refused("x.gz", CS_EFORMAT, "'x.gz': compressed data has a wrong checksum after record "
                  "'b' (line 7); the file is damaged; download it again");
    b.p[b.n - 5] ^= 1;
    put_file("x.gz", b.p, b.n - 9);
    check_refused("x.gz", CS_EFORMAT, "'x.gz': compressed data ends early after record 'b' (line "
                  "7); the file is probably truncated");
    add_text(&b, "hello");
    put_file("x.gz", b.p, b.n);
    check_refused("x.gz", CS_EFORMAT, "'x.gz': something that is not gzip follows the compressed "
                  "data after record 'b' (line 7); the file is damaged; download it again");
    put_file("x.gz", b.p, 10);
    check_refused("x.gz", CS_EFORMAT, "'x.gz': compressed data ends early before the end of the "
                  "first record (line 1); the file is probably truncated");
    b.n = 0;
    add_bgzf(&b, small, 16, 16);
    end[0] = b.n;
    add_bgzf(&b, small + 16, sizeof small - 17, 1 << 16);
    end[1] = b.n;
    add_bgzf(&b, "", 0, 1);
    check_damage(&b, end, 2);

    b.p[end[1] - 1] = 1;         /* the length's last byte */
    put_file("x.gz", b.p, b.n);
    check_refused("x.gz", CS_EFORMAT, "'x.gz': a BGZF block has an impossible size before the "
                  "end of the first record (line 3); the file is damaged; download it again");
    free(b.p);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    bytes text = { NULL, 0, 0 }, b = { NULL, 0, 0 };
    char head[32];
    for (int i = 0; i < 40000; i++) {
        snprintf(head, sizeof head, "@r%d\n%.*s\n+\n%.*s\n", i, i % 6, "ACGTA", i % 6, "IIHHG");
        add_text(&text, head);
    }
    add_bgzf(&b, text.p, text.n, 4096);
    add_gzip(&b, text.p, text.n);
    add_bgzf(&b, text.p, text.n, 65280);
    put_file("x", b.p, b.n);
    cs_chunk *c;
    const cs_input_opt one = { .threads = 0 };
    assert_int_equal(read_all("x", &one, &c), CS_OK);
    assert_int_equal(c->n, 3 * 40000);
    char *want = show_records(c);
    cs_chunk_free(c);
    check_reads("x", 1, want);
    check_reads("x", 7, want);
    check_reads("x", 40, want);
    free(want);
    free(text.p);
    free(b.p);
}

static void test_long_record(void **state)
{
    (void)state;
    cs_chunk *c;
    const cs_input_opt opt = { .threads = 0 };
    bytes b = { NULL, 0, 0 }, z = { NULL, 0, 0 };
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        b.n = z.n = 0;
        add_text(&b, ">long\n");
        for (int i = 0; i < 100000; i++) {
            char line[102];
            memset(line, "ACGT"[i % 4], 100);
            line[100] = '\n';
            add(&b, line, wrapped ? 101 : 100);
        }
        add_gzip(&z, b.p, b.n);
        for (int gz = 0; gz < 2; gz++) {
            put_file("x", gz ? z.p : b.p, gz ? z.n : b.n);
            assert_int_equal(read_all("x", &opt, &c), CS_OK);
            assert_int_equal(c->n, 1);
            assert_int_equal(c->rec[0].seg[0].n_base, 10000000);
            for (int64_t i = 0; i < 10000000; i++)
                if (c->rec[0].seg[0].base[i] != "ACGT"[i / 100 % 4])
                    fail_msg("wrong base at %lld", (long long)i);
            cs_chunk_free(c);
        }
    }
    free(b.p);
    free(z.p);
}

/* Any failed allocation is reported without leaks (checked by the sanitizer build). */
static void check_memory(const char *want)
{
    for (long at = 0;; at++) {
        cs_chunk *c;
        const cs_input_opt opt = { .threads = 0 };
        cs_mem_fail_at(at);
        const int rc = read_all("x", &opt, &c);
        cs_mem_fail_at(-1);
        if (rc == CS_OK) {
            char *got = show_records(c);
            assert_string_equal(got, want);
            free(got);
            cs_chunk_free(c);
            assert_true(at > 5);
            return;
        }
        assert_int_equal(rc, CS_EMEM);
        cs_error_clear();
        cs_chunk_free(c);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    bytes b = { NULL, 0, 0 };
    put_text("x", small);
    check_memory(small_read);
    add_bgzf(&b, small, sizeof small - 1, 20);
    put_file("x", b.p, b.n);
    check_memory(small_read);
    put_text("x", "@a b\nACGT\n+a\nIIII\n");
    check_memory("a[b]=ACGT/IIII");
    free(b.p);
}

static void test_several_inputs(void **state)
{
    (void)state;
    static const char *const path[] = { "a.fa", "empty", "b.fq" };
    const cs_input_opt opt = { .threads = 0 };
    cs_inputs *in;
    cs_chunk *c = cs_chunk_new(0);
    put_text("a.fa", ">a\nAC\n>b\nX\n");
    put_text("empty", "");
    put_text("b.fq", "@c\nA\n+\nI\n");
    assert_int_equal(cs_inputs_open(path, 3, &opt, &in), CS_OK);
    assert_int_equal(cs_inputs_size(in), 20);
    static const int from[] = { 0, 0, 2 };
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(cs_inputs_next(in, c), CS_OK);
        assert_int_equal(c->rec[i].serial, i);
        assert_int_equal(cs_inputs_index(in), from[i]);
    }
    assert_int_equal(cs_inputs_next(in, c), CS_EOF);
    assert_int_equal(cs_inputs_next(in, c), CS_EOF);
    assert_int_equal(cs_inputs_tell(in), 20);
    check_stderr err = check_stderr_begin();
    cs_inputs_report(in);
    char *text = check_stderr_end(err);
    assert_non_null(strstr(text, "1 of 3 records contains X, read as N; first: 'b'"));
    free(text);
    cs_inputs_close(in);
    cs_inputs_close(NULL);
    cs_chunk_free(c);

    static const char *const missing[] = { "a.fa", "nosuch" };
    c = cs_chunk_new(0);
    assert_int_equal(cs_inputs_open(missing, 2, &opt, &in), CS_OK);
    assert_int_equal(cs_inputs_size(in), 0);
    assert_int_equal(cs_inputs_next(in, c), CS_OK);
    assert_int_equal(cs_inputs_next(in, c), CS_OK);
    assert_int_equal(cs_inputs_next(in, c), CS_EIO);
    cs_error_clear();
    cs_inputs_close(in);
    cs_chunk_free(c);
}

/* The descriptor that comes next when a file is opened. */
static int next_descriptor(void)
{
    const int fd = dup(0);

    assert_true(fd > 0 && close(fd) == 0);
    return fd;
}

static void test_ignored_error_is_cleared(void **state)
{
    (void)state;
    const cs_input_opt opt = { .keep_native = true };
    const void *header;
    cs_inputs *in;

    put_text("a.fa", ">a\nAC\n>b\nA\n");
    assert_int_equal(cs_inputs_open(&(const char *){ "a.fa" }, 1, &opt, &in), CS_OK);
    bool divided;
    const int fd = next_descriptor();
    assert_int_equal(cs_inputs_header(in, NULL, &header), CS_OK);
    assert_int_equal(close(fd), 0);          /* so that closing it once more is an error */
    assert_int_equal(cs_inputs_divide(in, 0, 1, &divided), CS_OK);
    assert_true(divided);
    assert_string_equal(cs_error_message(), "");
    cs_chunk *c = cs_chunk_new(0);
    assert_int_equal(cs_inputs_next(in, c), CS_OK);
    cs_chunk_free(c);
    cs_inputs_close(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignored_error_is_cleared),
        cmocka_unit_test(test_fasta), cmocka_unit_test(test_fastq),
        cmocka_unit_test(test_any_piece_boundary), cmocka_unit_test(test_broken_text),
        cmocka_unit_test(test_other_formats), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_members), cmocka_unit_test(test_damaged_gzip),
        cmocka_unit_test(test_threads_do_not_matter), cmocka_unit_test(test_long_record),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_several_inputs),
    };
    return cmocka_run_group_tests(tests, inputs_setup, inputs_teardown);
}
