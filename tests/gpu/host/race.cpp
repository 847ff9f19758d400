/* race.cpp - data races of kernels on the emulated GPU.
 *
 * DESIGN. Kernels compiled with -fsanitize=thread call a function before every memory access; this
 * file defines these functions in place of the sanitizer's library. A cell of two bytes stores the
 * last writer and the readers since then, within a launch. Accesses of a thread are ordered only by
 * barriers of its block; shuffles and products of a warp order nothing, as on a GPU. Two accesses
 * race if one of them writes, and either their blocks differ, or their threads do without a barrier
 * between. Shared memory is private to a block, which must write it before reading; stacks are
 * private to a thread. Atomics are exempt. Copies that a barrier with phases counts (bulk.cuh) are
 * ordered after all before and before all after: host.cpp spoils their targets instead.
 *
 * The first race ends the program, with addresses for `addr2line -ipe PROGRAM`.
 */
#include "cuda_runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include <memory>
#include <unordered_map>

enum { CELL = 2, PAGE = 4096 };
enum { NOBODY = -1, SEVERAL = -2 };

struct side { int64_t block; uint32_t epoch; int32_t thread; const void *at; };

struct cell { uint64_t grid; side write, read; };

static const side none = { 0, 0, NOBODY, NULL };

static bool is_in(const cs_host_place &all, const char *p)
{
    return p >= all.p && p < all.p + all.n_bytes;
}

/* Thread-local variables of the program: those of kernels are shared memory (CS_HOST_RACE). */
static int find_own(struct dl_phdr_info *of, size_t, void *found)
{
    for (int i = 0; i < of->dlpi_phnum; i++)
        if (of->dlpi_phdr[i].p_type == PT_TLS && !*of->dlpi_name)
            *(cs_host_place *)found = { (const char *)of->dlpi_tls_data, of->dlpi_phdr[i].p_memsz };
    return 0;
}

/* Is it memory private to each block? */
static bool is_shared(const char *p)
{
    static thread_local cs_host_place own;
    if (!own.p)
        (void)dl_iterate_phdr(find_own, &own);
    return is_in(own, p) || is_in(cs_host_now.shared, p);
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
    Dl_info about;
    return dladdr(code, &about) ? (long)((const char *)code - (const char *)about.dli_fbase) : 0;
}

static void say(const char *what, const side &s)
{
    (void)fprintf(stderr, "  %s thread %d of block %ld behind %u barriers, at %#lx\n", what,
                  (int)s.thread, (long)s.block, s.epoch, offset_of(s.at));
}

static void look(const side &before, const side &now, const char *what, bool writes)
{
    if (before.thread == NOBODY || (before.block == now.block
                                    && (before.epoch != now.epoch || before.thread == now.thread)))
        return;
    (void)fprintf(stderr, "race: nothing orders\n");
    say(what, before);
    say(writes ? "a write of" : "a read of", now);
    abort();
}

/* One entry is for reads of several threads, or of several blocks, between two barriers. */
static void add_read(side &r, const side &now)
{
    if (r.thread == NOBODY || (r.block == now.block && r.epoch != now.epoch))
        r = now;
    else if (r.block != now.block)
        r.block = SEVERAL;
    else if (r.thread != now.thread)
        r.thread = SEVERAL;
}

static void touch(const void *p, size_t n_bytes, bool writes, const void *at)
{
    const cs_host_moment &m = cs_host_now;
    const uintptr_t from = (uintptr_t)p;
    if (m.thread == NOBODY || is_in(m.stack, (const char *)p))
        return;
    const side now = { m.block, m.epoch, m.thread, at };
    const bool own = is_shared((const char *)p);
    for (uintptr_t i = from / CELL * CELL; i < from + n_bytes; i += CELL) {
        cell &c = cell_of(i);
        if (c.grid != m.grid || (own && c.write.block != m.block))
            c = { m.grid, none, none };
        if (own && !writes && c.write.thread == NOBODY) {
            say("uninitialised shared memory read by", now);
            abort();
        }
        look(c.write, now, "a write of", writes);
        if (writes)
            look(c.read, now, "a read of", true);
        if (writes)
            c.write = now, c.read = none;
        else
            add_read(c.read, now);
    }
}

void cs_host_touch(const void *p, size_t n_bytes, bool writes)
{
    touch(p, n_bytes, writes, __builtin_return_address(0));
}

/* As if written behind an earlier barrier: those that wait for the copy's phase read it. */
void cs_host_landed(const void *p, size_t n_bytes)
{
    const cs_host_moment &m = cs_host_now;
    const side copy = { m.block, m.epoch - 1, 0, __builtin_return_address(0) };
    const uintptr_t from = (uintptr_t)p;
    for (uintptr_t i = from / CELL * CELL; i < from + n_bytes; i += CELL)
        cell_of(i) = { m.grid, copy, none };
}

/* ---- called by compiled code ------------------------------------------------------------- */

#define HERE __builtin_return_address(0)
#define ACCESS(n_bytes)                                                                        \
    void __tsan_read##n_bytes(void *p) { touch(p, n_bytes, false, HERE); }                     \
    void __tsan_write##n_bytes(void *p) { touch(p, n_bytes, true, HERE); }
#define UNALIGNED(n_bytes)                                                                     \
    void __tsan_unaligned_read##n_bytes(void *p) { touch(p, n_bytes, false, HERE); }           \
    void __tsan_unaligned_write##n_bytes(void *p) { touch(p, n_bytes, true, HERE); }

extern "C" {
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
UNALIGNED(2) UNALIGNED(4) UNALIGNED(8) UNALIGNED(16)
void __tsan_read_range(void *p, size_t n_bytes) { touch(p, n_bytes, false, HERE); }
void __tsan_write_range(void *p, size_t n_bytes) { touch(p, n_bytes, true, HERE); }
void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
}
