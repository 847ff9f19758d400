/* log.h - messages to stderr: levels, whole lines, counted warnings, progress. */
#ifndef CS_BASE_LOG_H
#define CS_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* CS_LOG_NOTE is the default: progress and the summary, too. */
typedef enum cs_log_level {
    CS_LOG_SILENT, CS_LOG_ERROR, CS_LOG_WARN, CS_LOG_NOTE, CS_LOG_INFO, CS_LOG_DEBUG
} cs_log_level;

/** cs_log_set_level - log level: default NOTE, -q WARN, -qq ERROR, -v INFO, -vv DEBUG */
void cs_log_set_level(cs_log_level level);
/** cs_log_get_level - the present one */
cs_log_level cs_log_get_level(void);

/* One line each, "chordseq: error: ...\n", formatted into one buffer and written by one write(),
 * so lines of different threads do not mix. errno is preserved; control characters appear as '?'.
 * The tags of errors and warnings are coloured when stderr is a terminal, NO_COLOR is unset or
 * empty, and TERM is not "dumb". */
void cs_error(const char *fmt, ...) CS_PRINTF(1, 2);
void cs_warn(const char *fmt, ...) CS_PRINTF(1, 2);
void cs_info(const char *fmt, ...) CS_PRINTF(1, 2);
void cs_debug(const char *fmt, ...) CS_PRINTF(1, 2);

/** cs_note - a plain line without a level's tag, of level NOTE (the end-of-run summary) */
void cs_note(const char *fmt, ...) CS_PRINTF(1, 2);

/** cs_warn_once - cs_warn(), once per message */
void cs_warn_once(const char *fmt, ...) CS_PRINTF(1, 2);

/* A warning that occurs per record: the first is kept, all are counted, and one line is printed at
 * the end. Thread-safe. Zero-initialise (static or = {0}). */
typedef struct cs_warning {
    _Atomic uint64_t n;
    _Atomic int taken;           /* the first caller owns `first` */
    char first[160];
} cs_warning;

/** cs_warning_count - count one; `name` is kept for the first */
void cs_warning_count(cs_warning *w, const char *name);
/** cs_warning_report - "N of TOTAL UNITs VERB WHAT; first: 'NAME'", if N > 0. unit: "record" or
 * another in the singular; one, many: the verb for N = 1 ("has"), otherwise ("have") */
void cs_warning_report(const cs_warning *w, uint64_t total, const char *unit, const char *one,
                       const char *many, const char *what);

enum { CS_SCALED_BYTES = 40 };
/** cs_scaled_text - 12345678 as "12.3 Mbases", with `unit` "bases", in buf, which is returned */
char *cs_scaled_text(double v, const char *unit, char *buf, size_t n_buf);

/* A progress line: on a terminal (TERM not "dumb") rewritten in place at most five times a second,
 * elsewhere a line a minute; silent unless the level is at least NOTE. One thread updates it. */
typedef struct cs_progress cs_progress;
/** cs_progress_new - `unit` counts ("records"), `total_bytes` of input or 0 if unknown */
cs_progress *cs_progress_new(const char *unit, int64_t total_bytes);
/** cs_progress_skipped - bytes of the total done by an earlier run */
void cs_progress_skipped(cs_progress *p, int64_t n_bytes);
/** cs_progress_update - records and bases so far, input bytes consumed so far (or 0) */
void cs_progress_update(cs_progress *p, uint64_t n_record, uint64_t n_base, int64_t n_bytes);
/** cs_progress_free - erase the line from a terminal; accepts NULL */
void cs_progress_free(cs_progress *p);

#endif
