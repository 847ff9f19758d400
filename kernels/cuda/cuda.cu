/* cuda.cu - the CUDA backend: one device, its memory, its stream, its errors. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/device.cuh"

extern "C" {
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/cuda/cuda.h"
}

enum { SCRATCH_BYTES = 64 << 20 };

void cs_cuda_record_error(cs_backend *be, cudaError_t e, const char *where)
{
    cs_cuda *cu = cs_cuda_of(be);
    if (e == cudaSuccess)
        return;
    (void)cudaGetLastError();    /* recorded here: otherwise the next launch would report it */
    if (cu->capturing)
        cu->capture_failed = true;   /* nothing has run: the same ops fail again one by one */
    if (cu->capturing || cu->error != cudaSuccess)
        return;
    cu->error = e;
    cu->where = where;
}

/* A backend is opened on one thread and used on another; every thread starts at device 0. */
void cs_cuda_set_device(cs_backend *be)
{
    static thread_local int current = -1;
    cs_cuda *cu = cs_cuda_of(be);
    if (current == cu->device)
        return;
    const cudaError_t e = cudaSetDevice(cu->device);
    current = e == cudaSuccess ? cu->device : -1;
    cs_cuda_record_error(be, e, "device");
}

void cs_cuda_check_launch(cs_backend *be, const char *where)
{
    cs_cuda_record_error(be, cudaGetLastError(), where);
    if (cs_cuda_of(be)->wait)
        cs_cuda_record_error(be, cudaStreamSynchronize(cs_cuda_of(be)->stream), where);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void *cuda_alloc(cs_backend *be, size_t n_bytes)
{
    void *p = NULL;
    cs_cuda_set_device(be);
    if (cudaMalloc(&p, n_bytes ? n_bytes : 1) == cudaSuccess)
        return p;
    (void)cudaGetLastError();    /* reported by NULL: the caller may retry with less */
    return NULL;
}

static void cuda_dealloc(cs_backend *be, void *p)
{
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaStreamSynchronize(cs_cuda_of(be)->stream), "dealloc");
    cs_cuda_record_error(be, cudaFree(p), "dealloc");
}

/* Uploads one piece of at most CS_RING_BYTES. */
static void upload_part(cs_backend *be, char *dst, const char *host, size_t n_bytes)
{
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_ring *ring = &cu->ring;
    const unsigned i = ring->next++ % CS_RING_PARTS;
    char *part = ring->at + (size_t)i * CS_RING_BYTES;

    cs_cuda_record_error(be, cudaEventSynchronize(ring->copied[i]), "upload");
    memcpy(part, host, n_bytes);
    cs_cuda_record_error(be, cudaMemcpyAsync(dst, part, n_bytes, cudaMemcpyHostToDevice,
                                             cu->stream), "upload");
    cs_cuda_record_error(be, cudaEventRecord(ring->copied[i], cu->stream), "upload");
}

/* The caller may reuse its bytes at once. CUDA guarantees that for pageable memory only if it
 * copies them first, which devices that read host memory directly do not. The transfer is ordered
 * on the stream. */
static void cuda_upload(cs_backend *be, void *dst, const void *host, size_t n_bytes)
{
    cs_cuda_set_device(be);
    if (!n_bytes || cs_cuda_abort_capture(be))
        return;
    const size_t step = CS_RING_BYTES;
    for (size_t at = 0; at < n_bytes; at += step)
        upload_part(be, (char *)dst + at, (const char *)host + at,
                    n_bytes - at < step ? n_bytes - at : step);
}

static cudaError_t ring_open(cs_cuda_ring *ring)
{
    cudaError_t e = cudaMallocHost((void **)&ring->at, CS_RING_PARTS * CS_RING_BYTES);
    for (int i = 0; i < CS_RING_PARTS && e == cudaSuccess; i++)
        e = cudaEventCreateWithFlags(&ring->copied[i], cudaEventDisableTiming);
    return e;
}

static void ring_close(cs_cuda_ring *ring)
{
    for (int i = 0; i < CS_RING_PARTS; i++)
        if (ring->copied[i])
            (void)cudaEventDestroy(ring->copied[i]);
    (void)cudaFreeHost(ring->at);
}

static void cuda_download(cs_backend *be, void *host, const void *src, size_t n_bytes)
{
    cs_cuda *cu = cs_cuda_of(be);
    const bool capturing = cs_cuda_abort_capture(be);
    cs_cuda_set_device(be);
    if (n_bytes && !capturing)
        cs_cuda_record_error(be, cudaMemcpyAsync(host, src, n_bytes, cudaMemcpyDeviceToHost,
                                                 cu->stream),
                     "download");
    if (!capturing)
        cs_cuda_record_error(be, cudaStreamSynchronize(cu->stream), "download");
    if (capturing || cu->error != cudaSuccess)
        memset(host, 0xFF, n_bytes);     /* NaN: visible if the caller forgets sync() */
}

/* Are the rows contiguous? Then a one-dimensional fill or copy runs at memory speed, with any size;
 * a two-dimensional one is slower and its pitch is limited. */
static bool is_dense(cs_mat x) { return x.ld == x.c || x.r == 1; }

static void cuda_zero(cs_backend *be, cs_mat x)
{
    cs_cuda_set_device(be);
    cudaStream_t s = cs_cuda_of(be)->stream;
    const size_t row = (size_t)x.c * sizeof *x.p, n = (size_t)x.r;
    if (x.r > 0 && x.c > 0)
        cs_cuda_record_error(be, is_dense(x) ? cudaMemsetAsync(x.p, 0, n * row, s)
                                 : cudaMemset2DAsync(x.p, (size_t)x.ld * sizeof *x.p, 0, row, n, s),
                             "zero");
}

static void cuda_copy(cs_backend *be, cs_mat x, cs_mat y)
{
    cs_cuda_set_device(be);
    cudaStream_t s = cs_cuda_of(be)->stream;
    const size_t row = (size_t)x.c * sizeof *x.p, n = (size_t)x.r;
    if (x.r <= 0 || x.c <= 0)
        return;
    cs_cuda_record_error(be, is_dense(x) && is_dense(y)
        ? cudaMemcpyAsync(y.p, x.p, n * row, cudaMemcpyDeviceToDevice, s)
        : cudaMemcpy2DAsync(y.p, (size_t)y.ld * sizeof *y.p, x.p, (size_t)x.ld * sizeof *x.p, row,
                            n, cudaMemcpyDeviceToDevice, s), "copy");
}

static int64_t cuda_free_memory(cs_backend *be)
{
    size_t n_free = 0, n_all;
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaMemGetInfo(&n_free, &n_all), "free memory");
    return (int64_t)n_free;
}

static int cuda_sync(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_set_device(be);
    if (!cs_cuda_abort_capture(be))
        cs_cuda_record_error(be, cudaStreamSynchronize(cu->stream), "sync");
    return cs_cuda_error(be);
}

int cs_cuda_error(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    if (cu->error == cudaSuccess)
        return CS_OK;
    return cs_fail(CS_EDEVICE, "device %s: %s, in or before '%s'; set CHORDSEQ_SYNC=1 to locate "
                   "the failed kernel", cu->label, cudaGetErrorString(cu->error), cu->where);
}

/* ---- opening ----------------------------------------------------------------------------- */

static void fill(cs_ops *op)
{
    op->alloc = cuda_alloc;
    op->dealloc = cuda_dealloc;
    op->upload = cuda_upload;
    op->download = cuda_download;
    op->zero = cuda_zero;
    op->copy = cuda_copy;
    op->sync = cuda_sync;
    op->free_memory = cuda_free_memory;
    cs_cuda_dense(op);
    cs_cuda_norm(op);
    cs_cuda_seg(op);
    cs_cuda_pool(op);
    cs_cuda_attn(op);
    cs_cuda_attn_seg(op);
    cs_cuda_linear_attn(op);
    cs_cuda_conv(op);
    cs_cuda_sparse(op);
    cs_cuda_loss(op);
}

int cs_cuda_count(const char **why)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess) {
        (void)cudaGetLastError();
        *why = cudaGetErrorString(e);
        return 0;
    }
    *why = "no device was found";
    return n;
}

/* Only the first launch shows whether this build has code for the device. */
static __global__ void probe_kernel(double *at)
{
    *at = 0;
}

static int probe(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    CS_KERNEL_CALL(probe_kernel, 1, 1, cu->stream, cu->scratch);
    cudaError_t e = cudaGetLastError();
    if (e == cudaSuccess)
        e = cudaStreamSynchronize(cu->stream);
    if (e == cudaSuccess)
        return CS_OK;
    return cs_fail(CS_EDEVICE, "device '%s' of compute capability %d.%d cannot run this build's "
                   "kernels: %s; configure --with-cuda-arch=%d, or use %s", cu->label,
                   cu->capability / 10, cu->capability % 10, cudaGetErrorString(e),
                   cu->capability, CS_OPTION("device cpu"));
}

/* Is wgmma.cuh compiled for a device that has it? */
#if defined CS_SM90A || defined CS_HOST_MMA
static const bool wgmma_is_compiled = true;
#else
static const bool wgmma_is_compiled = false;
#endif

/* Rows per multiprocessor: two tiles for each warpgroup (chord_group.cuh) need the most, 384. */
enum { FULL_ROWS = 400 };

static int open_parts(cs_backend *be, int device)
{
    cs_cuda *cu = cs_cuda_of(be);
    const char *why = "";
    cudaDeviceProp about;
    cu->device = device;
    cs_cuda_set_device(be);
    cudaError_t e = cu->error;
    if (e == cudaSuccess)
        e = cudaGetDeviceProperties(&about, device);
    if (e == cudaSuccess) {
        cu->capability = 10 * about.major + about.minor;
        cu->n_sm = about.multiProcessorCount;
        cu->shared_bytes = about.sharedMemPerBlockOptin;
        cu->l2_bytes = about.l2CacheSize;
        cu->has_wgmma = cu->capability == 90 && wgmma_is_compiled && cs_cpu_has(CS_CPU_WGMMA);
        be->full_rows = (int64_t)FULL_ROWS * cu->n_sm;
    }
    if (e == cudaSuccess)
        (void)snprintf(cu->label, sizeof cu->label, "cuda:%d (%.64s)", device, about.name);
    if (e == cudaSuccess)
        e = cudaStreamCreateWithFlags(&cu->stream, cudaStreamNonBlocking);
    if (e == cudaSuccess)
        e = cs_cuda_staging_open(be);
    if (e == cudaSuccess)
        e = ring_open(&cu->ring);
    if (e == cudaSuccess)
        e = cudaMalloc((void **)&cu->scratch, SCRATCH_BYTES);
    if (e != cudaSuccess)
        return cs_fail(CS_EDEVICE, "cannot use device 'cuda:%d': %s", device,
                       cudaGetErrorString(e));
    cu->n_scratch = SCRATCH_BYTES / sizeof *cu->scratch;
    const int rc = probe(be);
    if (rc != CS_OK)
        return rc;
    cu->blas = cs_blas_load(&why);
    if (!cu->blas)
        return cs_fail(CS_EDEVICE, "cannot use device '%s' without cuBLAS: %s", cu->label, why);
    if (cu->blas->create(&cu->handle) != CUBLAS_STATUS_SUCCESS)
        return cs_fail(CS_EDEVICE, "cannot use device '%s': cuBLAS does not start", cu->label);
    (void)cu->blas->set_stream(cu->handle, cu->stream);
    /* Like every op, it owns the scratch while it runs. Otherwise each product in a graph would
     * allocate a workspace. */
    (void)cu->blas->set_workspace(cu->handle, cu->scratch, SCRATCH_BYTES);
    return CS_OK;
}

static bool is_set(const char *variable)
{
    const char *v = getenv(variable);
    return v && strcmp(v, "1") == 0;
}

int cs_cuda_open(cs_backend *be, int device)
{
    const char *why;
    int n = cs_cuda_count(&why);
    if (n == 0)
        return cs_fail(CS_EDEVICE, "no CUDA device to compute on: %s; use %s", why,
                       CS_OPTION("device cpu"));
    if (device >= n)
        return cs_fail(CS_EDEVICE, "no device 'cuda:%d': there are %d, starting at 'cuda:0'",
                       device, n);
    cs_cuda *cu = (cs_cuda *)cs_xcalloc(1, sizeof *cu);
    cu->wait = is_set("CHORDSEQ_SYNC");
    cu->wgmma_backward = is_set("CHORDSEQ_WGMMA_BACKWARD");
    be->impl = cu;
    be->is_host = false;
    memset(&be->fused, 0, sizeof be->fused);
    int rc = open_parts(be, device);
    if (rc != CS_OK) {
        cs_cuda_close(be);
        (void)cudaGetLastError();    /* already reported: the next launch would report it again */
        return rc;
    }
    fill(&be->op);
    if (!cu->wait)
        cs_cuda_graphs(be);
    return CS_OK;
}

int32_t cs_cuda_multiprocessors(const cs_backend *be)
{
    return ((const cs_cuda *)be->impl)->n_sm;
}

size_t cs_cuda_shared_bytes(const cs_backend *be)
{
    return ((const cs_cuda *)be->impl)->shared_bytes;
}

int cs_cuda_compute_in(cs_backend *be, cs_precision p)
{
    const cs_cuda *cu = cs_cuda_of(be);
    if (p != CS_IN_FP32 && cu->capability < 80)
        return cs_fail(CS_EUSAGE, "device %s has compute capability %d.%d; %s needs 8.0",
                       cu->label, cu->capability / 10, cu->capability % 10,
                       CS_OPTION("precision %s", cs_precision_names[p]));
    memset(&be->fused, 0, sizeof be->fused);
    if (p != CS_IN_FP32)
        cs_cuda_conv_epilogue(be);
    if (p == CS_IN_BF16) {
        cs_cuda_chord(be);
        cs_cuda_chord_train(be);
        cs_cuda_bf16(be);
    }
    return CS_OK;
}

void cs_cuda_close(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_set_device(be);
    cs_cuda_reduce.finalize(be);
    if (cu->handle)
        (void)cu->blas->destroy(cu->handle);
    (void)cudaFree(cu->scratch);
    ring_close(&cu->ring);
    cs_cuda_staging_close(be);
    if (cu->stream)
        (void)cudaStreamDestroy(cu->stream);
    free(cu);
    be->impl = NULL;
}
