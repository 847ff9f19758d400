/* classify_memory.c - the first record of a FASTA file, classified from memory with libchordseq.
 *
 *     cc classify_memory.c $(pkg-config --cflags --libs chordseq) -o classify_memory
 *     ./classify_memory [-e] MODEL FILE [OPTION=VALUE...]
 *
 * Prints a line as `chordseq classify --all` does (with other digits where labels do not exclude
 * each other), or with -e one as `chordseq embed --format tsv`.
 */
#include <chordseq.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sequence and its name as the caller has them; here they come from a file. */
struct sequence { char name[256]; char *base; size_t n, cap; };

static int add(struct sequence *s, char c)
{
    if (s->n == s->cap) {
        char *grown = realloc(s->base, s->cap ? 2 * s->cap : 4096);
        if (!grown)
            return -1;
        s->base = grown;
        s->cap = s->cap ? 2 * s->cap : 4096;
    }
    s->base[s->n++] = c;
    return 0;
}

static int read_first(const char *path, struct sequence *s)
{
    FILE *f = fopen(path, "r");
    int c, rc = -1;

    if (!f)
        return -1;
    if (getc(f) == '>' && fgets(s->name, (int)sizeof s->name, f)) {
        if (!strchr(s->name, '\n'))            /* a longer line, whose rest is no bases */
            while ((c = getc(f)) != EOF && c != '\n')
                ;
        s->name[strcspn(s->name, " \t\r\n")] = '\0';
        rc = 0;
    }
    while (rc == 0 && (c = getc(f)) != EOF && c != '>')
        if (!isspace(c))
            rc = add(s, (char)c);
    (void)fclose(f);
    return rc;
}

static void print_values(const float *v, int n, const char *format)
{
    for (int i = 0; i < n; i++) {
        putchar('\t');
        if (isnan(v[i]))
            putchar('.');
        else
            printf(format, (double)v[i]);
    }
}

static int classify(chordseq_model *m, const struct sequence *s)
{
    chordseq_call call;
    float *p = malloc((size_t)chordseq_n_output(m) * sizeof *p);
    int rc = p ? chordseq_classify(m, s->base, s->n, p, &call) : CHORDSEQ_EMEM;

    if (rc == CHORDSEQ_OK) {
        printf("%s\t%zu", s->name, s->n);
        if (call.label) {
            printf("\t%s", call.label);
            print_values(&call.probability, 1, "%.6f");
            printf("\t%s", chordseq_reason(call.reason));
            print_values(p, chordseq_n_output(m), "%.6f");
        } else {
            print_values(p, chordseq_n_output(m), "%.6g");
            printf("\t%s", chordseq_reason(call.reason));
        }
        putchar('\n');
    }
    free(p);
    return rc;
}

static int embed(chordseq_model *m, const struct sequence *s)
{
    int32_t reason;
    float *v = malloc((size_t)chordseq_n_dim(m) * sizeof *v + 1);
    int rc = v ? chordseq_embed(m, s->base, s->n, v, &reason) : CHORDSEQ_EMEM;

    if (rc == CHORDSEQ_OK) {
        printf("%s\t%zu", s->name, s->n);
        print_values(v, chordseq_n_dim(m), "%.6g");
        printf("\t%s\n", chordseq_reason(reason));
    }
    free(v);
    return rc;
}

int main(int argc, char **argv)
{
    const int as_vector = argc > 1 && strcmp(argv[1], "-e") == 0;
    char **arg = argv + 1 + as_vector;
    struct sequence s = { .n = 0 };
    chordseq_model *m = NULL;

    if (argc < 3 + as_vector) {
        fprintf(stderr, "usage: %s [-e] MODEL FILE [OPTION=VALUE...]\n", argv[0]);
        return 2;
    }
    if (read_first(arg[1], &s) != 0) {
        fprintf(stderr, "%s: cannot read a FASTA record from '%s'\n", argv[0], arg[1]);
        free(s.base);
        return 1;
    }
    int rc = chordseq_open(arg[0], (const char *const *)(arg + 2), &m);
    if (rc == CHORDSEQ_OK)
        rc = as_vector ? embed(m, &s) : classify(m, &s);
    if (rc != CHORDSEQ_OK)
        fprintf(stderr, "%s: %s\n", argv[0], chordseq_last_error());
    chordseq_close(m);
    free(s.base);
    return rc == CHORDSEQ_OK ? 0 : 1;
}
