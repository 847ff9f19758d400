/* lost_device.h - a device that fails during a download. */
#ifndef CS_TESTS_LOST_DEVICE_H
#define CS_TESTS_LOST_DEVICE_H

#include <string.h>

#include "kernels/backend.h"

static bool device_lost;

static void lose_download(cs_backend *be, void *host, const void *src, size_t n_bytes)
{
    (void)be, (void)src;
    memset(host, 0xff, n_bytes);
    device_lost = true;
}

static int lose_sync(cs_backend *be)
{
    (void)be;
    return device_lost ? cs_fail(CS_EDEVICE, "device lost") : CS_OK;
}

/** lose_device - downloads give NaNs from now on, and the next sync() CS_EDEVICE, "device lost" */
static inline void lose_device(cs_backend *be)
{
    device_lost = false;
    be->op.download = lose_download;
    be->op.sync = lose_sync;
}

#endif
