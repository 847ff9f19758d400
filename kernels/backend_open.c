/* backend_open.c - open a backend by name and check that its table of ops is complete. */
#include "kernels/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/log.h"
#include "base/mem.h"
#include "kernels/cpu/impl.h"
#include "kernels/cuda/cuda.h"

enum { MAX_NUMBER = 9999 };     /* largest number that fits in a device name */

/* cs_ops consists of function pointers only, so it can be walked as an array of them. */
static bool has_hole(const cs_ops *op)
{
    typedef void (*any)(void);
    _Static_assert(sizeof *op % sizeof(any) == 0, "cs_ops must hold function pointers only");
    for (size_t i = 0; i < sizeof *op / sizeof(any); i++) {
        any f;
        memcpy(&f, (const char *)op + i * sizeof f, sizeof f);
        if (!f)
            return true;
    }
    return false;
}

#if defined(CS_HAVE_CUDA) && !defined(CS_DOUBLE)
#define WITH_CUDA
#define DEVICES "'cpu', 'cuda', 'cuda:NUMBER,...' and 'auto'"
#else
#define DEVICES "'cpu'"
#endif

/* ---- names ----------------------------------------------------------------------------------- */

static int none_such(const char *text)
{
    return cs_fail(CS_EDEVICE, "no compute device '%s' in this build: available are " DEVICES,
                   text);
}

static int add_device(cs_devices *d, const char *text, const char *name)
{
    if (d->n == CS_DEVICES_MAX)
        return cs_fail(CS_EUSAGE, "'%s' names more than %d devices", text, CS_DEVICES_MAX);
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->name[i], name) == 0)
            return cs_fail(CS_EUSAGE, "'%s' names device '%s' twice", text, name);
    (void)snprintf(d->name[d->n++], CS_DEVICE_NAME, "%s", name);
    return CS_OK;
}

#ifdef WITH_CUDA
static int add_cuda(cs_devices *d, const char *text, long number)
{
    char name[CS_DEVICE_NAME];
    (void)snprintf(name, sizeof name, "cuda:%ld", number);
    return add_device(d, text, name);
}

/* Adds the devices of a list of numbers after "cuda:", separated by commas. */
static int add_numbers(cs_devices *d, const char *text, const char *list)
{
    int rc = CS_OK;
    char *end;

    for (const char *p = list;; p = end + 1) {
        const long n = *p >= '0' && *p <= '9' ? strtol(p, &end, 10) : -1;
        if (n < 0 || n > MAX_NUMBER || (*end != ',' && *end != '\0'))
            return none_such(text);
        CS_TRY(add_cuda(d, text, n));
        if (*end == '\0')
            break;
    }
out:
    return rc;
}

static int add_all(cs_devices *d, const char *text)
{
    const char *why;
    const int n = cs_cuda_count(&why);
    int rc = n > 0 ? CS_OK : add_device(d, text, "cpu");

    for (int i = 0; i < n && i < CS_DEVICES_MAX && rc == CS_OK; i++)
        rc = add_cuda(d, text, i);
    return rc;
}
#endif

int cs_devices_parse(const char *text, cs_devices *d)
{
    *d = (cs_devices){ .n = 0 };
#ifdef WITH_CUDA
    if (strcmp(text, "cuda") == 0)
        return add_cuda(d, text, 0);
    if (strncmp(text, "cuda:", 5) == 0)
        return add_numbers(d, text, text + 5);
    if (strcmp(text, "auto") == 0)
        return add_all(d, text);
#endif
    return strcmp(text, "cpu") == 0 || strcmp(text, "auto") == 0 ? add_device(d, text, "cpu")
                                                                 : none_such(text);
}

void cs_reducer_about(char *buf, size_t n_buf)
{
#ifdef WITH_CUDA
    const char *why = "";
    const int v = cs_cuda_reducer(&why);
    if (v > 0)
        (void)snprintf(buf, n_buf, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    else
        (void)snprintf(buf, n_buf, "no NCCL: %s", why);
#else
    (void)snprintf(buf, n_buf, "none");
#endif
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Opens the device of one name of a cs_devices. */
static int open_device(cs_backend *be)
{
#ifdef WITH_CUDA
    if (strncmp(be->device, "cuda:", 5) == 0) {
        be->name = "cuda";
        be->compute_in = cs_cuda_compute_in;
        be->reduce = &cs_cuda_reduce;
        be->close = cs_cuda_close;
        return cs_cuda_open(be, (int)strtol(be->device + 5, NULL, 10));
    }
#endif
    be->name = "cpu";
    be->compute_in = cs_cpu_compute_in;
    be->close = cs_cpu_close;
    return cs_cpu_open(be);
}

static int open_named(const char *name, int n_thread, cs_backend **out)
{
    cs_backend *be = cs_xcalloc(1, sizeof *be);
    (void)snprintf(be->device, sizeof be->device, "%s", name);
    be->n_thread = n_thread > 0 ? n_thread : cs_cpu_count();
    int rc = open_device(be);
    if (rc != CS_OK) {
        free(be);
        return rc;
    }
    CS_BUG(has_hole(&be->op));
    *out = be;
    return CS_OK;
}

/* The first `max` devices of "auto" that can be used, or the CPU. */
static int open_auto(const cs_devices *d, int max, int n_thread, cs_backend **out)
{
    cs_backend **at = out;
    for (int i = 0, n = 0; i < d->n && n < max; i++) {
        const int rc = open_named(d->name[i], n_thread, at);
        if (rc == CS_OK) {
            at = &(*at)->next;
            n++;
        } else if (rc != CS_EDEVICE) {
            return rc;
        } else {
            cs_warn("%s", cs_error_message());
            cs_error_clear();
        }
    }
    return *out ? CS_OK : open_named("cpu", n_thread, out);
}

static bool is_auto(const char *text) { return strcmp(text, "auto") == 0; }

int cs_backend_open(const char *text, int n_thread, cs_backend **out)
{
    cs_devices d;
    *out = NULL;
    int rc = cs_devices_parse(text, &d);
    if (rc == CS_OK && d.n > 1 && !is_auto(text))
        rc = cs_fail(CS_EUSAGE, "'%s' names %d devices; this command uses one", text, d.n);
    if (rc != CS_OK)
        return rc;
    return is_auto(text) ? open_auto(&d, 1, n_thread, out) : open_named(d.name[0], n_thread, out);
}

int cs_backend_open_all(const char *text, int n_thread, cs_backend **out)
{
    cs_devices d;
    cs_backend **at = out;
    *out = NULL;
    int rc = cs_devices_parse(text, &d);
    if (rc == CS_OK && is_auto(text))
        rc = open_auto(&d, d.n, n_thread, out);
    for (int i = 0; rc == CS_OK && i < d.n && !is_auto(text); i++) {
        rc = open_named(d.name[i], n_thread, at);
        if (rc == CS_OK)
            at = &(*at)->next;
    }
    if (rc != CS_OK) {
        cs_backend_close(*out);
        *out = NULL;
    }
    return rc;
}

const char *const cs_precision_names[] = { CS_PRECISION_NAMES, NULL };

static int compute_in(cs_backend *be, cs_precision p)
{
    const int rc = be->compute_in(be, p);
    if (rc == CS_OK)
        be->precision = p;
    return rc;
}

int cs_backend_compute_in(cs_backend *be, cs_precision p)
{
    int rc = CS_OK;
    cs_backend *at = be;
    for (; at && rc == CS_OK; at = at->next)
        rc = compute_in(at, p);
    for (at = rc == CS_OK ? NULL : be; at; at = at->next)
        CS_BUG(compute_in(at, CS_IN_FP32) != CS_OK);     /* supported by all */
    return rc;
}

int cs_backend_open_like(const cs_backend *be, int n_thread, cs_backend **out)
{
    int rc = cs_backend_open(be->device, n_thread, out);
    if (rc == CS_OK && (rc = cs_backend_compute_in(*out, be->precision)) != CS_OK) {
        cs_backend_close(*out);
        *out = NULL;
    }
    return rc;
}

void cs_backend_close(cs_backend *be)
{
    while (be) {
        cs_backend *next = be->next;
        be->close(be);
        free(be);
        be = next;
    }
}
