/* race.cpp - accesses to memory that nothing orders, on the GPU that the processor plays.
 *
 * DESIGN. Kernels that are compiled with -fsanitize=thread call a function before every access; the
 * compiler's library behind these calls is left out, and this file has them instead. Cells of two
 * bytes keep who has written there last and who has read there since, in the launch that runs. An
 * access is a thread's, between two barriers of its block: those are all that orders threads.
 * Shuffles and products of a warp order nothing, as on a GPU. Two accesses race, when one of them
 * writes and either their blocks differ, or only their threads do and no barrier lies between.
 * Every block has its own shared memory, and reads none of it that it has not written; a thread has
 * its own stack. Atomics are left out.
 *
 * The first race ends the program, with what `addr2line -ipe PROGRAM` turns into lines.
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

/* The program's variables of a real thread: of kernels those in shared memory (CS_HOST_RACE). */
static int find_own(struct dl_phdr_info *of, size_t, void *found)
{
    for (int i = 0; i < of->dlpi_phnum; i++)
        if (of->dlpi_phdr[i].p_type == PT_TLS && !*of->dlpi_name)
            *(cs_host_place *)found = { (const char *)of->dlpi_tls_data, of->dlpi_phdr[i].p_memsz };
    return 0;
}

/* Does each block have memory of its own there? */
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

/* Of reads between two barriers one stands for those of several threads, or blocks. */
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
            say("shared memory that nobody has written, read by", now);
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

/* ---- what the compiler calls ------------------------------------------------------------- */

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
