/* model_settings.h - the settings of a model as JSON, in the metadata of its file. */
#ifndef CS_NN_EXEC_MODEL_SETTINGS_H
#define CS_NN_EXEC_MODEL_SETTINGS_H

#include <jansson.h>

#include "nn/exec/model.h"

/** cs_model_settings_text - text of the metadata; free() it. NULL if a name is not UTF-8, or when
 * out of memory */
char *cs_model_settings_text(const cs_model *m);

/** cs_model_part_json - {"name": ..., "options": {...}} of a tokenizer, encoder or head with
 * options; all values are strings. NULL when out of memory */
json_t *cs_model_part_json(const char *name, const cs_opt *opt, const void *cfg);

/* Settings of a file that is being read. The spec points into the other members. */
typedef struct cs_model_settings {
    const char   *what;          /* the file, for messages */
    json_t       *j;
    cs_model_spec spec;
    void         *cfg[3];        /* tokenizer, encoder, head */
    cs_label     *label;
    cs_arena     *text;
} cs_model_settings;

/** cs_model_settings_init - zero settings of a file. Release them in any case */
void cs_model_settings_init(cs_model_settings *s, const char *what);
void cs_model_settings_release(cs_model_settings *s);
/** cs_model_settings_open - parse the text of the metadata (NULL: the file has none) and check its
 * format. CS_OK; CS_EFORMAT; CS_EMODEL for other formats */
int cs_model_settings_open(cs_model_settings *s, const char *text) CS_MUST_CHECK;
/** cs_model_settings_read - tokenizer, encoder, head and labels, into spec. CS_OK; CS_EFORMAT;
 * CS_EMODEL for parts that this version does not have; CS_EMEM */
int cs_model_settings_read(cs_model_settings *s) CS_MUST_CHECK;
/** cs_model_settings_apply - all others, into the model declared from spec, which takes over the
 * text of labels. CS_OK; CS_EFORMAT */
int cs_model_settings_apply(cs_model_settings *s, cs_model *m) CS_MUST_CHECK;

/** cs_model_damaged - fail with CS_EFORMAT: the file is not a valid model, and why */
int cs_model_damaged(const char *what, const char *why);

#endif
