/* encoder_bench.h - time and memory of encoders by sequence length. */
#ifndef CS_TOOLS_ENCODER_BENCH_H
#define CS_TOOLS_ENCODER_BENCH_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "train/train_args.h"

typedef struct cs_bench_args {
    cs_strlist  encoder;
    int64_t     min_len, max_len, width, repeats, max_memory, seed;
    double      max_seconds;
    const char *output;
    cs_memory_args  memory;
    cs_compute_args compute;
    cs_device_args  device;
} cs_bench_args;
extern const cs_opt cs_bench_table[];

/** cs_bench_encoders - measure and write the table. CS_OK; CS_EUSAGE; CS_EIO */
int cs_bench_encoders(const cs_bench_args *a) CS_MUST_CHECK;

#endif
