/* resume.c - run a stream whose outputs are saved, to be resumed after an interruption. */
#include "run/resume.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"

struct job {
    cs_outputs *out;
    cs_journal *journal;
    double      every_s, saved_s;    /* saved_s: when the journal was written last */
    json_t   *(*more)(const void *arg);
    const cs_stream *inner;          /* its sink gets the records */
};

static int save(struct job *j)
{
    int rc = CS_OK;
    json_t *state = NULL, *more = NULL;

    CS_TRY(cs_outputs_save(j->out, &state));
    if (j->more && !(more = j->more(j->inner->arg))) {
        json_decref(state);
        return cs_fail(CS_EMEM, "out of memory for the journal");
    }
    rc = cs_journal_write(j->journal, cs_outputs_first(j->out)->n_record, state, more);
    j->saved_s = cs_now_s();
out:
    return rc;
}

static int record_and_save(void *job, const cs_record *r, const cs_prediction *a)
{
    struct job *j = job;
    const int rc = j->inner->sink(j->inner->arg, r, a);

    return rc == CS_OK && cs_now_s() - j->saved_s >= j->every_s ? save(j) : rc;
}

/* Skip the records that are classified already; the journal has checked that the input is the
 * same. */
static int skip(const cs_stream *s, uint64_t n)
{
    uint64_t n_done;
    int (*next)(void *source, cs_chunk *c);
    void *source;

    cs_stream_own_next(s, &next, &source);
    int rc = cs_stream_skip(next, source, n, &n_done);
    if (rc == CS_EOF)
        rc = cs_fail(CS_EFORMAT, "the input has fewer than the %llu records classified before "
                     "the interruption; restore it, or remove the journal (.resume) to start over",
                     (unsigned long long)n);
    if (rc == CS_OK)
        cs_note("resuming after %llu %s", (unsigned long long)n, CS_PLURAL(n, "record", "records"));
    return rc;
}

int cs_resume_run(cs_outputs *out, cs_journal *journal, double every_s,
                  json_t *(*more)(const void *arg), const cs_stream *s, cs_stream_stat *stat)
{
    int rc = CS_OK;
    const uint64_t n = cs_journal_records(journal);
    struct job j = { out, journal, every_s, cs_now_s(), more, s };
    cs_stream saved = *s;

    saved.sink = record_and_save;
    saved.arg = &j;
    if (n > 0)
        CS_TRY(skip(s, n));
    else
        cs_note("--resume: no record is finished yet; starting at the first one");
    rc = cs_stream_run(&saved, stat);
    /* On a signal: everything written is complete, so keep it. */
    if (rc == CS_ECANCEL && save(&j) != CS_OK)
        return CS_EIO;
    if (rc == CS_ECANCEL && cs_signal_caught() != 0)
        cs_note("interrupted after %llu %s; run the same command to resume",
                (unsigned long long)cs_outputs_first(out)->n_record,
                CS_PLURAL(cs_outputs_first(out)->n_record, "record", "records"));
    if (rc == CS_OK)
        CS_TRY(cs_outputs_finish(out));
    /* The caller renames outputs one after the other. After a crash between two of them a journal
     * would ask for a NAME.part that has its final name; without one, the run starts over. */
    if (rc == CS_OK)
        cs_journal_remove(journal);
out:
    return rc;
}
