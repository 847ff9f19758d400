# torch_chordmixer.py - ChordMixer's blocks in PyTorch, two ways; run, its forward pass timed as TSV.
#
#     python3 torch_chordmixer.py THREADS WIDTH HIDDEN TRACK SEGMENTS LENGTH [bf16]
#
# roll    the authors' algorithm: one torch.roll per track and sequence, then concatenate
# index   the fastest formulation known to us on a processor: one index_select of the packed batch per
#         block, with the index computed once
# Both are checked against each other. With bf16, weights and rows are stored in it. Prints, per way, thousands of tokens per second: the median of
# a few passes and the fastest. tests/gpu/bench_torch.py has the same blocks on a GPU.
import math
import sys
import time

import torch
from torch import nn

REPEATS = 7
SECONDS = 5


def shifts(n_track):
    return [0] + [1 << i for i in range(n_track - 1)]


def rotate_roll(y, lengths, track):
    """Rotates every track of every sequence: models/chordmixer.py, class Rotate."""
    out = []
    for seq in torch.split(y, lengths):
        parts = torch.split(seq, track, -1)
        out.append(torch.cat([torch.roll(p, -s, 0) for p, s in zip(parts, shifts(len(parts)))], -1))
    return torch.cat(out)


def index_of(lengths, n_track):
    """For every token and track, the row of the packed batch, viewed as tracks, that it reads."""
    rows, start = [], 0
    for n in lengths:
        t = torch.arange(n)
        at = torch.stack([(t + s) % n for s in shifts(n_track)], 1) + start
        rows.append(at * n_track + torch.arange(n_track))
        start += n
    return torch.cat(rows).reshape(-1)


def block(x, w1, b1, w2, b2, rotate):
    linear = nn.functional.linear
    return x + rotate(linear(nn.functional.gelu(linear(x, w1, b1)), w2, b2))


def forward(blocks, x, rotate):
    for fc1, fc2 in blocks:
        x = block(x, fc1.weight, fc1.bias, fc2.weight, fc2.bias, rotate)
    return x


def main():
    threads, d, h, track, n_seg, length = map(int, sys.argv[1:7])
    dtype = torch.bfloat16 if sys.argv[7:] == ["bf16"] else torch.float32
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    n_track, depth = d // track, max(1, math.ceil(math.log2(length)))
    lengths = [length] * n_seg
    blocks = [(nn.Linear(d, h, dtype=dtype), nn.Linear(h, d, dtype=dtype)) for _ in range(depth)]
    x = torch.randn(n_seg * length, d, dtype=dtype)
    index = index_of(lengths, n_track)
    ways = {
        "roll": lambda y: rotate_roll(y, lengths, track),
        "index": lambda y: y.reshape(-1, track).index_select(0, index).reshape(-1, d),
    }
    with torch.inference_mode():
        want = forward(blocks[:2], x, ways["roll"])
        assert torch.equal(want, forward(blocks[:2], x, ways["index"]))
        for name, rotate in ways.items():
            seconds = []
            forward(blocks, x, rotate)
            while len(seconds) < REPEATS and (len(seconds) < 3 or sum(seconds) < SECONDS):
                start = time.perf_counter()
                forward(blocks, x, rotate)
                seconds.append(time.perf_counter() - start)
            seconds.sort()
            rate = 1e-3 * n_seg * length
            print(f"torch-{name}\t{rate / seconds[len(seconds) // 2]:.1f}\t{rate / seconds[0]:.1f}",
                  flush=True)


if __name__ == "__main__":
    main()
