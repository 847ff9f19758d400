/* runtime.cpp - the CUDA emulator: devices, memory, streams and events.
 *
 * DESIGN. A stream is a list of steps (kernels, copies, waits for events) in order. CUDA leaves the
 * time of a step open, except for the order in its stream, events and waits of the host. So does
 * the emulator: by cs_host_lag, streams run at once, as late as possible, a mix of both, or in
 * random order. A program whose results depend on it lacks a dependency. To test the tests,
 * cs_host_skip_wait omits a wait, and results in some order must then differ.
 *
 * While a stream is captured its steps go into a graph, and calls that CUDA forbids then (waits,
 * events, copies of pageable memory; allocating or freeing memory in the capturing thread) break
 * the capture. Launching a graph puts copies of its steps on a stream.
 *
 * Host memory follows CUDA's rules: copies from pageable memory read it at once or, with
 * cs_host_pageable_access, when the stream reaches them; copies to it wait; copies of pinned memory
 * run when the stream reaches them, and until then their destination is NaN. Memory of devices is
 * accessible only while a step runs, so an access by the host ends the program, unless
 * cs_host_unified is set; copies check on which side their addresses are. Any thread may call; one
 * lock protects everything. Errors stay until cudaGetLastError() reports them, as in CUDA.
 *
 * Environment: CS_HOST_DEVICES, CS_HOST_MULTIPROCESSORS, CS_HOST_MEMORY (bytes), CS_HOST_L2,
 * CS_HOST_CAPABILITY, CS_HOST_ORDER, CS_HOST_LAG, CS_HOST_UNIFIED, CS_HOST_FAIL and
 * CS_HOST_SKIP_WAIT set the variables of those names; CS_HOST_FAIL may be a range of failing calls,
 * 3-5.
 */
/* long: the runtime's calls share its streams and its lock
 */
#include "cuda_runtime.h"

#include "guard.h"

#include <stdio.h>
#include <stdlib.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

enum { MAX_DEVICES = 64, DEFAULT_SHARED_BYTES = 48 << 10 };
static const size_t DEFAULT_MEMORY = (size_t)16 << 30;

static long env_number(const char *name, long default_value)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : default_value;
}

static long env_range_end(const char *name)
{
    const char *text = getenv(name), *dash = text ? strchr(text, '-') : NULL;
    return dash ? strtol(dash + 1, NULL, 10) : env_number(name, 0);
}

size_t cs_host_memory = (size_t)env_number("CS_HOST_MEMORY", (long)DEFAULT_MEMORY);
int cs_host_fault = cudaSuccess, cs_host_devices = (int)env_number("CS_HOST_DEVICES", 1);
int cs_host_capability = (int)env_number("CS_HOST_CAPABILITY", 90), cs_host_min_capability = 75;
int cs_host_pageable_access;
int cs_host_unified = (int)env_number("CS_HOST_UNIFIED", 0);
int cs_host_multiprocessors = (int)env_number("CS_HOST_MULTIPROCESSORS", 2);
int cs_host_l2 = (int)env_number("CS_HOST_L2", 1 << 16);
int cs_host_order = (int)env_number("CS_HOST_ORDER", CS_ORDER_STEPS);
int cs_host_lag = (int)env_number("CS_HOST_LAG", CS_LAG_NEVER);
long cs_host_kernel_launches, cs_host_graph_launches, cs_host_2d_calls;
long cs_host_fail = env_number("CS_HOST_FAIL", 0);
long cs_host_skip_wait = env_number("CS_HOST_SKIP_WAIT", 0);
static long n_more_failures = env_range_end("CS_HOST_FAIL") - env_number("CS_HOST_FAIL", 0);

static std::recursive_mutex runtime_mutex;
#define LOCK std::lock_guard<std::recursive_mutex> lock(runtime_mutex)

static thread_local int current_device;
static size_t used[MAX_DEVICES];

static thread_local cudaError_t last_error;

/* Returns e; an error is kept for cudaGetLastError(). */
static cudaError_t return_error(cudaError_t e)
{
    if (e != cudaSuccess)
        last_error = e;
    return e;
}

/* ---- which memory is of a device ------------------------------------------------------------- */

struct allocation { size_t n_bytes; int device; };
typedef std::map<const char *, allocation> allocations;
static allocations device_memory, pinned;
static bool device_accessible;

static bool is_in(const allocations &m, const void *p, size_t n_bytes)
{
    auto at = m.upper_bound((const char *)p);
    if (at == m.begin())
        return false;
    --at;
    return (const char *)p + n_bytes <= at->first + at->second.n_bytes;
}

static bool is_pinned(const void *p, size_t n_bytes)
{
    return is_in(pinned, p, n_bytes);
}

bool cs_host_on_device(const void *p, size_t n_bytes)
{
    return is_in(device_memory, p, n_bytes) || is_pinned(p, n_bytes);
}

/* Makes the memory of all devices accessible, or not. */
static void protect_devices(bool accessible)
{
    if (cs_host_unified || accessible == device_accessible)
        return;
    device_accessible = accessible;
    for (const auto &m : device_memory)
        cs_host_guarded_protect((char *)m.first, m.second.n_bytes, accessible);
}

/* Are the sides of a copy what `kind` says? */
static bool is_valid_copy(const void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind)
{
    const bool of_host[] = { kind == cudaMemcpyDeviceToHost, kind == cudaMemcpyHostToDevice };
    const void *side[] = { to, from };
    for (int i = 0; i < 2; i++)
        if (of_host[i] ? is_in(device_memory, side[i], 1) : !cs_host_on_device(side[i], n_bytes))
            return n_bytes == 0;
    return true;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Position in a stream: after its first n steps. */
struct position { std::shared_ptr<struct cs_host_queue> queue; uint64_t n; };

struct step {
    std::function<void()> run;   /* empty: only waits */
    position              wait_for;
};

struct cs_host_queue {
    int              device;
    bool             first;      /* of its device's streams */
    bool             running;
    bool             queried;    /* since the last step was enqueued */
    uint64_t         n_queued, n_done;
    std::deque<step> pending;
};

typedef std::vector<std::function<void()>> step_list;

struct cs_host_stream {
    std::shared_ptr<cs_host_queue> queue;
    std::unique_ptr<step_list>     capture;    /* steps of the graph being captured, or null */
    bool                           broken;     /* the capture failed */
};
struct cs_host_event { position at; };

static std::vector<std::weak_ptr<cs_host_queue>> streams;
static uint64_t random_state = 1;

static bool is_reached(const position &p)
{
    return !p.queue || p.queue->n_done >= p.n;
}

static void run_until(const position &p);

/* Runs the next step. If it waits for another stream, that one runs first with `force`. */
static bool run_step(const std::shared_ptr<cs_host_queue> &s, bool force)
{
    if (s->pending.empty() || s->running)
        return false;
    if (!is_reached(s->pending.front().wait_for) && !force)
        return false;
    s->running = true;
    step now = std::move(s->pending.front());
    s->pending.pop_front();
    run_until(now.wait_for);
    if (now.run) {
        protect_devices(true);
        now.run();
        protect_devices(false);
    }
    s->n_done++;
    s->running = false;
    return true;
}

static void run_until(const position &p)
{
    while (!is_reached(p))
        if (!run_step(p.queue, true))
            abort();             /* a stream waits for itself */
}

static bool runs_at_once(const cs_host_queue &s)
{
    return cs_host_lag == CS_LAG_NEVER || (cs_host_lag == CS_LAG_FIRST && !s.first)
        || (cs_host_lag == CS_LAG_OTHERS && s.first);
}

/* Runs steps before the host waits for them. */
static void run_streams(void)
{
    static int seed;
    if (cs_host_lag > 0 && seed != cs_host_lag)
        random_state = (uint64_t)(seed = cs_host_lag);
    for (bool progressed = true; progressed;) {
        progressed = false;
        for (size_t i = 0; i < streams.size(); i++) {
            std::shared_ptr<cs_host_queue> s = streams[i].lock();
            if (s && (cs_host_lag > 0 ? cs_host_random(&random_state, 4) == 0 : runs_at_once(*s)))
                progressed |= run_step(s, false);
        }
    }
}

static thread_local cudaStream_t capturing;

/* An error if the stream is being captured, which the calling function does not allow. */
static cudaError_t check_no_capture(cudaStream_t s)
{
    if (!s || !s->capture)
        return cudaSuccess;
    s->broken = true;
    return return_error(cudaErrorStreamCaptureUnsupported);
}

static void enqueue(cudaStream_t s, std::function<void()> run, position wait_for)
{
    if (s->capture) {
        s->capture->push_back(std::move(run));
        return;
    }
    s->queue->pending.push_back({ std::move(run), std::move(wait_for) });
    s->queue->n_queued++;
    s->queue->queried = false;
    run_streams();
}

void cs_host_enqueue(cudaStream_t s, std::function<void()> work)
{
    LOCK;
    cs_host_kernel_launches += !s->capture;
    enqueue(s, std::move(work), {});
}

/* Limit of dynamic shared memory, per device and kernel: cudaFuncSetAttribute(). */
static std::map<std::pair<int, const void *>, size_t> shared_limit;

/* CUDA C++ Programming Guide, technical specifications per compute capability. */
static size_t max_shared(void)
{
    switch (cs_host_capability) {
    case 75: return 64 << 10;
    case 80: return 163 << 10;
    case 86: case 89: case 120: return 99 << 10;
    default: return 227 << 10;
    }
}

cudaError_t cs_host_set_max_shared(const void *kernel, int n_bytes)
{
    LOCK;
    if (n_bytes < 0 || (size_t)n_bytes > max_shared())
        return return_error(cudaErrorInvalidValue);
    shared_limit[{ current_device, kernel }] = (size_t)n_bytes;
    return cudaSuccess;
}

void cs_host_launch(const cs_host_grid &g, cudaStream_t s, const void *kernel_key,
                    std::function<void()> kernel)
{
    LOCK;
    if (cs_host_fault != cudaSuccess)
        return;
    if (cs_host_capability < cs_host_min_capability) {
        cs_host_fault = cudaErrorNoKernelImageForDevice;
        return;
    }
    if (s->queue->device != current_device) {
        cs_host_fault = cudaErrorInvalidResourceHandle;
        return;
    }
    if (g.n_bytes > DEFAULT_SHARED_BYTES
        && g.n_bytes > shared_limit[{ current_device, kernel_key }]) {
        cs_host_fault = cudaErrorInvalidValue;
        return;
    }
    cs_host_kernel_launches += !s->capture;
    enqueue(s, [g, kernel] { cs_host_run(g, kernel); }, {});
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    LOCK;
    bool first = true;
    for (size_t i = 0; i < streams.size();) {
        std::shared_ptr<cs_host_queue> other = streams[i].lock();
        first = first && !(other && other->device == current_device);
        if (other)
            i++;
        else
            streams.erase(streams.begin() + (long)i);
    }
    *s = new cs_host_stream{ std::make_shared<cs_host_queue>(), nullptr, false };
    (*s)->queue->device = current_device;
    (*s)->queue->first = first;
    streams.push_back((*s)->queue);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    LOCK;
    if (cudaError_t e = check_no_capture(s))
        return e;
    run_until({ s->queue, s->queue->n_queued });
    return cudaSuccess;
}

/* A query may run the next step. The first one after a step is enqueued is never ready. */
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    LOCK;
    if (cudaError_t e = check_no_capture(s))
        return e;
    (void)run_step(s->queue, true);
    const bool ready = s->queue->queried && s->queue->n_done == s->queue->n_queued;
    s->queue->queried = true;
    return return_error(ready ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    LOCK;
    (void)cudaStreamSynchronize(s);
    delete s;
    return cudaSuccess;
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    *e = new cs_host_event;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    delete e;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    LOCK;
    if (cudaError_t failed = check_no_capture(s))
        return failed;
    e->at = { s->queue, s->queue->n_queued };
    return cudaSuccess;
}

static bool skip_this_wait(void)
{
    return cs_host_skip_wait > 0 && --cs_host_skip_wait == 0;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    LOCK;
    if (cudaError_t failed = check_no_capture(s))
        return failed;
    if (!skip_this_wait())
        enqueue(s, nullptr, e->at);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    LOCK;
    if (!skip_this_wait())
        run_until(e->at);
    return cudaSuccess;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

struct cs_host_graph { step_list steps; };
struct cs_host_exec { step_list steps; };
static size_t n_graphs;

static bool inject_failure(void);

size_t cs_host_n_graphs(void)
{
    LOCK;
    return n_graphs;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    LOCK;
    if (s->capture || capturing || inject_failure())
        return return_error(cudaErrorInvalidValue);
    s->capture = std::make_unique<step_list>();
    s->broken = false;
    capturing = s;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    LOCK;
    *g = NULL;
    if (!s->capture || capturing != s)
        return return_error(s->capture ? cudaErrorStreamCaptureWrongThread : cudaErrorInvalidValue);
    const std::unique_ptr<step_list> steps = std::move(s->capture);
    capturing = NULL;
    if (s->broken)
        return return_error(cudaErrorStreamCaptureInvalidated);
    *g = new cs_host_graph{ std::move(*steps) };
    n_graphs++;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long)
{
    LOCK;
    if (inject_failure())
        return return_error(cudaErrorMemoryAllocation);
    *e = new cs_host_exec{ g->steps };
    n_graphs++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s)
{
    LOCK;
    if (cs_host_fault != cudaSuccess)
        return return_error(cudaGetLastError());
    cs_host_graph_launches += !s->capture;
    for (const std::function<void()> &run : e->steps)
        enqueue(s, run, {});
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    LOCK;
    delete g;
    n_graphs--;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    LOCK;
    delete e;
    n_graphs--;
    return cudaSuccess;
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t cs_host_used(void)
{
    LOCK;
    size_t n = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        n += used[i];
    return n;
}

static bool inject_failure(void)
{
    if (cs_host_fail > 0 && --cs_host_fail == 0) {
        if (n_more_failures-- > 0)
            cs_host_fail = 1;
        return true;
    }
    return false;
}

cudaError_t cudaMemGetInfo(size_t *n_free, size_t *n_total)
{
    LOCK;
    *n_total = cs_host_memory;
    *n_free = used[current_device] < cs_host_memory ? cs_host_memory - used[current_device] : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t n_bytes)
{
    LOCK;
    if (cudaError_t e = check_no_capture(capturing))
        return e;
    const bool full = used[current_device] + n_bytes > cs_host_memory;
    char *q = inject_failure() || full ? NULL : cs_host_guarded_alloc(n_bytes);
    if (!q)
        return return_error(cudaErrorMemoryAllocation);
    device_memory[q] = { n_bytes, current_device };
    if (!cs_host_unified && !device_accessible)
        cs_host_guarded_protect(q, n_bytes, false);
    used[current_device] += n_bytes;
    *p = q;
    return cudaSuccess;
}

/* Waits until the device is idle, as in CUDA. */
cudaError_t cudaFree(void *p)
{
    LOCK;
    if (cudaError_t e = check_no_capture(capturing))
        return e;
    if (!p)
        return cudaSuccess;
    const allocation a = device_memory.at((const char *)p);
    for (size_t i = 0; i < streams.size(); i++) {
        std::shared_ptr<cs_host_queue> s = streams[i].lock();
        if (s && s->device == a.device)
            run_until({ s, s->n_queued });
    }
    used[a.device] -= a.n_bytes;
    device_memory.erase((const char *)p);
    cs_host_guarded_protect((char *)p, a.n_bytes, true);
    cs_host_guarded_free((char *)p, a.n_bytes);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t n_bytes)
{
    LOCK;
    if (cudaError_t e = check_no_capture(capturing))
        return e;
    char *q = cs_host_guarded_alloc(n_bytes);
    if (!q)
        return return_error(cudaErrorMemoryAllocation);
    *p = q;
    pinned[q] = { n_bytes, current_device };
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    LOCK;
    if (cudaError_t e = check_no_capture(capturing))
        return e;
    if (!p)
        return cudaSuccess;
    cs_host_guarded_free((char *)p, pinned.at((const char *)p).n_bytes);
    pinned.erase((const char *)p);
    return cudaSuccess;
}

static cudaError_t copy_to_host(void *to, const void *from, size_t n_bytes, cudaStream_t s)
{
    if (!is_pinned(to, n_bytes)) {
        if (cudaError_t e = cudaStreamSynchronize(s))
            return e;
        protect_devices(true);
        memcpy(to, from, n_bytes);
        protect_devices(false);
        return cudaSuccess;
    }
    memset(to, 0xFF, n_bytes);
    enqueue(s, [to, from, n_bytes] { memcpy(to, from, n_bytes); }, {});
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    LOCK;
    if (!is_valid_copy(to, from, n_bytes, kind))
        return return_error(cudaErrorInvalidValue);
    if (kind == cudaMemcpyDeviceToHost)
        return copy_to_host(to, from, n_bytes, s);
    if (kind == cudaMemcpyHostToDevice && !cs_host_pageable_access && !is_pinned(from, n_bytes)) {
        if (cudaError_t e = check_no_capture(s))
            return e;
        const char *bytes = (const char *)from;
        std::vector<char> snapshot(bytes, bytes + n_bytes);
        enqueue(s, [to, snapshot] { memcpy(to, snapshot.data(), snapshot.size()); }, {});
    } else {
        enqueue(s, [to, from, n_bytes] { memcpy(to, from, n_bytes); }, {});
    }
    return cudaSuccess;
}

/* Rows of `width` bytes, `pitch` apart. */
static bool is_valid_pitch(size_t pitch, size_t width)
{
    return width <= pitch && pitch <= INT32_MAX;
}

cudaError_t cudaMemsetAsync(void *to, int v, size_t n_bytes, cudaStream_t s)
{
    LOCK;
    if (n_bytes > 0 && !cs_host_on_device(to, n_bytes))
        return return_error(cudaErrorInvalidValue);
    enqueue(s, [=] { memset(to, v, n_bytes); }, {});
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int v, size_t width, size_t height,
                              cudaStream_t s)
{
    LOCK;
    if (!is_valid_pitch(pitch, width))
        return return_error(cudaErrorInvalidPitchValue);
    cs_host_2d_calls++;
    enqueue(s, [=] {
        for (size_t i = 0; i < height; i++)
            memset((char *)to + i * pitch, v, width);
    }, {});
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t s)
{
    LOCK;
    if (!is_valid_pitch(to_pitch, width) || !is_valid_pitch(from_pitch, width))
        return return_error(cudaErrorInvalidPitchValue);
    cs_host_2d_calls++;
    enqueue(s, [=] {
        for (size_t i = 0; i < height; i++)
            memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    }, {});
    return cudaSuccess;
}

/* ---- devices --------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = cs_host_devices;
    return return_error(cs_host_devices > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= cs_host_devices)
        return return_error(cudaErrorInvalidDevice);
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    (void)snprintf(p->name, sizeof p->name, "this processor");
    p->major = cs_host_capability / 10;
    p->minor = cs_host_capability % 10;
    p->multiProcessorCount = cs_host_multiprocessors;
    p->sharedMemPerBlockOptin = max_shared();
    p->l2CacheSize = cs_host_l2;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    LOCK;
    cudaError_t e = cs_host_fault != cudaSuccess ? (cudaError_t)cs_host_fault : last_error;
    cs_host_fault = cudaSuccess;
    last_error = cudaSuccess;
    return e;
}

const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorMemoryAllocation ? "out of memory"
         : e == cudaErrorNoKernelImageForDevice
               ? "no kernel image is available for execution on the device"
         : e == cudaErrorNoDevice ? "no CUDA-capable device is detected"
         : e == cudaErrorInvalidResourceHandle ? "invalid resource handle" : "unknown error";
}
