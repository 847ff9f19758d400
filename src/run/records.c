/* records.c - shared by commands that stream records through a model: options, model, inputs. */
#include "run/records.h"

int cs_records_load(cs_records *r, cs_record_args *a)
{
    int rc = CS_OK;

    r->threads = cs_args_threads(&a->compute);
    CS_TRY(cs_shard_new(&a->shard, &r->shard));
    CS_TRY(cs_args_input_opt(&a->input, r->threads.inflate, &r->input_opt));
    CS_TRY(cs_record_source_find(&a->input, &a->pairs));     /* before the slow load of the model */
    CS_TRY(cs_model_open(a->model.model, &a->device, r->threads.work, &r->be, &r->model));
    rc = cs_model_find_default(a->model.model, r->model_path, sizeof r->model_path);
out:
    return rc;
}

int cs_records_open(cs_records *r, cs_record_args *a, const cs_call_args *calls)
{
    int rc = CS_OK;

    CS_TRY(cs_policy_init(&r->policy, &a->policy, calls, r->model));
    r->input_opt.alphabet = cs_tokenizer_alphabet(r->model->tok, r->model->tok_state);
    rc = cs_record_source_open(&a->input, &a->pairs, &r->input_opt, &r->src);
out:
    return rc;
}

cs_stream cs_records_stream(cs_records *r, const cs_record_args *a,
                            int (*sink)(void *, const cs_record *, const cs_prediction *),
                            void *arg)
{
    cs_stream s = cs_stream_of(&r->src, r->model, &r->policy, &a->stream, &r->threads);

    s.sink = sink;
    s.arg = arg;
    return s;
}

void cs_records_close(cs_records *r, cs_record_args *a)
{
    cs_shard_free(r->shard);
    cs_record_source_close(&r->src);
    cs_policy_release(&r->policy);
    cs_model_free(r->model);
    cs_backend_close(r->be);
    cs_args_release(&a->input);
}
