"""Handles of one model: each is used by one thread at a time."""
import ctypes
import os
import queue
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from ._library import check, lib

#: Bases from which on a sequence is predicted by all threads together.
LONG = 1 << 21


#: All that there are; see _after_fork().
_all = weakref.WeakSet()


class _Handle(ctypes.c_void_p):
    """A handle of the library, closed with this object unless `closing` is detached."""


class Handles:
    """One handle that computes with all threads, and one per thread that computes with one."""

    def __init__(self, path, options, threads):
        texts = [f"{k.replace('_', '-')}={v}".encode() for k, v in options.items() if v is not None]
        texts.append(f"threads={threads}".encode())
        self.threads = threads
        self.first = _Handle()
        check(lib.chordseq_open(os.fsencode(path) if path else None,
                                (ctypes.c_char_p * (len(texts) + 1))(*texts, None),
                                ctypes.byref(self.first)))
        self.first.closing = weakref.finalize(self.first, lib.chordseq_close, self.first.value)
        self._forget()
        _all.add(self)

    def _forget(self):
        """All handles but the first are still to be made, and none is in use."""
        self._busy = {}
        self._wide, self._narrow = queue.SimpleQueue(), queue.LifoQueue()
        self._wide.put(self.first)
        self._missing = deque(range(self.threads if self.threads > 1 else 0))
        if self.threads == 1:
            self._narrow = self._wide

    def _after_fork(self):
        """In a forked process, where threads that used handles, or held a queue's lock, are gone.

        These handles may be in an inconsistent state, so they are neither used nor closed.
        """
        for h in self._busy.values():
            h.closing.detach()
        if id(self.first) in self._busy:
            self.first = self._share(self.threads)
        self._forget()

    def _share(self, threads):
        h = _Handle()
        check(lib.chordseq_share_threads(self.first, threads, ctypes.byref(h)))
        h.closing = weakref.finalize(h, lib.chordseq_close, h.value)
        return h

    def _take(self, free):
        try:
            return free.get_nowait()
        except queue.Empty:
            pass
        if free is self._narrow:
            try:
                number = self._missing.popleft()
            except IndexError:
                return free.get()
            try:
                return self._share(1)
            except BaseException:
                self._missing.append(number)
                raise
        return free.get()

    @contextmanager
    def handle(self, long=False):
        """A handle that no other thread uses; waits for one. long: one with all threads."""
        free = self._wide if long else self._narrow
        h = self._take(free)
        self._busy[id(h)] = h
        try:
            yield h
        finally:
            self._busy.pop(id(h), None)
            free.put(h)

    def map(self, work, batches):
        """Yield work(handle, batch) for (names, data) batches, in order, several at a time."""
        def one(batch):
            with self.handle(len(batch[1]) == 1 and len(batch[1][0]) >= LONG) as h:
                return work(h, batch)

        # In threads of a pool, even one: an interrupt (Ctrl-C) does not wait for their results.
        ahead = self.threads if self.threads > 1 else 0
        pool, waiting = ThreadPoolExecutor(self.threads), deque()
        try:
            for batch in batches:
                waiting.append(pool.submit(one, batch))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _after_fork():
    for handles in list(_all):
        handles._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
