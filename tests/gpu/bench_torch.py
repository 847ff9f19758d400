# bench_torch.py - PyTorch's speed on this GPU, alone and with ChordMixer; TSV.
#
#     bench_torch.py limits DEVICE
#     bench_torch.py network DEVICE SECONDS PASSES NAME,PRECISION,MODEL,BATCHES...
#
# limits   bytes copied per second (read and written), operations per second of a large product
# network  for each job: outputs for the batches of bench_network, and training steps on them,
#          from tokens in pinned memory to outputs, or a loss, in host memory. PASSES: forward,step
#          or one of them. SECONDS are for the rounds of one line, if 3 fit; one round if it takes 4
#          times that alone
# Ways:
#   authors  the authors' algorithm: one torch.roll per track and sequence, then concatenate; means
#            sequence by sequence
#   rolls    one torch.roll per track for the whole batch, where its sequences are of one length
#   index    one index_select of the packed batch per block, the index made before; going backward
#            another one, by the inverse permutation, instead of index_select's own sum by atomics
#   +compile   with torch.compile for a block
#   +graph     the whole pass replayed as a CUDA graph; batches one by one, so only where there is one
# bf16: activations and products in bf16 with copies of the weights made before (inference) or in the
# step (fp32 masters), means, head and loss in fp32. Steps are fused AdamW's with a rate of zero. error
# is the largest difference of the raw outputs from those of `index` in fp32, over the largest output;
# the line `ours` has that of the outputs in the file. A way that does not run has a dot and why.
import json
import math
import os
import struct
import sys
import time

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from torch_chordmixer import block, index_of, rotate_roll, shifts  # noqa: E402

ROUNDS, LEAST_ROUNDS, SLOW = 9, 3, 4
DTYPE = {"bf16": torch.bfloat16, "fp32": torch.float32, "tf32": torch.float32}


def synchronise(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def precise(precision):
    """How products of fp32 matrices are computed from here on."""
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def timed(run, device, seconds):
    """Sorted seconds of some rounds, and the last result."""
    rounds = []
    run()
    synchronise(device)
    start = time.perf_counter()
    while len(rounds) < ROUNDS and (len(rounds) < LEAST_ROUNDS
                                    or time.perf_counter() - start < seconds):
        begin = time.perf_counter()
        result = run()
        synchronise(device)
        rounds.append(time.perf_counter() - begin)
        if rounds[0] > SLOW * seconds:
            break
    return sorted(rounds), result


def middle(rounds):
    return rounds[(len(rounds) - 1) // 2]


def spread(rounds):
    return 100 * (rounds[-1] - rounds[0]) / middle(rounds)


# ---- limits of the device ------------------------------------------------------------------------


def limits(device):
    large = device.type == "cuda"
    n, side = (1 << 31, 8192) if large else (1 << 22, 256)
    print("limit\tprecision\tmedian\tbest\tspread_percent\tunit")

    def line(name, precision, work, run, unit):
        rounds, _ = timed(run, device, 1)
        print(f"{name}\t{precision}\t{work / middle(rounds):.4g}\t{work / rounds[0]:.4g}\t"
              f"{spread(rounds):.1f}\t{unit}", flush=True)

    source = torch.randint(0, 1 << 15, (n,), dtype=torch.int16, device=device)
    target = torch.empty_like(source)
    line("copy", "-", 2 * source.nbytes * 1e-9, lambda: target.copy_(source), "GB/s")
    del source, target
    for precision in ("bf16", "tf32", "fp32"):
        precise(precision)
        a, b = (torch.randn(side, side, dtype=DTYPE[precision], device=device) for _ in range(2))
        line("product", precision, 2 * side**3 * 1e-12, lambda: a @ b, "TFLOP/s")


# ---- files ---------------------------------------------------------------------------------------


def read_model(path, device):
    """Tensors of a safetensors file by name."""
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = bytearray(f.read())
    tensors = {}
    for name, about in head.items():
        if name != "__metadata__":
            start, end = about["data_offsets"]
            values = torch.frombuffer(data, dtype=torch.float32, count=(end - start) // 4,
                                      offset=start)
            tensors[name] = values.reshape(about["shape"]).clone().to(device)
    return tensors


class Batch:
    """What bench_network's write_batch() has written."""

    def __init__(self, f, pin):
        head = f.read(48)
        n_rec, n_tok, self.depth, channels, n_target, n_output = struct.unpack("<6q", head)

        def read(dtype, n):
            return torch.frombuffer(bytearray(f.read(n * dtype.itemsize)), dtype=dtype)

        off = read(torch.int64, n_rec + 1)
        self.lengths = (off[1:] - off[:-1]).tolist()
        self.n_tok = n_tok
        self.input = read(torch.float32, n_tok * channels).reshape(n_tok, channels) if channels \
            else read(torch.int32, n_tok)
        self.target = read(torch.float32, n_rec * n_target).reshape(n_rec, n_target)
        self.output = read(torch.float32, n_output).reshape(n_rec, -1)
        if pin:
            self.input = self.input.pin_memory()


def read_batches(path, pin):
    batches = []
    with open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        while f.tell() < size:
            batches.append(Batch(f, pin))
    return batches


# ---- the network ---------------------------------------------------------------------------------


class Permute(torch.autograd.Function):
    """Rows in another order; a permutation's adjoint is its inverse, so nothing has to be summed."""

    @staticmethod
    def forward(ctx, y, index, inverse):
        ctx.save_for_backward(inverse)
        return y.index_select(0, index)

    @staticmethod
    def backward(ctx, dy):
        return dy.index_select(0, ctx.saved_tensors[0]), None, None


def roll_all(y, n_seq, track):
    """One roll per track; all sequences are as long."""
    parts = torch.split(y.view(n_seq, -1, y.shape[-1]), track, -1)
    return torch.cat([torch.roll(p, -s, 1) for p, s in zip(parts, shifts(len(parts)))],
                     -1).view(y.shape)


def rolls_block(x, w1, b1, w2, b2, n_seq, track):
    return block(x, w1, b1, w2, b2, lambda y: roll_all(y, n_seq, track))


def index_block(x, w1, b1, w2, b2, index, inverse, track):
    return block(x, w1, b1, w2, b2, lambda y: Permute.apply(
        y.reshape(-1, track), index, inverse).reshape(y.shape))


def authors_block(x, w1, b1, w2, b2, lengths, track):
    return block(x, w1, b1, w2, b2, lambda y: rotate_roll(y, lengths, track))


BLOCKS = {"authors": authors_block, "rolls": rolls_block, "index": index_block}
COMPILED = {}
for limit in ("recompile_limit", "cache_size_limit"):    # its name before and after PyTorch 2.7
    if hasattr(torch._dynamo.config, limit):
        setattr(torch._dynamo.config, limit, 64)


def block_of(way):
    """One compilation for all lengths; widths, precisions and gradients have their own."""
    name, _, compiled = way.partition("+")
    if not compiled:
        return BLOCKS[name]
    if name not in COMPILED:
        COMPILED[name] = torch.compile(BLOCKS[name], dynamic=True)
    return COMPILED[name]


def pool(x, lengths, together):
    if together and len(set(lengths)) == 1:
        return x.view(len(lengths), -1, x.shape[-1]).mean(1, dtype=torch.float32)
    return torch.stack([seq.mean(0, dtype=torch.float32) for seq in torch.split(x, lengths)])


class Network:
    """One model and its batches, computed in one way and precision."""

    def __init__(self, tensors, batches, way, precision, device):
        self.weights, self.batches, self.way, self.device = tensors, batches, way, device
        self.dtype = DTYPE[precision]
        self.block = block_of(way.replace("+graph", ""))
        self.width = tensors["head.weight"].shape[1]
        depth = sum(name.endswith("fc1.bias") for name in tensors)
        self.track = self.width // (depth + 1)
        self.extra = [self.extra_of(b) for b in batches]
        precise(precision)

    def extra_of(self, batch):
        """Arguments of a block beside weights: the rotation of the batch."""
        if self.way.startswith("authors"):
            return batch.lengths, self.track
        if self.way.startswith("rolls"):
            return len(batch.lengths), self.track
        index = index_of(batch.lengths, self.width // self.track).to(self.device)
        inverse = torch.empty_like(index)
        inverse[index] = torch.arange(len(index), device=self.device)
        return index.int(), inverse.int(), self.track

    def output(self, weights, data, i):
        """Raw outputs of batch i; weights in the precision of products."""
        batch, w = self.batches[i], weights
        if data.dtype == torch.int32:
            x = nn.functional.embedding(data, w["embedding.weight"])
        else:
            x = nn.functional.linear(data.to(self.dtype), w["embedding.weight"],
                                     w["embedding.bias"])
        for layer in range(batch.depth):
            name = f"encoder.block.{layer}."
            x = self.block(x, w[name + "fc1.weight"], w[name + "fc1.bias"],
                           w[name + "fc2.weight"], w[name + "fc2.bias"], *self.extra[i])
        mean = pool(x, batch.lengths, not self.way.startswith("authors"))
        return nn.functional.linear(mean, self.weights["head.weight"], self.weights["head.bias"])

    def cast(self):
        return {name: w.to(self.dtype) for name, w in self.weights.items()}

    def loss(self, y, i):
        n_rec = sum(len(b.lengths) for b in self.batches)
        target = self.batches[i].target.to(self.device, non_blocking=True)
        if self.batches[i].input.dtype == torch.int32:
            return nn.functional.cross_entropy(y, target[:, 0].long(), reduction="sum") / n_rec
        return nn.functional.mse_loss(y, target, reduction="sum") / target.shape[1] / n_rec

    # ---- passes: functions that a round calls ----

    def forward_pass(self):
        weights = self.cast()

        def run():
            with torch.inference_mode():
                return [self.output(weights, b.input.to(self.device, non_blocking=True), i).cpu()
                        for i, b in enumerate(self.batches)]
        return run

    def step_parts(self):
        for w in self.weights.values():
            w.requires_grad_()
            w.grad = None
        cuda = self.device.type == "cuda"
        return torch.optim.AdamW(self.weights.values(), lr=0.0, fused=cuda, capturable=cuda)

    def step(self, data, i):
        loss = self.loss(self.output(self.cast(), data, i), i)
        loss.backward()
        return loss.detach()

    def step_pass(self):
        optimiser = self.step_parts()

        def run():
            optimiser.zero_grad(set_to_none=True)
            losses = [self.step(b.input.to(self.device, non_blocking=True), i)
                      for i, b in enumerate(self.batches)]
            optimiser.step()
            return sum(losses).item()
        return run

    def graphed(self, work):
        """run() that copies the only batch's input to where a graph of work(input) reads it."""
        data = self.batches[0].input.to(self.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                work(data)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = work(data)

        def run():
            data.copy_(self.batches[0].input, non_blocking=True)
            graph.replay()
            return result.cpu()
        return run

    def forward_graph(self):
        weights = self.cast()

        def work(data):
            return self.output(weights, data, 0)
        with torch.no_grad():
            run = self.graphed(work)
        return lambda: [run()]

    def step_graph(self):
        optimiser = self.step_parts()
        target = self.batches[0].target
        self.batches[0].target = target.to(self.device)

        def work(data):
            # Gradients are in the graph's memory; each replay overwrites them.
            optimiser.zero_grad(set_to_none=True)
            loss = self.step(data, 0)
            optimiser.step()
            return loss
        try:
            run = self.graphed(work)
        finally:
            self.batches[0].target = target
        return lambda: run().item()


# ---- lines ---------------------------------------------------------------------------------------


def ways_of(batches, device):
    ways = ["authors"]
    best = "index"
    if all(len(set(b.lengths)) == 1 for b in batches):
        ways.append("rolls")
        best = "rolls"
    ways += ["index", "index+compile"]
    if best == "rolls":
        ways.append("rolls+compile")
    if device.type == "cuda" and len(batches) == 1:
        ways += [way + "+graph" for way in ways if way != "authors"]
    return ways


def worst(outputs, reference):
    """Largest difference over the largest output."""
    most = max(r.abs().max().item() for r in reference)
    return max((a.float() - r).abs().max().item() for a, r in zip(outputs, reference)) / most


def reason(error):
    text = str(error).strip().splitlines()
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return "out of memory"
    return f"{type(error).__name__}: {text[0] if text else ''}".replace("\t", " ")[:80]


def measure(job, tensors, batches, reference, way, kind, device, seconds):
    network = Network(tensors, batches, way, job[1], device)
    graph = way.endswith("+graph")
    run = {("forward", False): network.forward_pass, ("forward", True): network.forward_graph,
           ("step", False): network.step_pass, ("step", True): network.step_graph}[kind, graph]()
    rounds, result = timed(run, device, seconds)
    error = f"{worst(result, reference):.2g}" if kind == "forward" else "."
    loss = f"{result:.6f}" if kind == "step" else "."
    return (f"{len(rounds)}\t{middle(rounds):.4g}\t{rounds[0]:.4g}\t{spread(rounds):.1f}\t{error}\t"
            f"{loss}\t.")


def one_job(job, kinds, device, seconds):
    name, precision, model, path = job
    cuda = device.type == "cuda"
    tensors, batches = read_model(model, device), read_batches(path, cuda)
    n_tok = sum(b.n_tok for b in batches)

    def line(way, kind, rest):
        print(f"{name}\t{precision}\t{way}\t{kind}\t{n_tok}\t{rest}", flush=True)

    reference = Network(tensors, batches, "index", "fp32", device).forward_pass()()
    ours = f"{worst([b.output for b in batches], reference):.2g}"
    line("ours", "forward", f".\t.\t.\t.\t{ours}\t.\t.")
    for kind in kinds:
        for way in ways_of(batches, device):
            try:
                rest = measure(job, tensors, batches, reference, way, kind, device, seconds)
            except Exception as error:  # a failed variant does not stop the others
                rest = f".\t.\t.\t.\t.\t.\t{reason(error)}"
            line(way, kind, rest)
            for w in tensors.values():
                w.requires_grad_(False)
                w.grad = None
            if cuda:
                torch.cuda.empty_cache()


def main():
    device = torch.device(sys.argv[2])
    torch.manual_seed(1)
    if sys.argv[1] == "limits":
        limits(device)
        return
    kinds = sys.argv[4].split(",")
    print("workload\tprecision\tway\tpass\ttokens\trounds\tmedian_s\tbest_s\tspread_percent\terror\t"
          "loss\twhy_not", flush=True)
    for job in sys.argv[5:]:
        one_job(job.split(","), kinds, device, float(sys.argv[3]))


main()
