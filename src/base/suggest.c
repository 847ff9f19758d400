/* suggest.c - suggest the known word nearest to a mistyped one, by Levenshtein distance. */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

/* Maximum number of changed letters in a typing error. */
enum { MAX_SLIPS = 3 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

static size_t distance(const char *a, const char *b)
{
    size_t row[CS_SUGGEST_BYTES], n = strlen(b);
    if (n >= CS_SUGGEST_BYTES || strlen(a) >= CS_SUGGEST_BYTES)
        return CS_SUGGEST_BYTES;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = min3(change, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[n];
}

cs_suggest cs_suggest_begin(const char *typed)
{
    return (cs_suggest){ .typed = typed, .min_distance = CS_SUGGEST_BYTES };
}

void cs_suggest_try(cs_suggest *n, const char *word)
{
    const size_t d = distance(n->typed, word);

    if (d >= n->min_distance)
        return;
    n->min_distance = d;
    (void)snprintf(n->best, sizeof n->best, "%s", word);
}

/* Letters that can be mistaken: no hyphens, nor a prefix that both have, as in --encoder.init. */
static size_t own_letters(const char *typed, const char *word)
{
    const char *dot = strrchr(word, '.');

    if (dot != NULL && strncmp(typed, word, (size_t)(dot - word)) == 0)
        return strlen(dot + 1);
    return strlen(word + strspn(word, "-"));
}

const char *cs_suggest_hint(cs_suggest *n)
{
    n->hint[0] = '\0';
    if (n->min_distance <= MAX_SLIPS && n->min_distance <= 1 + own_letters(n->typed, n->best) / 3)
        (void)snprintf(n->hint, sizeof n->hint, "did you mean '%s'? ", n->best);
    return n->hint;
}
