/* args.c - options that commands share: threads, stream, verbosity. */
#include "infer/args.h"

#include "base/cpu.h"
#include "base/outfile.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/io_init.h"

const cs_opt cs_compute_table[] = {
    { .type = CS_OPT_GROUP, .name = "Compute" },
    { .type = CS_OPT_INT, .letter = '@', .name = "threads",
      .off = offsetof(cs_compute_args, threads), .arg = "NUM",
      .help = "total number of threads, also -t (default: one per processor)",
      .man = "Processors outside of the CPU affinity mask or above the quota of the control "
             "group (containers, batch systems) do not count. With 8 or more threads, an eighth "
             "(rounded down) is for decompression. Reading, tokenising, batching and writing use "
             "one thread each while they work; the network uses the others, for several small "
             "batches or one large batch. Predictions do not depend on this number.",
      .min = 1, .max = 4096, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

static const char *const off_on[] = { "off", "on", NULL };

const cs_opt cs_stream_table[] = {
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens",
      .off = offsetof(cs_stream_args, batch_tokens), .arg = "NUM", .def = "auto",
      .choice = cs_opt_auto, .help = "tokens per batch, or auto",
      .man = "A longer sequence is a batch of its own. The memory of the network grows with this "
             "number and with the longest sequence. Predictions do not depend on it, except for "
             "rounding on GPUs. auto is chosen before input is read: on a GPU 4194304, halved "
             "until the network needs at most nine tenths of the free memory (of the GPU with the "
             "least); on the CPU 65536, halved until it needs at most half of the free memory of "
             "the system and the control group. --verbose reports the number. If an allocation "
             "still fails, the limit is halved once, with a warning.",
      .min = 1, .max = 1e9, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_INT, .name = "chunks-in-flight",
      .off = offsetof(cs_stream_args, chunks_in_flight),
      .arg = "NUM", .def = "128",
      .help = "chunks of about 128 kilobases in the pipeline",
      .man = "Memory is (NUM + 8) / 4 MiB, plus batches, network, and 2 bytes per base of the "
             "longest sequence, up to 7 with qualities; it does not grow with the size of the "
             "input. More chunks fill batches better if lengths are mixed. Predictions do not "
             "depend on this number.",
      .min = 1, .max = 65536, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_ENUM, .name = "check-finite", .off = offsetof(cs_stream_args, check_finite),
      .arg = "WHEN", .def = "on", .choice = off_on,
      .help = "fail on non-finite predictions: on or off",
      .man = "on: infinity and NaN are errors, reported with the record. off: they are written, "
             "and chordseq-classify(1) calls no class.",
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

const cs_opt cs_log_table[] = {
    { .type = CS_OPT_GROUP, .name = "Messages" },
    { .type = CS_OPT_FLAG, .letter = 'q', .name = "quiet", .off = offsetof(cs_log_args, quiet),
      .help = "no progress, no summary; repeat to print errors only",
      .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_FLAG, .letter = 'v', .name = "verbose", .off = offsetof(cs_log_args, verbose),
      .help = "more log messages; repeat for all", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_INT, .name = "verbosity", .off = offsetof(cs_log_args, verbosity),
      .arg = "LEVEL", .def = "3",
      .help = "0: silent, 1: errors, 3: warnings and summary, 4: as -v, 5: as -vv",
      .man = "The levels of samtools and htslib; 2 equals 1, and 6 or more equals 5. -v raises the "
             "level by one, -q limits it.",
      .min = 0, .max = 100, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_FLAG, .name = "force", .off = offsetof(cs_log_args, force),
      .help = "also overwrite files of sequences, alignments or variants",
      .man = "By default, an output replaces such a file only if it is of the same kind, so that a "
             "missing value in '--report reads.fa' does not destroy "
             "reads.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

static cs_log_level level_of(const cs_log_args *log)
{
    static const cs_log_level of_htslib[] = {
        CS_LOG_SILENT, CS_LOG_ERROR, CS_LOG_ERROR, CS_LOG_NOTE, CS_LOG_INFO, CS_LOG_DEBUG,
    };
    const int64_t max = sizeof of_htslib / sizeof *of_htslib - 1;
    const int64_t at = log->verbosity + log->verbose;
    const cs_log_level limit = log->quiet == 0 ? CS_LOG_DEBUG
                             : log->quiet == 1 ? CS_LOG_WARN : CS_LOG_ERROR;
    const cs_log_level level = of_htslib[at < max ? at : max];

    return level < limit ? level : limit;
}

static void apply_log(const cs_log_args *log)
{
    cs_log_set_level(level_of(log));
    cs_io_init();                              /* set htslib's log level to ours */
    if (log->force)
        cs_outfile_protect(NULL);
}

int cs_args_parse(const cs_optset *set, int argc, char **argv, cs_strlist *operand,
                  const cs_log_args *log)
{
    int rc = CS_OK, n = 0;
    const char **rest = cs_xcalloc((size_t)argc + 1, sizeof *rest);

    cs_opt_defaults(set);
    CS_TRY(cs_opt_parse(set, argc, argv, rest, &n));
    if (log)
        apply_log(log);
    if (n > 0 && !operand) {
        rc = cs_fail(CS_EUSAGE, "unexpected argument '%s'; this command takes options only, which "
                     "--help lists", rest[0]);
        goto out;
    }
    for (int i = 0; i < n; i++)
        CS_TRY(cs_strlist_add(operand, rest[i]));
    rc = cs_opt_add_paths(set);
out:
    free(rest);
    return rc;
}

cs_thread_counts cs_args_threads(const cs_compute_args *a)
{
    const int n = a->threads > 0 ? (int)a->threads : cs_cpu_count();

    return (cs_thread_counts){ .work = n - n / 8, .inflate = n / 8 };
}
