/* fuzz_mask.c - masked tokens and windows from arbitrary bytes: other tokens are unchanged, masked
 * ones can be restored from their labels, and no base is in two windows of a pass. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "tok/tokenizer.h"
#include "train/corpus.h"
#include "train/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { WORDS = 8, HEAD_BYTES = 12, MOST = 4096 };

static void try_mask(uint64_t key, const uint8_t *how, const uint8_t *data, int64_t n)
{
    const cs_mask m = { .ratio = (how[0] + 1) / 258.0, .p_mask = how[1] / 255.0,
                        .p_random = (255 - how[1]) / 255.0 * (how[2] / 255.0),
                        .run = 1 + how[3] % 40,
                        .id = CS_TOK_FIRST + WORDS, .n_vocab = CS_TOK_FIRST + WORDS };
    int32_t *id = cs_xcalloc((size_t)n + 1, sizeof *id), *was = cs_xcalloc((size_t)n + 1,
            sizeof *was), *label = cs_xcalloc((size_t)n + 1, sizeof *label);
    int64_t n_known = 0, n_label = 0;

    for (int64_t i = 0; i < n; i++) {
        was[i] = id[i] = CS_TOK_UNK + data[i] % (WORDS + 1);
        n_known += id[i] != CS_TOK_UNK;
    }
    const int64_t n_chosen = cs_mask_tokens(&m, key, id, n, label);
    for (int64_t i = 0; i < n; i++) {
        CS_BUG(label[i] < 0 ? id[i] != was[i] : was[i] != label[i] + CS_TOK_FIRST);
        CS_BUG(id[i] < CS_TOK_UNK || id[i] > m.id || (was[i] == CS_TOK_UNK && label[i] >= 0));
        n_label += label[i] >= 0;
    }
    CS_BUG(n_chosen != n_label || (n_chosen == 0) != (n_known == 0));
    free(id);
    free(was);
    free(label);
}

/* Intervals with lengths from the input, one contig each. */
static void try_corpus(uint64_t key, const uint8_t *how, const uint8_t *data, int64_t n)
{
    cs_corpus c = { .window = 1 + how[0], .min_window = how[1] % (how[0] + 1),
                    .min_base = 1 + how[2] % 9, .reverse = how[3] & 1, .seed = key };
    uint8_t *seen = cs_xcalloc((size_t)n + 1, 4 * 256);

    for (int64_t i = 0; i < n; i++)
        CS_BUG(cs_corpus_add(&c, (int32_t)i, 0, 1 + 3 * data[i]) != CS_OK);
    for (int64_t j = 0; j < c.n_window; j++) {
        const cs_window w = cs_corpus_window(&c, key, j);
        CS_BUG(w.contig < 0 || w.contig >= n || w.n_base > c.window);
        CS_BUG(w.n_base > 0 && (w.n_base < c.min_base || w.from < 0));
        CS_BUG(w.from + w.n_base > 1 + 3 * data[w.contig]);
        for (int64_t b = w.from; b < w.from + w.n_base; b++)
            CS_BUG(seen[w.contig * 1024 + b]++);
    }
    cs_corpus_release(&c);
    free(seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    uint64_t key;

    if (n_bytes < HEAD_BYTES || n_bytes > MOST)
        return 0;
    memcpy(&key, data, sizeof key);
    try_mask(key, data + 8, data + HEAD_BYTES, (int64_t)n_bytes - HEAD_BYTES);
    try_corpus(key, data + 8, data + HEAD_BYTES, (int64_t)n_bytes - HEAD_BYTES);
    return 0;
}
