/* explain_plot.c - plot contributions of bases as sequence logos in SVG. */
#include "eval/explain_plot.h"

#include <math.h>

#include "io/alphabet.h"
#include "io/html.h"

/* A letter of font size 10 is about 7.2 high; it is stretched to the required height. */
enum { STEP = 10, HALF = 80, LEFT = 60, TOP = 30, TICK = 10 };
static const double letter_height = 7.2;

static const char *colour(char upper)
{
    switch (upper) {
    case 'A':
        return "#109648";
    case 'C':
        return "#255c99";
    case 'G':
        return "#f7b32b";
    case 'T':
        return "#d62839";
    default:
        return "#888888";
    }
}

/* In upper case: letters in lower case are lower, and would understate the value. */
static int letter(cs_outfile *f, int64_t i, char base, double share)
{
    const double h = fabs(share) * HALF, y = TOP + HALF + (share > 0 ? 0 : h);
    const char upper = cs_base_upper[(unsigned char)base];

    if (h < 0.05)
        return CS_OK;
    return cs_outfile_printf(f, "<text transform=\"matrix(1.2 0 0 %.3f %lld %.2f)\" fill=\"%s\">"
                             "%c</text>\n", h / letter_height, (long long)(LEFT + STEP * i), y,
                             colour(upper), upper);
}

static int axis(cs_outfile *f, const cs_region *at, double max)
{
    int rc = CS_OK;
    const int64_t n = at->to - at->from;

    CS_TRY(cs_outfile_printf(f, "<path d=\"M%d %dH%lld\" stroke=\"#444\" stroke-width=\"0.5\"/>\n",
                             LEFT, TOP + HALF, (long long)(LEFT + STEP * n)));
    CS_TRY(cs_outfile_printf(f, "<g font-weight=\"normal\" font-size=\"9\" fill=\"#444\">\n"));
    if (max > 0)                 /* else there is no scale */
        CS_TRY(cs_outfile_printf(f, "<text x=\"4\" y=\"%d\">%.3g</text><text x=\"4\" y=\"%d\">%.3g"
                                 "</text>\n", TOP + 8, max, TOP + 2 * HALF, -max));
    for (int64_t i = 0; i < n; i += TICK)
        CS_TRY(cs_outfile_printf(f, "<text x=\"%lld\" y=\"%d\">%lld</text>\n",
                                 (long long)(LEFT + STEP * i), TOP + 2 * HALF + 16,
                                 (long long)(at->from + i) + 1));
    rc = cs_outfile_printf(f, "</g>\n");
out:
    return rc;
}

int cs_logo_write(cs_outfile *f, const char *title, const cs_region *at, const char *base,
                  const double *value)
{
    int rc = CS_OK;
    const int64_t n = at->to - at->from;
    double max = 0;

    for (int64_t i = 0; i < n; i++)
        max = fmax(max, fabs(value[i]));
    CS_TRY(cs_outfile_printf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"logo\" "
                             "width=\"%lld\" height=\"%d\" font-family=\"monospace\" "
                             "font-weight=\"bold\" font-size=\"10\">\n"
                             "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                             "<text x=\"4\" y=\"16\">",
                             (long long)(LEFT + STEP * n + 20), TOP + 2 * HALF + 24));
    CS_TRY(cs_html_text(f, title));
    CS_TRY(cs_outfile_printf(f, "</text>\n"));
    CS_TRY(axis(f, at, max));
    for (int64_t i = 0; i < n; i++)
        CS_TRY(letter(f, i, base[i], max > 0 ? value[i] / max : 0));
    rc = cs_outfile_printf(f, "</svg>\n");
out:
    return rc;
}
