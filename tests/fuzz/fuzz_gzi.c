/* fuzz_gzi.c - indexes of a BGZF file from arbitrary bytes: no crash; for any index,
 * the records of all parts of the file are its records, once and in order. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/gzi.h"
#include "io/io_init.h"
#include "io/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Reading begins 64 KiB before a part, so the file must be several times as long. */
enum { N_RECORD = 4000, N_PART = 3, LINE_BYTES = 60, BLOCK_LINES = 7 };

static char path[] = "/tmp/chordseq_fuzz_XXXXXX", index_path[sizeof path + sizeof ".gzi"];
static int64_t file_bytes;

static void remove_files(void)
{
    unlink(path);
    unlink(index_path);
}

static void put(FILE *f, const void *p, size_t n)
{
    CS_BUG(n && fwrite(p, 1, n, f) != n);
}

/* A stored (uncompressed) block: its text cannot look like the start of another block. */
static void put_block(FILE *f, const char *text, size_t n)
{
    const uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)text, (uInt)n);
    const size_t last = 18 + 5 + n + 8 - 1;
    const unsigned char head[] = {
        31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2, 0, (unsigned char)last,
        (unsigned char)(last >> 8), 1, (unsigned char)n, (unsigned char)(n >> 8),
        (unsigned char)~n, (unsigned char)(~n >> 8),
    };
    const unsigned char tail[] = {
        (unsigned char)crc, (unsigned char)(crc >> 8), (unsigned char)(crc >> 16),
        (unsigned char)(crc >> 24), (unsigned char)n, (unsigned char)(n >> 8), 0, 0,
    };

    put(f, head, sizeof head);
    put(f, text, n);
    put(f, tail, sizeof tail);
}

/* Records of one line each, whose names are their numbers; blocks end within some of them. */
static void start(void)
{
    char text[LINE_BYTES * BLOCK_LINES];
    size_t n = 0;
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");

    CS_BUG(!f);
    (void)snprintf(index_path, sizeof index_path, "%s.gzi", path);
    atexit(remove_files);
    cs_log_set_level(CS_LOG_ERROR);
    cs_io_init();
    for (int i = 0; i < N_RECORD; i++) {
        char record[LINE_BYTES + 1];
        const int n_record = snprintf(record, sizeof record, ">%d\n%.*s\n", i, 20 + i % 23,
                                      "ACGTACGGTACCATGACGATACGACTAGCATCAGACTACGTTGACA");
        for (int k = 0; k < n_record; k++) {
            text[n++] = record[k];
            if (n < sizeof text)
                continue;
            put_block(f, text, n);
            n = 0;
        }
    }
    put_block(f, text, n);
    put_block(f, "", 0);
    CS_BUG(fclose(f) != 0);
    file_bytes = cs_file_size(path);
}

static void put_index(const uint8_t *data, size_t n_bytes)
{
    FILE *f = fopen(index_path, "wb");

    CS_BUG(!f);
    put(f, data, n_bytes);
    CS_BUG(fclose(f) != 0);
}

/* Record numbers of a part continue those of the part before. */
static int read_part(int part, int n_before)
{
    const cs_input_opt opt = { .threads = 0 };
    const char *const paths[] = { path };
    char name[16];
    cs_inputs *in = NULL;
    bool divided;
    int rc, n = 0;

    CS_BUG(cs_inputs_open(paths, 1, &opt, &in) != CS_OK);
    CS_BUG(cs_inputs_divide(in, part, N_PART, &divided) != CS_OK || !divided);
    do {
        cs_chunk *c = cs_chunk_new(0);
        CS_BUG(!c);
        while ((rc = cs_inputs_next(in, c)) == CS_OK && c->n < N_RECORD)
            ;
        for (int i = 0; i < c->n; i++, n++) {
            (void)snprintf(name, sizeof name, "%d", n_before + n);
            CS_BUG(strcmp(c->rec[i].name, name) != 0);
            CS_BUG(c->rec[i].seg[0].n_base != 20 + (n_before + n) % 23);
        }
        cs_chunk_drop(c);
    } while (rc == CS_OK);
    CS_BUG(rc != CS_EOF || n == 0);
    cs_inputs_close(in);
    return n_before + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    int n = 0;

    if (file_bytes == 0)
        start();
    put_index(data, n_bytes);
    CS_BUG(cs_gzi_text_bytes(path) < -1);
    for (int64_t at = 0; at < file_bytes; at += file_bytes / 7) {
        const int64_t before = cs_gzi_before(path, at);
        CS_BUG(before < 0 || before > at);
    }
    for (int part = 0; part < N_PART; part++)
        n = read_part(part, n);
    CS_BUG(n != N_RECORD);
    return 0;
}
