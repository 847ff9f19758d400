"""torch_cdil.py - training steps of CDIL (64 channels, 128 hidden, 6 layers) in PyTorch, as TSV.

    torch_cdil.py FASTA [THREADS]

Each record alone, forward and backward, in fp32 and in bf16 (autocast), in turn, five times: the
median of Mtokens per second, and its ratio to fp32 in the same round.
"""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

CHANNELS, HIDDEN, LAYERS, ROUNDS = 64, 128, 6, 5


class Unit(nn.Module):
    def __init__(self, n_in, n_out, dilation):
        super().__init__()
        self.conv = nn.Conv1d(n_in, n_out, 3, bias=False, dilation=dilation)
        self.norm = nn.LayerNorm(n_out)
        self.dilation = dilation

    def forward(self, x):
        y = self.conv(F.pad(x, (self.dilation, self.dilation), mode="circular"))
        return F.relu(self.norm(y.transpose(1, 2)).transpose(1, 2))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(6, CHANNELS)
        self.layers = nn.ModuleList(
            nn.Sequential(Unit(CHANNELS, HIDDEN, 1 << i), Unit(HIDDEN, CHANNELS, 1 << i))
            for i in range(LAYERS))
        self.head = nn.Linear(CHANNELS, 2)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x.mean(2))


def records(path):
    sequences = open(path).read().split(">")[1:]
    for text in sequences:
        bases = "".join(text.split("\n")[1:])
        yield torch.tensor([["ACGTN".find(b) % 6 for b in bases]])


def main():
    torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    net, all_ids = Net(), list(records(sys.argv[1]))
    label, n = torch.tensor([0]), sum(ids.shape[1] for ids in all_ids)
    rate = {"fp32": [], "bf16": []}
    for i in range(ROUNDS + 1):
        for kind, rates in rate.items():
            start = time.monotonic()
            for ids in all_ids:
                with torch.autocast("cpu", torch.bfloat16, enabled=kind == "bf16"):
                    loss = F.cross_entropy(net(ids), label)
                loss.backward()
            if i:
                rates.append(n / (time.monotonic() - start) * 1e-6)
    print("what\tproducts\tMtokens_per_s\tratio")
    for kind, rates in rate.items():
        ratio = statistics.median(r / f for r, f in zip(rates, rate["fp32"]))
        print(f"step\t{kind}\t{statistics.median(rates):.3f}\t{ratio:.2f}")


main()
