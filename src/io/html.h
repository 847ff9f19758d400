/* html.h - parts of self-contained HTML pages: text, tables, bar charts as inline SVG. */
#ifndef CS_IO_HTML_H
#define CS_IO_HTML_H

#include "base/outfile.h"

/** cs_html_begin - up to the title on the page; its policy forbids loading and scripts; colours
 * follow the browser's light or dark mode, and are light in print */
int cs_html_begin(cs_outfile *f, const char *title) CS_MUST_CHECK;
/** cs_html_begin_live - the same of a page that the browser loads again after so many seconds */
int cs_html_begin_live(cs_outfile *f, const char *title, int seconds) CS_MUST_CHECK;
/** cs_html_end - the end of the page */
int cs_html_end(cs_outfile *f) CS_MUST_CHECK;

/** cs_html_text - escaped text: markup is escaped, control characters and bytes that are not UTF-8
 * become U+FFFD */
int cs_html_text(cs_outfile *f, const char *s) CS_MUST_CHECK;
/** cs_html_origin - the page's origin: the command line, the model's checksum, the version */
int cs_html_origin(cs_outfile *f, const char *command, const char *model_sum) CS_MUST_CHECK;
/** cs_html_section - a heading */
int cs_html_section(cs_outfile *f, const char *title) CS_MUST_CHECK;
/** cs_html_cell - a table's cell with escaped text, or with a number and its share of `all` */
int cs_html_cell(cs_outfile *f, const char *s) CS_MUST_CHECK;
int cs_html_count(cs_outfile *f, uint64_t n, uint64_t all) CS_MUST_CHECK;

/* A histogram; the second series is drawn on top of the first. */
typedef struct cs_html_bars {
    const char     *title, *axis;
    const uint64_t *n[2];        /* [n_bin] */
    const char     *name[2];     /* of the series; the second may be absent (n[1] NULL) */
    int             n_bin;
    char          (*tick)[24];   /* [n_bin + 1] at the bins' edges; "" for none */
} cs_html_bars;

/** cs_html_probabilities - draw n_bin equal parts of 0 to 1; makes the ticks itself */
int cs_html_probabilities(cs_outfile *f, const cs_html_bars *b) CS_MUST_CHECK;

enum { CS_HTML_LENGTHS = 48 };
/** cs_html_length - the bin of n bases: floor(log2 n) */
int cs_html_length(int64_t n);
/** cs_html_lengths - the same of both series [CS_HTML_LENGTHS] by length, up to the longest; axis,
 * bins and ticks are its own */
int cs_html_lengths(cs_outfile *f, const cs_html_bars *b) CS_MUST_CHECK;

/* Lines in a square whose axes go from 0 to 1. */
enum { CS_HTML_LINES = 12 };
typedef struct cs_html_line {
    const char   *name;          /* NULL: not in the legend */
    const double *x, *y;         /* [n] */
    int           n;
} cs_html_line;
typedef struct cs_html_plot {
    const char         *title, *x_axis, *y_axis;
    const cs_html_line *line;    /* [n_line] at most CS_HTML_LINES */
    int                 n_line;
    int                 diagonal, dots;   /* a line from 0 to 1; a mark at every point */
} cs_html_plot;
/** cs_html_lines - draw them, with a legend if the first one has a name */
int cs_html_lines(cs_outfile *f, const cs_html_plot *p) CS_MUST_CHECK;

#endif
