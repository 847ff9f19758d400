/* device_args.h - the options --device and --precision, and the backend that they name. */
#ifndef CS_INFER_DEVICE_ARGS_H
#define CS_INFER_DEVICE_ARGS_H

#include "base/opt.h"
#include "nn/exec/model.h"

typedef struct cs_device_args { const char *device; int precision; } cs_device_args;

extern const cs_opt cs_device_table[];     /* --device, --precision */

/** cs_device_open - the backend of --device, one device, in --precision (auto: fp32); CS_EDEVICE,
 * CS_EUSAGE */
int cs_device_open(const cs_device_args *a, int n_thread, cs_backend **out) CS_MUST_CHECK;
/** cs_device_open_all - all devices, as a list, for predictions */
int cs_device_open_all(const cs_device_args *a, int n_thread, cs_backend **out) CS_MUST_CHECK;

/** cs_device_auto_precision - with --precision auto, compute in the precision that the model was
 * validated in, if all GPUs of the run support it; for prediction, after loading the model */
void cs_device_auto_precision(const cs_device_args *a, const cs_model *m);

#endif
