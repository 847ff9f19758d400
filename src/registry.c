/* registry.c - the tables behind registry.h, expanded from the list that make writes. */
#include "registry.h"

#include <stddef.h>
#include <string.h>

#include "io/reader.h"
#include "io/writer.h"
#include "nn/encoders/encoder.h"
#include "nn/heads/head.h"
#include "pipelines/command.h"
#include "tok/tokenizer.h"

/* registry_list.h holds one line such as CS_ENCODER(chordmixer) per implementation; a macro that
 * is not defined where it is included expands to nothing, and all are undefined afterwards. */
#define CS_ENCODER(x)   extern const cs_encoder cs_enc_##x;
#define CS_TOKENIZER(x) extern const cs_tokenizer cs_tok_##x;
#define CS_HEAD(x)      extern const cs_head cs_head_##x;
#define CS_READER(x)    extern const cs_reader cs_read_##x;
#define CS_WRITER(x)    extern const cs_writer cs_write_##x;
#define CS_COMMAND(x)   extern const cs_command cs_cmd_##x;
#include "registry_list.h"

static const cs_encoder *const encoders[] = {
#define CS_ENCODER(x) &cs_enc_##x,
#include "registry_list.h"
};

static const cs_tokenizer *const tokenizers[] = {
#define CS_TOKENIZER(x) &cs_tok_##x,
#include "registry_list.h"
};

static const cs_head *const heads[] = {
#define CS_HEAD(x) &cs_head_##x,
#include "registry_list.h"
};

/* The library (CS_LIBRARY) predicts for sequences in memory; it has no readers and writers. */
#ifndef CS_LIBRARY
static const cs_reader *const readers[] = {
#define CS_READER(x) &cs_read_##x,
#include "registry_list.h"
};

static const cs_writer *const writers[] = {
#define CS_WRITER(x) &cs_write_##x,
#include "registry_list.h"
};
#endif

/* The double-precision test build checks networks; it has no commands. */
#if !defined(CS_DOUBLE) && !defined(CS_LIBRARY)
static const cs_command *const commands[] = {
#define CS_COMMAND(x) &cs_cmd_##x,
#include "registry_list.h"
};
#endif

#define AT(type, table)                                                   \
    const type *type##_at(int i)                                          \
    {                                                                     \
        size_t n = sizeof(table) / sizeof((table)[0]);                    \
        return i >= 0 && (size_t)i < n ? (table)[i] : NULL;               \
    }
#define FIND(type)                                                        \
    const type *type##_find(const char *name)                             \
    {                                                                     \
        const type *t;                                                    \
        for (int i = 0; (t = type##_at(i)) != NULL; i++)                  \
            if (strcmp(t->name, name) == 0)                               \
                return t;                                                 \
        return NULL;                                                      \
    }

AT(cs_encoder, encoders)
FIND(cs_encoder)
AT(cs_tokenizer, tokenizers)
FIND(cs_tokenizer)
AT(cs_head, heads)
FIND(cs_head)
#ifndef CS_LIBRARY
AT(cs_reader, readers)
AT(cs_writer, writers)
FIND(cs_writer)
#endif
#if !defined(CS_DOUBLE) && !defined(CS_LIBRARY)
AT(cs_command, commands)
FIND(cs_command)
#endif
