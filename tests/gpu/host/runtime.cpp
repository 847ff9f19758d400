/* runtime.cpp - the CUDA emulator: devices, memory, streams and events.
 *
 * DESIGN. A stream is a list of steps (kernels, copies, waits for events) in order. CUDA leaves the
 * time of a step open, except for the order in its stream, events and waits of the host. So does
 * the emulator: by cs_host_lag, streams run at once, as late as possible, a mix of both, or in
 * random order. A program whose results depend on it lacks a dependency. To test the tests,
 * cs_host_deaf omits a wait, which some order must expose.
 *
 * While a stream is captured its steps go into a graph, and calls that CUDA forbids then (waits,
 * events, copies of pageable memory; allocating or freeing memory in the capturing thread) break
 * the capture. Launching a graph puts copies of its steps on a stream.
 *
 * Host memory follows CUDA's rules: copies from pageable memory read it at once or, with
 * cs_host_direct, when the stream reaches them; copies to it wait; copies of pinned memory run when
 * the stream reaches them, and until then their destination is NaN. Any thread may call; one lock
 * protects everything. Errors stay until cudaGetLastError() reports them, as in CUDA.
 *
 * Environment: CS_HOST_DEVICES, CS_HOST_MULTIPROCESSORS, CS_HOST_MEMORY (bytes),
 * CS_HOST_CAPABILITY, CS_HOST_ORDER, CS_HOST_LAG, CS_HOST_FAIL and CS_HOST_DEAF set the variables
 * of those names; CS_HOST_FAIL may be a range of failing calls, 3-5.
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

enum { MAX_DEVICES = 64, SHARED_UNASKED = 48 << 10 };
static const size_t MEMORY = (size_t)16 << 30;

static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static long end_of_range(const char *name)
{
    const char *text = getenv(name), *dash = text ? strchr(text, '-') : NULL;
    return dash ? strtol(dash + 1, NULL, 10) : number_of(name, 0);
}

size_t cs_host_memory = (size_t)number_of("CS_HOST_MEMORY", (long)MEMORY);
int cs_host_fault = cudaSuccess, cs_host_devices = (int)number_of("CS_HOST_DEVICES", 1);
int cs_host_capability = (int)number_of("CS_HOST_CAPABILITY", 90), cs_host_least = 75;
int cs_host_direct;
int cs_host_multiprocessors = (int)number_of("CS_HOST_MULTIPROCESSORS", 2);
int cs_host_l2 = (int)number_of("CS_HOST_L2", 1 << 16);
int cs_host_order = (int)number_of("CS_HOST_ORDER", CS_ORDER_STEPS);
int cs_host_lag = (int)number_of("CS_HOST_LAG", CS_LAG_NEVER);
long cs_host_kernels, cs_host_graphs, cs_host_rows;
long cs_host_fail = number_of("CS_HOST_FAIL", 0), cs_host_deaf = number_of("CS_HOST_DEAF", 0);
static long fail_more = end_of_range("CS_HOST_FAIL") - number_of("CS_HOST_FAIL", 0);

static std::recursive_mutex world;
#define LOCK std::lock_guard<std::recursive_mutex> lock(world)

static thread_local int current;
static size_t used[MAX_DEVICES];

static thread_local cudaError_t last_error;

static cudaError_t told(cudaError_t e)
{
    if (e != cudaSuccess)
        last_error = e;
    return e;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A step of a stream, for waits. */
struct place { std::shared_ptr<struct cs_host_steps> of; uint64_t n; };

struct step {
    std::function<void()> run;   /* none: it waits */
    place                 until;
};

struct cs_host_steps {
    int              device;
    bool             first;      /* of its device's streams */
    bool             running;
    bool             looked;     /* checked since the last step was queued */
    uint64_t         n_put, n_done;
    std::deque<step> ahead;
};

typedef std::vector<std::function<void()>> captured;

struct cs_host_stream {
    std::shared_ptr<cs_host_steps> steps;
    std::unique_ptr<captured>      capture;  /* what it is put instead, or none */
    bool                           broken;   /* the capture */
};
struct cs_host_event { place at; };

static std::vector<std::weak_ptr<cs_host_steps>> streams;
static uint64_t lottery = 1;

static bool has_come(const place &p)
{
    return !p.of || p.of->n_done >= p.n;
}

static void run_to(const place &p);

/* The next step; a wait for another stream makes that run first, if `force`. */
static bool run_one(const std::shared_ptr<cs_host_steps> &s, bool force)
{
    if (s->ahead.empty() || s->running)
        return false;
    if (!has_come(s->ahead.front().until) && !force)
        return false;
    s->running = true;
    step now = std::move(s->ahead.front());
    s->ahead.pop_front();
    run_to(now.until);
    if (now.run)
        now.run();
    s->n_done++;
    s->running = false;
    return true;
}

static void run_to(const place &p)
{
    while (!has_come(p))
        if (!run_one(p.of, true))
            abort();             /* a stream that waits for itself */
}

static bool keeps_up(const cs_host_steps &s)
{
    return cs_host_lag == CS_LAG_NEVER || (cs_host_lag == CS_LAG_FIRST && !s.first)
        || (cs_host_lag == CS_LAG_OTHERS && s.first);
}

/* Runs steps before anybody waits for them. */
static void let_run(void)
{
    static int seed;
    if (cs_host_lag > 0 && seed != cs_host_lag)
        lottery = (uint64_t)(seed = cs_host_lag);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < streams.size(); i++) {
            std::shared_ptr<cs_host_steps> s = streams[i].lock();
            if (s && (cs_host_lag > 0 ? cs_host_draw(&lottery, 4) == 0 : keeps_up(*s)))
                moved |= run_one(s, false);
        }
    }
}

static thread_local cudaStream_t capturing;

/* For calls that a captured stream does not allow. */
static cudaError_t refused(cudaStream_t s)
{
    if (!s || !s->capture)
        return cudaSuccess;
    s->broken = true;
    return told(cudaErrorStreamCaptureUnsupported);
}

static void put(cudaStream_t s, std::function<void()> run, place until)
{
    if (s->capture) {
        s->capture->push_back(std::move(run));
        return;
    }
    s->steps->ahead.push_back({ std::move(run), std::move(until) });
    s->steps->n_put++;
    s->steps->looked = false;
    let_run();
}

void cs_host_put(cudaStream_t s, std::function<void()> work)
{
    LOCK;
    cs_host_kernels += !s->capture;
    put(s, std::move(work), {});
}

/* cudaFuncSetAttribute()'s limit of a kernel on a device. */
static std::map<std::pair<int, const void *>, size_t> allowed;

/* CUDA C++ Programming Guide, technical specifications per compute capability. */
static size_t most_shared(void)
{
    switch (cs_host_capability) {
    case 75: return 64 << 10;
    case 80: return 163 << 10;
    case 86: case 89: case 120: return 99 << 10;
    default: return 227 << 10;
    }
}

cudaError_t cs_host_allow(const void *kernel, int n_bytes)
{
    LOCK;
    if (n_bytes < 0 || (size_t)n_bytes > most_shared())
        return told(cudaErrorInvalidValue);
    allowed[{ current, kernel }] = (size_t)n_bytes;
    return cudaSuccess;
}

void cs_host_launch(const cs_host_grid &g, cudaStream_t s, const void *what,
                    std::function<void()> kernel)
{
    LOCK;
    if (cs_host_fault != cudaSuccess)
        return;
    if (cs_host_capability < cs_host_least) {
        cs_host_fault = cudaErrorNoKernelImageForDevice;
        return;
    }
    if (s->steps->device != current) {
        cs_host_fault = cudaErrorInvalidResourceHandle;
        return;
    }
    if (g.n_bytes > SHARED_UNASKED && g.n_bytes > allowed[{ current, what }]) {
        cs_host_fault = cudaErrorInvalidValue;
        return;
    }
    cs_host_kernels += !s->capture;
    put(s, [g, kernel] { cs_host_run(g, kernel); }, {});
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    LOCK;
    bool first = true;
    for (size_t i = 0; i < streams.size();) {
        std::shared_ptr<cs_host_steps> other = streams[i].lock();
        first = first && !(other && other->device == current);
        if (other)
            i++;
        else
            streams.erase(streams.begin() + (long)i);
    }
    *s = new cs_host_stream{ std::make_shared<cs_host_steps>(), nullptr, false };
    (*s)->steps->device = current;
    (*s)->steps->first = first;
    streams.push_back((*s)->steps);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    LOCK;
    if (cudaError_t e = refused(s))
        return e;
    run_to({ s->steps, s->steps->n_put });
    return cudaSuccess;
}

/* A query may run the next step; the first query never comes too late. */
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    LOCK;
    if (cudaError_t e = refused(s))
        return e;
    (void)run_one(s->steps, true);
    const bool ready = s->steps->looked && s->steps->n_done == s->steps->n_put;
    s->steps->looked = true;
    return told(ready ? cudaSuccess : cudaErrorNotReady);
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
    if (cudaError_t failed = refused(s))
        return failed;
    e->at = { s->steps, s->steps->n_put };
    return cudaSuccess;
}

static bool is_deaf(void)
{
    return cs_host_deaf > 0 && --cs_host_deaf == 0;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    LOCK;
    if (cudaError_t failed = refused(s))
        return failed;
    if (!is_deaf())
        put(s, nullptr, e->at);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    LOCK;
    if (!is_deaf())
        run_to(e->at);
    return cudaSuccess;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

struct cs_host_graph { captured step; };
struct cs_host_exec { captured step; };
static size_t n_held;

static bool shall_fail(void);

size_t cs_host_held(void)
{
    LOCK;
    return n_held;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    LOCK;
    if (s->capture || capturing || shall_fail())
        return told(cudaErrorInvalidValue);
    s->capture = std::make_unique<captured>();
    s->broken = false;
    capturing = s;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    LOCK;
    *g = NULL;
    if (!s->capture || capturing != s)
        return told(s->capture ? cudaErrorStreamCaptureWrongThread : cudaErrorInvalidValue);
    const std::unique_ptr<captured> all = std::move(s->capture);
    capturing = NULL;
    if (s->broken)
        return told(cudaErrorStreamCaptureInvalidated);
    *g = new cs_host_graph{ std::move(*all) };
    n_held++;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long)
{
    LOCK;
    if (shall_fail())
        return told(cudaErrorMemoryAllocation);
    *e = new cs_host_exec{ g->step };
    n_held++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s)
{
    LOCK;
    if (cs_host_fault != cudaSuccess)
        return told(cudaGetLastError());
    cs_host_graphs += !s->capture;
    for (const std::function<void()> &run : e->step)
        put(s, run, {});
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    LOCK;
    delete g;
    n_held--;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    LOCK;
    delete e;
    n_held--;
    return cudaSuccess;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static std::map<const char *, size_t> pinned;

static bool is_pinned(const void *p, size_t n_bytes)
{
    auto at = pinned.upper_bound((const char *)p);
    if (at == pinned.begin())
        return false;
    --at;
    return (const char *)p + n_bytes <= at->first + at->second;
}

size_t cs_host_used(void)
{
    LOCK;
    size_t n = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        n += used[i];
    return n;
}

static bool shall_fail(void)
{
    if (cs_host_fail > 0 && --cs_host_fail == 0) {
        if (fail_more-- > 0)
            cs_host_fail = 1;
        return true;
    }
    return false;
}

cudaError_t cudaMemGetInfo(size_t *n_free, size_t *n_all)
{
    LOCK;
    *n_all = cs_host_memory;
    *n_free = used[current] < cs_host_memory ? cs_host_memory - used[current] : 0;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t n_bytes)
{
    LOCK;
    if (cudaError_t e = refused(capturing))
        return e;
    const bool full = used[current] + n_bytes > cs_host_memory;
    char *q = shall_fail() || full ? NULL : cs_host_guarded(n_bytes);
    if (!q)
        return told(cudaErrorMemoryAllocation);
    const size_t about[2] = { n_bytes, (size_t)current };
    memcpy(q - CS_HOST_AHEAD, about, sizeof about);
    used[current] += n_bytes;
    *p = q;
    return cudaSuccess;
}

/* Waits until the device is idle, as in CUDA. */
cudaError_t cudaFree(void *p)
{
    LOCK;
    size_t about[2];
    if (cudaError_t e = refused(capturing))
        return e;
    if (!p)
        return cudaSuccess;
    memcpy(about, (char *)p - CS_HOST_AHEAD, sizeof about);
    for (size_t i = 0; i < streams.size(); i++) {
        std::shared_ptr<cs_host_steps> s = streams[i].lock();
        if (s && s->device == (int)about[1])
            run_to({ s, s->n_put });
    }
    used[about[1]] -= about[0];
    cs_host_unguard((char *)p, about[0]);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t n_bytes)
{
    LOCK;
    if (cudaError_t e = refused(capturing))
        return e;
    char *q = cs_host_guarded(n_bytes);
    if (!q)
        return told(cudaErrorMemoryAllocation);
    *p = q;
    pinned[q] = n_bytes;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    LOCK;
    if (cudaError_t e = refused(capturing))
        return e;
    if (!p)
        return cudaSuccess;
    cs_host_unguard((char *)p, pinned.at((const char *)p));
    pinned.erase((const char *)p);
    return cudaSuccess;
}

static cudaError_t copy_out(void *to, const void *from, size_t n_bytes, cudaStream_t s)
{
    if (!is_pinned(to, n_bytes)) {
        if (cudaError_t e = cudaStreamSynchronize(s))
            return e;
        memcpy(to, from, n_bytes);
        return cudaSuccess;
    }
    memset(to, 0xFF, n_bytes);
    put(s, [to, from, n_bytes] { memcpy(to, from, n_bytes); }, {});
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    LOCK;
    if (kind == cudaMemcpyDeviceToHost)
        return copy_out(to, from, n_bytes, s);
    if (kind == cudaMemcpyHostToDevice && !cs_host_direct && !is_pinned(from, n_bytes)) {
        if (cudaError_t e = refused(s))
            return e;
        const char *bytes = (const char *)from;
        std::vector<char> taken(bytes, bytes + n_bytes);
        put(s, [to, taken] { memcpy(to, taken.data(), taken.size()); }, {});
    } else {
        put(s, [to, from, n_bytes] { memcpy(to, from, n_bytes); }, {});
    }
    return cudaSuccess;
}

/* Rows of `width` bytes, `pitch` apart. */
static bool are_rows(size_t pitch, size_t width)
{
    return width <= pitch && pitch <= INT32_MAX;
}

cudaError_t cudaMemsetAsync(void *to, int v, size_t n_bytes, cudaStream_t s)
{
    LOCK;
    put(s, [=] { memset(to, v, n_bytes); }, {});
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int v, size_t width, size_t height,
                              cudaStream_t s)
{
    LOCK;
    if (!are_rows(pitch, width))
        return told(cudaErrorInvalidPitchValue);
    cs_host_rows++;
    put(s, [=] {
        for (size_t i = 0; i < height; i++)
            memset((char *)to + i * pitch, v, width);
    }, {});
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t s)
{
    LOCK;
    if (!are_rows(to_pitch, width) || !are_rows(from_pitch, width))
        return told(cudaErrorInvalidPitchValue);
    cs_host_rows++;
    put(s, [=] {
        for (size_t i = 0; i < height; i++)
            memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    }, {});
    return cudaSuccess;
}

/* ---- devices --------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = cs_host_devices;
    return told(cs_host_devices > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= cs_host_devices)
        return told(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    (void)snprintf(p->name, sizeof p->name, "this processor");
    p->major = cs_host_capability / 10;
    p->minor = cs_host_capability % 10;
    p->multiProcessorCount = cs_host_multiprocessors;
    p->sharedMemPerBlockOptin = most_shared();
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
