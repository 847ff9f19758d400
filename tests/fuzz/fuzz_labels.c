/* fuzz_labels.c - label tables from arbitrary bytes: nothing crashes, every row of a TSV table that
 * is accepted is found by its name, and nothing else is in it; a refusal keeps a message. */
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "data_url.h"
#include "io/labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* One line without its end: does the table have each column under this name? */
static int check_line(const cs_labels *l, char *line)
{
    const size_t n = strlen(line);
    int i = 0;
    if (n && line[n - 1] == '\r')
        line[n - 1] = '\0';
    /* Without a name it is the first one, of names of columns. */
    if (*line == '\0' || *line == '#' || *line == '\t')
        return 0;
    char *value = strchr(line, '\t');
    CS_BUG(!value);
    *value++ = '\0';
    for (;; i++) {
        char *tab = strchr(value, '\t');
        if (tab)
            *tab = '\0';
        const char *got = cs_labels_find(l, line, i);
        CS_BUG(!got || strcmp(got, value) != 0);
        if (!tab)
            break;
        value = tab + 1;
    }
    CS_BUG(cs_labels_columns(l) != i + 1 || cs_labels_find(l, line, i + 1));
    return 1;
}

/* Is the first row one of CSV? */
static bool is_csv(const char *s)
{
    while (*s == '#' || *s == '\n' || (*s == '\r' && s[1] == '\n'))
        s += strcspn(s, "\n") + (strchr(s, '\n') != NULL);
    return *s != '\0' && memchr(s, '\t', strcspn(s, "\n")) == NULL;
}

static void check_table(const cs_labels *l, const uint8_t *data, size_t n_bytes)
{
    int64_t n_row = 0;
    char *text = cs_xmalloc(n_bytes + 1);
    memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    CS_BUG(strlen(text) != n_bytes);
    /* Behind a byte order mark. */
    char *begin = text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    if (is_csv(begin)) {
        free(text);
        return;
    }
    for (char *s = begin, *eol; *s; s = eol) {
        eol = strchr(s, '\n');
        if (eol)
            *eol++ = '\0';
        else
            eol = s + strlen(s);
        n_row += check_line(l, s);
    }
    CS_BUG(cs_labels_count(l) > n_row || (n_row > 0) != (cs_labels_count(l) > 0));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    cs_labels *l = NULL;
    char buf[16];
    char *url = data_url(data, n_bytes);

    if (cs_labels_open(url, &l) != CS_OK)
        CS_BUG(l || *cs_error_message() == '\0');
    else if (n_bytes == 0 || data[0] != 0x1f)
        check_table(l, data, n_bytes);
    cs_error_clear();
    /* The same bytes as the comment of a header. */
    if (cs_label_key(url + strlen("data:;base64,"), "class", buf, sizeof buf))
        CS_BUG(strlen(buf) >= sizeof buf);
    cs_labels_close(l);
    free(url);
    return 0;
}
