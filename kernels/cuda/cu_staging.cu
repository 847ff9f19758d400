/* cu_staging.cu - staging buffers: copies on a separate stream, ordered by events.
 *
 * DESIGN. `stream` computes, `copies` copies. For batches k = 0, 1, 2 ... in slots k mod 2:
 *
 *     copies   send k+1   fetch k   send k+2   fetch k+1
 *     stream   compute k    compute k+1    compute k+2
 *
 * compute k waits for event sent[k mod 2], fetch k for event done[k mod 2], and the host for fetch
 * k. So send k+2 finds its slot free: compute k ended before fetch k.
 */
#include "kernels/cuda/device.cuh"

static void *staging_alloc(cs_backend *be, size_t n_bytes)
{
    void *p = NULL;
    cs_cuda_set_device(be);
    if (cudaMallocHost(&p, n_bytes ? n_bytes : 1) == cudaSuccess)
        return p;
    (void)cudaGetLastError();    /* reported by NULL */
    return NULL;
}

static void staging_dealloc(cs_backend *be, void *p)
{
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaFreeHost(p), "dealloc");
}

static void staging_send(cs_backend *be, int slot, void *dst, const void *pinned, size_t n_bytes)
{
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaMemcpyAsync(dst, pinned, n_bytes, cudaMemcpyHostToDevice,
                                             cu->copies),
                 "send");
    cs_cuda_record_error(be, cudaEventRecord(cu->sent[slot], cu->copies), "send");
    cs_cuda_record_error(be, cudaStreamWaitEvent(cu->stream, cu->sent[slot], 0), "send");
}

static void staging_end(cs_backend *be, int slot, cs_mat y, void *out)
{
    cs_cuda *cu = cs_cuda_of(be);
    unsigned long long *first = (unsigned long long *)out;
    cs_real *v = (cs_real *)((char *)out + CS_STAGING_HEAD);
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaMemsetAsync(out, 0xFF, CS_STAGING_HEAD, cu->stream),
                         "predictions");
    cs_each(be, y.r, y.c, [=] __device__(int64_t r, int32_t j) {
        cs_real x = cs_el(y, r, j);
        int64_t i = r * y.c + j;
        v[i] = x;
        if (x - x != 0)          /* infinite or NaN */
            atomicMin(first, (unsigned long long)i);
    }, "predictions");
    cs_cuda_record_error(be, cudaEventRecord(cu->done[slot], cu->stream), "predictions");
}

static int staging_fetch(cs_backend *be, int slot, void *pinned, const void *src, size_t n_bytes)
{
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaStreamWaitEvent(cu->copies, cu->done[slot], 0), "fetch");
    cs_cuda_record_error(be, cudaMemcpyAsync(pinned, src, n_bytes, cudaMemcpyDeviceToHost,
                                             cu->copies),
                 "fetch");
    cs_cuda_record_error(be, cudaStreamSynchronize(cu->copies), "fetch");
    return cs_cuda_error(be);
}

cudaError_t cs_cuda_staging_open(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    cudaError_t e = cudaStreamCreateWithFlags(&cu->copies, cudaStreamNonBlocking);
    for (int i = 0; i < CS_STAGING_SLOTS && e == cudaSuccess; i++) {
        e = cudaEventCreateWithFlags(&cu->sent[i], cudaEventDisableTiming);
        if (e == cudaSuccess)
            e = cudaEventCreateWithFlags(&cu->done[i], cudaEventDisableTiming);
    }
    be->staging.alloc = staging_alloc;
    be->staging.dealloc = staging_dealloc;
    be->staging.send = staging_send;
    be->staging.end = staging_end;
    be->staging.fetch = staging_fetch;
    return e;
}

void cs_cuda_staging_close(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    for (int i = 0; i < CS_STAGING_SLOTS; i++) {
        if (cu->sent[i])
            (void)cudaEventDestroy(cu->sent[i]);
        if (cu->done[i])
            (void)cudaEventDestroy(cu->done[i]);
    }
    if (cu->copies)
        (void)cudaStreamDestroy(cu->copies);
}
