/* cu_graph.cu - CUDA graphs: a sequence of ops as one launch, captured from the compute stream.
 *
 * DESIGN. Between begin and end, launches and copies within the device become nodes of a graph with
 * their arguments instead of running. So do cuBLAS's products: their factors 1 and 0 are host
 * pointers, read at the call, and their workspace is our scratch.
 *
 * Capture mode is ThreadLocal: other threads may allocate memory and wait for their own streams
 * meanwhile, which Global would forbid. Relaxed would also permit this thread to; but an op that
 * allocates or waits is a bug, and should fail.
 *
 * If a call fails, the captured ops have not run, and the caller runs them one by one. So the
 * failure is reported by NULL and not kept; a permanent error will occur again.
 */
#include "kernels/cuda/device.cuh"

bool cs_cuda_abort_capture(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    cu->capture_failed |= cu->capturing;
    return cu->capturing;
}

static bool graphs_begin(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_set_device(be);
    if (cudaStreamBeginCapture(cu->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
        (void)cudaGetLastError();    /* reported by false */
        return false;
    }
    cu->capturing = true;
    cu->capture_failed = false;
    return true;
}

static cs_graph *graphs_end(cs_backend *be)
{
    cs_cuda *cu = cs_cuda_of(be);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cs_cuda_set_device(be);
    cudaError_t e = cudaStreamEndCapture(cu->stream, &graph);
    if (e == cudaSuccess && !cu->capture_failed)
        (void)cudaGraphInstantiate(&exec, graph, 0);
    if (graph)
        (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();    /* reported by NULL */
    cu->capturing = false;
    return (cs_graph *)exec;
}

static void graphs_launch(cs_backend *be, cs_graph *g)
{
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaGraphLaunch((cudaGraphExec_t)g, cs_cuda_of(be)->stream), "graph");
}

static void graphs_dealloc(cs_backend *be, cs_graph *g)
{
    cs_cuda_set_device(be);
    cs_cuda_record_error(be, cudaStreamSynchronize(cs_cuda_of(be)->stream), "graph");
    cs_cuda_record_error(be, cudaGraphExecDestroy((cudaGraphExec_t)g), "graph");
}

void cs_cuda_graphs(cs_backend *be)
{
    be->graphs.begin = graphs_begin;
    be->graphs.end = graphs_end;
    be->graphs.launch = graphs_launch;
    be->graphs.dealloc = graphs_dealloc;
}
