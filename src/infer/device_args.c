/* device_args.c - the options --device and --precision, and the backend that they name. */
#include "infer/device_args.h"

#include "base/log.h"

enum { PRECISION_AUTO };
static const char *const precision_names[] = { "auto", CS_PRECISION_NAMES, NULL };

const cs_opt cs_device_table[] = {
    { .type = CS_OPT_STR, .name = "device", .off = offsetof(cs_device_args, device),
      .arg = "NAME", .def = "cpu",
      .help = "device: cpu, cuda, cuda:NUMBER,... or auto",
      .man = "In builds with CUDA, cuda is the first NVIDIA GPU, cuda:0,2 are GPUs 0 and 2, and "
             "auto is all usable GPUs, or cpu. Each GPU takes the next batch when it is free; "
             "predictions keep the order of the input and equal those of one GPU. train and "
             "pretrain share the batches of a step among the listed GPUs. With auto, train, "
             "pretrain, explain and bench use the first GPU. Predictions on GPUs and CPUs agree up "
             "to rounding.", .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_ENUM, .name = "precision", .off = offsetof(cs_device_args, precision),
      .arg = "KIND", .def = "auto",
      .help = "precision of matrix products: fp32, tf32, bf16 or auto",
      .man = "fp32 is single precision, the reference; tf32 and bf16 have 10 and 7 bits of "
             "mantissa and use the tensor cores of GPUs. Sums, parameters and their updates are "
             "always in single precision. For prediction, auto is the precision that the model was "
             "validated in (chordseq model checked) if all GPUs support it, otherwise fp32; for "
             "training and on CPUs, auto is fp32. A CPU with AVX-512 BF16, or BF16 on aarch64, "
             "supports bf16 in dense layers, ChordMixer blocks and convolutions and their "
             "gradients; attention scores and sparse factors stay in fp32. In vector registers, "
             "bf16 products took half the time of fp32 on an AMD Zen 5, and twice the time on an "
             "Intel Emerald Rapids. With AMX, if Linux permits it, they take a small fraction of "
             "the fp32 time.",
      .choice = precision_names, .same = CS_OPT_SAME_NOTHING },
    { .type = CS_OPT_END }
};

static int open_device(const cs_device_args *a, bool all, int n_thread, cs_backend **out)
{
    cs_backend *be;

    *out = NULL;
    int rc = (all ? cs_backend_open_all : cs_backend_open)(a->device, n_thread, &be);
    if (rc == CS_OK && a->precision != PRECISION_AUTO)
        rc = cs_backend_compute_in(be, (cs_precision)(a->precision - 1));
    if (rc == CS_OK)
        *out = be;
    else
        cs_backend_close(be);
    return rc;
}

int cs_device_open(const cs_device_args *a, int n_thread, cs_backend **out)
{
    return open_device(a, false, n_thread, out);
}

int cs_device_open_all(const cs_device_args *a, int n_thread, cs_backend **out)
{
    return open_device(a, true, n_thread, out);
}

void cs_device_auto_precision(const cs_device_args *a, const cs_model *m)
{
    if (a->precision != PRECISION_AUTO || m->be->is_host || m->checked == CS_IN_FP32)
        return;
    if (cs_backend_compute_in(m->be, m->checked) == CS_OK)
        cs_info("matrix products in %s, as the model was validated",
                cs_precision_names[m->checked]);
    else
        cs_error_clear();        /* the default, not requested */
}
