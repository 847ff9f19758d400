/* race.cpp - data races of kernels on the emulated GPU.
 *
 * DESIGN. Kernels compiled with -fsanitize=thread call a function before every memory access; this
 * file defines these functions in place of the sanitizer's library. A cell of two bytes stores the
 * last writer and the readers since then, within a launch. Accesses of a thread are ordered only by
 * barriers of its block; shuffles and products of a warp order nothing, as on a GPU. Two accesses
 * race if one of them writes, and either their blocks differ, or their threads do without a barrier
 * between. Shared memory is private to a block, which must write it before reading; stacks are
 * private to a thread. Atomics are exempt. Bulk copies (bulk.cuh) are taken to be ordered
 * with all other accesses; host.cpp overwrites their destinations with NaN instead.
 *
 * Kernels cannot access memory of the host, except its pinned memory, and their arguments; tables
 * and variables of the program are taken to be on the device.
 *
 * The first error ends the program, with addresses for `addr2line -ipe PROGRAM`.
 */
#include "cuda_runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include <memory>
#include <unordered_map>

enum { CELL = 2, PAGE = 4096 };
enum { NO_THREAD = -1, SEVERAL = -2 };

struct access { int64_t block; uint32_t epoch; int32_t thread; const void *pc; };

struct cell { uint64_t grid; access write, read; };

static const access none = { 0, 0, NO_THREAD, NULL };

static bool contains(const cs_host_range &range, const char *p)
{
    return p >= range.p && p < range.p + range.n_bytes;
}

/* Finds the program's thread-local variables, which are the kernels' shared memory. */
static int find_tls(struct dl_phdr_info *module, size_t, void *found)
{
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_TLS && !*module->dlpi_name)
            *(cs_host_range *)found = { (const char *)module->dlpi_tls_data,
                                        module->dlpi_phdr[i].p_memsz };
    return 0;
}

/* Finds the program with its variables. */
static int find_program(struct dl_phdr_info *module, size_t, void *found)
{
    cs_host_range *program = (cs_host_range *)found;
    if (*module->dlpi_name)
        return 0;
    program->p = (const char *)module->dlpi_addr;
    for (int i = 0; i < module->dlpi_phnum; i++)
        if (module->dlpi_phdr[i].p_type == PT_LOAD)
            program->n_bytes = module->dlpi_phdr[i].p_vaddr + module->dlpi_phdr[i].p_memsz;
    return 0;
}

/* Can a kernel access it, apart from shared memory and its stack? */
static bool is_accessible(const char *p, size_t n_bytes)
{
    static cs_host_range program;
    if (!program.p)
        (void)dl_iterate_phdr(find_program, &program);
    return contains(program, p) || contains(cs_host_current.kernel, p)
        || contains(cs_host_current.arguments, p) || cs_host_on_device(p, n_bytes);
}

/* Is it memory private to each block? */
static bool is_shared(const char *p)
{
    static thread_local cs_host_range tls;
    if (!tls.p)
        (void)dl_iterate_phdr(find_tls, &tls);
    return contains(tls, p) || contains(cs_host_current.shared, p);
}

static cell &cell_of(uintptr_t p)
{
    static std::unordered_map<uintptr_t, std::unique_ptr<cell[]>> pages;
    static uintptr_t last = 0;
    static cell *cells;
    if (p / PAGE != last) {
        auto &page = pages[last = p / PAGE];
        if (!page)
            page.reset(new cell[PAGE / CELL]());
        cells = page.get();
    }
    return cells[p % PAGE / CELL];
}

static long offset_of(const void *code)
{
    Dl_info module;
    return dladdr(code, &module) ? (long)((const char *)code - (const char *)module.dli_fbase) : 0;
}

static void print_access(const char *what, const access &s)
{
    (void)fprintf(stderr, "  %s thread %d of block %ld after %u barriers, at %#lx\n", what,
                  (int)s.thread, (long)s.block, s.epoch, offset_of(s.pc));
}

static void check_order(const access &before, const access &now, const char *what, bool writes)
{
    if (before.thread == NO_THREAD || (before.block == now.block
                                    && (before.epoch != now.epoch || before.thread == now.thread)))
        return;
    (void)fprintf(stderr, "race: nothing orders\n");
    print_access(what, before);
    print_access(writes ? "a write of" : "a read of", now);
    abort();
}

/* Adds a read to a cell's entry for all threads and blocks since the last write. */
static void add_read(access &r, const access &now)
{
    if (r.thread == NO_THREAD || (r.block == now.block && r.epoch != now.epoch))
        r = now;
    else if (r.block != now.block)
        r.block = SEVERAL;
    else if (r.thread != now.thread)
        r.thread = SEVERAL;
}

static void record(const void *p, size_t n_bytes, bool writes, const void *pc)
{
    const cs_host_position &m = cs_host_current;
    const uintptr_t from = (uintptr_t)p;
    if (m.thread == NO_THREAD || contains(m.stack, (const char *)p))
        return;
    const access now = { m.block, m.epoch, m.thread, pc };
    const bool shared = is_shared((const char *)p);
    if (!shared && !is_accessible((const char *)p, n_bytes)) {
        print_access("memory of the host is accessed by", now);
        abort();
    }
    for (uintptr_t i = from / CELL * CELL; i < from + n_bytes; i += CELL) {
        cell &c = cell_of(i);
        if (c.grid != m.grid || (shared && c.write.block != m.block))
            c = { m.grid, none, none };
        if (shared && !writes && c.write.thread == NO_THREAD) {
            print_access("uninitialised shared memory read by", now);
            abort();
        }
        check_order(c.write, now, "a write of", writes);
        if (writes)
            check_order(c.read, now, "a read of", true);
        if (writes)
            c.write = now, c.read = none;
        else
            add_read(c.read, now);
    }
}

void cs_host_access(const void *p, size_t n_bytes, bool writes)
{
    record(p, n_bytes, writes, __builtin_return_address(0));
}

/* As if written before the last barrier, because readers have waited for the mbarrier. */
void cs_host_copy_done(const void *p, size_t n_bytes)
{
    const cs_host_position &m = cs_host_current;
    const access copy = { m.block, m.epoch - 1, 0, __builtin_return_address(0) };
    const uintptr_t from = (uintptr_t)p;
    for (uintptr_t i = from / CELL * CELL; i < from + n_bytes; i += CELL)
        cell_of(i) = { m.grid, copy, none };
}

/* ---- called by compiled code ------------------------------------------------------------- */

#define CALLER __builtin_return_address(0)
#define ACCESS(n_bytes)                                                                        \
    void __tsan_read##n_bytes(void *p) { record(p, n_bytes, false, CALLER); }                   \
    void __tsan_write##n_bytes(void *p) { record(p, n_bytes, true, CALLER); }
#define UNALIGNED(n_bytes)                                                                     \
    void __tsan_unaligned_read##n_bytes(void *p) { record(p, n_bytes, false, CALLER); }         \
    void __tsan_unaligned_write##n_bytes(void *p) { record(p, n_bytes, true, CALLER); }

extern "C" {
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
UNALIGNED(2) UNALIGNED(4) UNALIGNED(8) UNALIGNED(16)
void __tsan_read_range(void *p, size_t n_bytes) { record(p, n_bytes, false, CALLER); }
void __tsan_write_range(void *p, size_t n_bytes) { record(p, n_bytes, true, CALLER); }
void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
}
