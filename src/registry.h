/* registry.h - find an implementation by name; any folder may include this. */
#ifndef CS_REGISTRY_H
#define CS_REGISTRY_H

struct cs_encoder;
struct cs_tokenizer;
struct cs_head;
struct cs_reader;
struct cs_writer;
struct cs_command;

/** cs_*_find - the implementation of that name, or NULL. There is none for readers, which recognise
 * their formats by content (cs_reader_at()) */
const struct cs_encoder   *cs_encoder_find(const char *name);
const struct cs_tokenizer *cs_tokenizer_find(const char *name);
const struct cs_head      *cs_head_find(const char *name);
const struct cs_writer    *cs_writer_find(const char *name);
const struct cs_command   *cs_command_find(const char *name);

/** cs_*_at - the i-th in the order of registry.am, NULL past the end: for help and for tests */
const struct cs_encoder   *cs_encoder_at(int i);
const struct cs_tokenizer *cs_tokenizer_at(int i);
const struct cs_head      *cs_head_at(int i);
const struct cs_reader    *cs_reader_at(int i);
const struct cs_writer    *cs_writer_at(int i);
const struct cs_command   *cs_command_at(int i);

#endif
