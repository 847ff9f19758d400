/* html.c - parts of self-contained HTML pages: text, tables, bar charts as inline SVG. */
#include "io/html.h"

#include <math.h>

#include "io/json_text.h"

enum { WIDTH = 640, HEIGHT = 200, LEFT = 60, RIGHT = 20, TOP = 8, BOTTOM = 40 };

static const char style[] =
    ":root{color-scheme:light dark;--text:#1b1f24;--page:#fff;--line:#c9ced6;--soft:#5c6570;"
    "--a:#2f6fb3;--b:#c2742b;--c:#3a8f5c;--d:#a03b8f;--e:#8a7a1f;--f:#5c6570}\n"
    "@media (prefers-color-scheme:dark){:root{--text:#e3e7ec;--page:#15181c;--line:#3d444d;"
    "--soft:#9aa4b0;--a:#6ca8e6;--b:#e0a15c;--c:#6fce96;--d:#e08ad2;--e:#d3c04d;--f:#9aa4b0}}\n"
    "@media print{:root{--text:#000;--page:#fff;--line:#999;--soft:#333;--a:#2f6fb3;--b:#c2742b;"
    "--c:#3a8f5c;--d:#a03b8f;--e:#8a7a1f;--f:#5c6570}"
    "section,figure,tr{break-inside:avoid}}\n"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "body{margin:2rem auto;max-width:60rem;padding:0 1rem;background:var(--page);"
    "color:var(--text);font:15px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}\n"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line);"
    "overflow-wrap:break-word}td.n,th.n{text-align:right;white-space:nowrap}\n"
    "td.bar{width:25%}svg{max-width:100%;height:auto}"
    "svg:not(.logo) text{fill:var(--text);font-size:12px}"
    "figure{margin:1rem 0}figcaption{color:var(--soft)}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;color:var(--soft)}"
    ".a{fill:var(--a)}.b{fill:var(--b)}.axis{stroke:var(--line)}.soft{stroke:var(--soft)}\n"
    ".line{fill:none;stroke-width:1.8}.dash{stroke-dasharray:5 4}.s0{stroke:var(--a)}"
    ".s1{stroke:var(--b)}.s2{stroke:var(--c)}.s3{stroke:var(--d)}.s4{stroke:var(--e)}"
    ".s5{stroke:var(--f)}.pair{display:flex;flex-wrap:wrap;gap:0 2rem}"
    ".legend{list-style:none;padding:0;margin:0;font-size:13px;columns:2}"
    ".wide{overflow-x:auto}.matrix{width:auto}.matrix td,.matrix th{padding:.15rem .4rem;"
    "font-size:13px}\n";

int cs_html_text(cs_outfile *f, const char *s)
{
    int rc = CS_OK;

    while (*s) {
        const size_t n = cs_utf8_length(s);
        const char c = *s;
        if (n == 0 || (n == 1 && ((unsigned char)c < ' ' || c == 127)))
            CS_TRY(cs_outfile_write(f, "\xef\xbf\xbd", 3));
        else if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            CS_TRY(cs_outfile_printf(f, "&#%d;", c));
        else
            CS_TRY(cs_outfile_write(f, s, n));
        s += n ? n : 1;
    }
out:
    return rc;
}

int cs_html_begin(cs_outfile *f, const char *title)
{
    return cs_html_begin_live(f, title, 0);
}

int cs_html_begin_live(cs_outfile *f, const char *title, int seconds)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
               "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"));
    if (seconds > 0)
        CS_TRY(cs_outfile_printf(f, "<meta http-equiv=\"refresh\" content=\"%d\">\n", seconds));
    CS_TRY(cs_outfile_printf(f, "<title>"));
    CS_TRY(cs_html_text(f, title));
    CS_TRY(cs_outfile_printf(f, "</title>\n<style>\n%s</style></head>\n<body>\n<h1>", style));
    CS_TRY(cs_html_text(f, title));
    rc = cs_outfile_printf(f, "</h1>\n");
out:
    return rc;
}

int cs_html_end(cs_outfile *f)
{
    return cs_outfile_printf(f, "</body></html>\n");
}

int cs_html_origin(cs_outfile *f, const char *command, const char *model_sum)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "<pre>"));
    CS_TRY(cs_html_text(f, command));
    CS_TRY(cs_outfile_printf(f, "\nmodel sha256 "));
    CS_TRY(cs_html_text(f, model_sum));
    rc = cs_outfile_printf(f, "\nchordseq " PACKAGE_VERSION "</pre>\n");
out:
    return rc;
}

int cs_html_section(cs_outfile *f, const char *title)
{
    return cs_outfile_printf(f, "<h2>%s</h2>\n", title);
}

int cs_html_cell(cs_outfile *f, const char *s)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "<td>"));
    CS_TRY(cs_html_text(f, s));
    rc = cs_outfile_printf(f, "</td>");
out:
    return rc;
}

int cs_html_count(cs_outfile *f, uint64_t n, uint64_t all)
{
    return cs_outfile_printf(f, "<td class=\"n\">%llu</td><td class=\"n\">%.2f %%</td>",
                             (unsigned long long)n,
                             all ? 100 * (double)n / (double)all : 0.0);
}

static int draw_axis(cs_outfile *f, const cs_html_bars *b, uint64_t max)
{
    int rc = CS_OK;
    const int base = HEIGHT - BOTTOM;
    const double step = (double)(WIDTH - LEFT - RIGHT) / b->n_bin;

    CS_TRY(cs_outfile_printf(f, "<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n"
               "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%llu</text>"
               "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>\n", LEFT, TOP, base,
               WIDTH - RIGHT, LEFT - 6, TOP + 10, (unsigned long long)max, LEFT - 6, base));
    for (int i = 0; i <= b->n_bin; i++)
        if (*b->tick[i])
            CS_TRY(cs_outfile_printf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s"
                                     "</text>", LEFT + i * step, base + 16, b->tick[i]));
    rc = cs_outfile_printf(f, "\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                           (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, b->axis);
out:
    return rc;
}

static int draw_bin(cs_outfile *f, const cs_html_bars *b, int i, double per_one)
{
    int rc = CS_OK;
    const double step = (double)(WIDTH - LEFT - RIGHT) / b->n_bin;
    double top = HEIGHT - BOTTOM;

    for (int s = 0; s < 2 && b->n[s]; s++) {
        const double h = per_one * (double)b->n[s][i];
        top -= h;
        if (b->n[s][i])
            CS_TRY(cs_outfile_printf(f, "<rect class=\"%c\" x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" "
                                     "height=\"%.2f\"><title>%s: %llu</title></rect>\n", 'a' + s,
                                     LEFT + i * step + 1, top, step > 3 ? step - 2 : step, h,
                                     b->name[s], (unsigned long long)b->n[s][i]));
    }
out:
    return rc;
}

static int draw_bars(cs_outfile *f, const cs_html_bars *b)
{
    int rc = CS_OK;
    uint64_t max = 0;

    for (int i = 0; i < b->n_bin; i++) {
        const uint64_t n = b->n[0][i] + (b->n[1] ? b->n[1][i] : 0);
        max = n > max ? n : max;
    }
    CS_TRY(cs_outfile_printf(f, "<figure><figcaption>"));
    CS_TRY(cs_html_text(f, b->title));
    CS_TRY(cs_outfile_printf(f, "</figcaption>\n<svg role=\"img\" viewBox=\"0 0 %d %d\" "
                             "width=\"%d\" height=\"%d\">\n", WIDTH, HEIGHT, WIDTH, HEIGHT));
    CS_TRY(draw_axis(f, b, max));
    for (int i = 0; i < b->n_bin && max; i++)
        CS_TRY(draw_bin(f, b, i, (double)(HEIGHT - BOTTOM - TOP) / (double)max));
    rc = cs_outfile_printf(f, "</svg></figure>\n");
out:
    return rc;
}

int cs_html_probabilities(cs_outfile *f, const cs_html_bars *b)
{
    cs_html_bars all = *b;
    char tick[101][24] = { "" };

    CS_BUG(b->n_bin > 100);
    for (int i = 0; i <= b->n_bin; i += 2)
        (void)snprintf(tick[i], sizeof *tick, "%.1f", (double)i / b->n_bin);
    all.tick = tick;
    return draw_bars(f, &all);
}

int cs_html_length(int64_t n)
{
    int d = 0;

    for (; n > 1 && d < CS_HTML_LENGTHS - 1; n /= 2)
        d++;
    return d;
}

/* 2^i bases as text: "512", "2.05 k", "4.19 M"; k is 1000, as in options. */
static void length_tick(int i, char tick[24])
{
    const double n = (double)(1LL << i);
    const int step = n >= 1e9 ? 3 : n >= 1e6 ? 2 : n >= 1e3;

    (void)snprintf(tick, 24, "%.3g%s", n / pow(1e3, step),
                   (const char *const[]){ "", " k", " M", " G" }[step]);
}

int cs_html_lengths(cs_outfile *f, const cs_html_bars *b)
{
    cs_html_bars all = *b;
    char tick[CS_HTML_LENGTHS + 1][24] = { "" };
    int last = CS_HTML_LENGTHS - 1;

    while (last > 8 && b->n[0][last] + b->n[1][last] == 0)
        last--;
    for (int i = 0; i <= last + 1; i += 2)
        length_tick(i, tick[i]);
    all.axis = "bases";
    all.n_bin = last + 1;
    all.tick = tick;
    return draw_bars(f, &all);
}

/* ---- lines ------------------------------------------------------------------------------- */

enum { SIDE = 300, MARGIN = 52, PLOT = SIDE + MARGIN + 20, N_COLOUR = 6 };

static int draw_square(cs_outfile *f, const cs_html_plot *p)
{
    int rc = CS_OK;
    const int base = TOP + SIDE;

    CS_TRY(cs_outfile_printf(f, "<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n", MARGIN,
                             TOP, base, MARGIN + SIDE));
    for (int i = 0; i <= 4; i++)
        CS_TRY(cs_outfile_printf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.2f</text>"
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.2f</text>\n", MARGIN - 6,
                   base - i * SIDE / 4 + 4, i / 4.0, MARGIN + i * SIDE / 4, base + 16, i / 4.0));
    CS_TRY(cs_outfile_printf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>"
               "<text transform=\"translate(12 %d) rotate(-90)\" text-anchor=\"middle\">%s"
               "</text>\n",
               MARGIN + SIDE / 2, base + 34, p->x_axis, TOP + SIDE / 2, p->y_axis));
    if (p->diagonal)
        rc = cs_outfile_printf(f, "<path class=\"soft dash\" d=\"M%d %dL%d %d\"/>\n", MARGIN, base,
                               MARGIN + SIDE, TOP);
out:
    return rc;
}

static int draw_line(cs_outfile *f, const cs_html_line *l, int no, int dots)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "<polyline class=\"line s%d%s\" points=\"", no % N_COLOUR,
                             no >= N_COLOUR ? " dash" : ""));
    for (int i = 0; i < l->n; i++)
        CS_TRY(cs_outfile_printf(f, "%s%.2f,%.2f", i ? " " : "", MARGIN + SIDE * l->x[i],
                                 TOP + SIDE * (1 - l->y[i])));
    CS_TRY(cs_outfile_printf(f, "\"></polyline>\n"));
    for (int i = 0; dots && i < l->n; i++)
        CS_TRY(cs_outfile_printf(f, "<circle class=\"a\" r=\"3\" cx=\"%.2f\" cy=\"%.2f\"><title>"
                                 "%.4f, %.4f</title></circle>\n", MARGIN + SIDE * l->x[i],
                                 TOP + SIDE * (1 - l->y[i]), l->x[i], l->y[i]));
out:
    return rc;
}

static int draw_legend(cs_outfile *f, const cs_html_plot *p)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "<ul class=\"legend\">\n"));
    for (int i = 0; i < p->n_line; i++) {
        CS_TRY(cs_outfile_printf(f, "<li><svg width=\"28\" height=\"10\"><path "
                                 "class=\"line s%d%s\" d=\"M0 5H28\"/></svg> ", i % N_COLOUR,
                                 i >= N_COLOUR ? " dash" : ""));
        CS_TRY(cs_html_text(f, p->line[i].name));
        CS_TRY(cs_outfile_printf(f, "</li>\n"));
    }
    rc = cs_outfile_printf(f, "</ul>");
out:
    return rc;
}

int cs_html_lines(cs_outfile *f, const cs_html_plot *p)
{
    int rc = CS_OK;

    CS_BUG(p->n_line > CS_HTML_LINES);
    CS_TRY(cs_outfile_printf(f, "<figure><figcaption>"));
    CS_TRY(cs_html_text(f, p->title));
    CS_TRY(cs_outfile_printf(f, "</figcaption>\n<svg role=\"img\" viewBox=\"0 0 %d %d\" "
                             "width=\"%d\" height=\"%d\">\n", PLOT, TOP + SIDE + BOTTOM, PLOT,
                             TOP + SIDE + BOTTOM));
    CS_TRY(draw_square(f, p));
    for (int i = 0; i < p->n_line; i++)
        CS_TRY(draw_line(f, &p->line[i], i, p->dots));
    CS_TRY(cs_outfile_printf(f, "</svg>\n"));
    if (p->n_line > 0 && p->line[0].name)
        CS_TRY(draw_legend(f, p));
    rc = cs_outfile_printf(f, "</figure>\n");
out:
    return rc;
}
