/* ingest.c - read files as the program does and say in one line each what became of them.
 *
 * Usage: ingest [-r REFERENCE] [-t THREADS] FILE...
 * Prints FILE, a tab, and "ok N records M bases" or the message that refuses it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/opt.h"
#include "io/reader.h"

/* Every record into a chunk of its own, so that memory tools see each one's bounds. */
static int count(const char *path, const cs_input_opt *opt, int64_t *n_record, int64_t *n_base)
{
    int rc = CS_OK;
    cs_input *in = NULL;
    *n_record = *n_base = 0;
    CS_TRY(cs_input_open(path, opt, &in));
    while (rc == CS_OK) {
        cs_chunk *c = cs_chunk_new(0);
        if (!c)
            rc = cs_fail(CS_EMEM, "out of memory");
        else
            rc = cs_input_next(in, c);
        if (rc == CS_OK) {
            *n_record += c->n;
            *n_base += c->n_base;
        }
        cs_chunk_free(c);
    }
    if (rc == CS_EOF)
        rc = CS_OK;
out:
    if (cs_input_close(in) != CS_OK && rc == CS_OK)
        rc = CS_EIO;
    return rc;
}

int main(int argc, char **argv)
{
    cs_input_opt opt = { 0 };
    int64_t threads = 0, n_record, n_base;
    int c;
    cs_log_set_level(CS_LOG_WARN);
    cs_io_init();
    while ((c = getopt(argc, argv, "r:t:")) != -1) {
        if (c == 'r')
            opt.reference = optarg;
        else if (c != 't' || cs_parse_int(optarg, &threads) != CS_OK)
            return 2;
    }
    opt.threads = (int)threads;
    for (int i = optind; i < argc; i++) {
        cs_error_clear();
        if (count(argv[i], &opt, &n_record, &n_base) == CS_OK)
            printf("%s\tok %lld records %lld bases\n", argv[i], (long long)n_record,
                   (long long)n_base);
        else
            printf("%s\t%s\n", argv[i], cs_error_message());
    }
    return 0;
}
