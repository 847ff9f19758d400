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


class _Handle(ctypes.c_void_p):
    pass


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
        weakref.finalize(self.first, lib.chordseq_close, self.first.value)
        self._wide, self._narrow = queue.SimpleQueue(), queue.LifoQueue()
        self._wide.put(self.first)
        self._missing = deque(range(threads if threads > 1 else 0))
        if threads == 1:
            self._narrow = self._wide

    def _share(self):
        h = _Handle()
        check(lib.chordseq_share_threads(self.first, 1, ctypes.byref(h)))
        weakref.finalize(h, lib.chordseq_close, h.value)
        return h

    def _take(self, free):
        try:
            return free.get_nowait()
        except queue.Empty:
            pass
        try:
            if free is self._narrow and self._missing.popleft() is not None:
                return self._share()
        except IndexError:
            pass
        return free.get()

    @contextmanager
    def handle(self, long=False):
        """A handle that no other thread uses; waits for one. long: one with all threads."""
        free = self._wide if long else self._narrow
        h = self._take(free)
        try:
            yield h
        finally:
            free.put(h)

    def map(self, work, batches):
        """Yield work(handle, batch) for (names, data) batches, in order, several at a time."""
        def one(batch):
            with self.handle(len(batch[1]) == 1 and len(batch[1][0]) >= LONG) as h:
                return work(h, batch)

        # In threads of a pool, even one: an interrupt (Ctrl-C) does not wait for what they compute.
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
