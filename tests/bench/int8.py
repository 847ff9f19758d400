#!/usr/bin/env python3
"""int8.py - what int8 would do to the default model's outputs: a bag of tokens and a head.

Usage: int8.py MODEL TRAIN.tsv VALID.tsv VALID.fa

The tables are token numbers as `chordseq tokenize --format ids` writes them; the headers of the
FASTA file, whose records those of VALID.tsv are, have "class=...". Prints one row per part of the
network in int8: part, records, balanced accuracy, percent of the records that are called otherwise
than in single precision. Weights are rounded to 255 steps per output (the embedding's: per
channel), what enters a layer of the head to 255 steps up to the largest number that the training
records bring there. Sums are not rounded, and neither are the mean, the norm and GELU.
"""
import json
import math
import struct
import sys

import numpy as np

ERF = np.vectorize(math.erf, otypes=["f8"])


def load(path):
    """the model's classes and its tensors by name (safetensors)"""
    with open(path, "rb") as file:
        head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        raw = file.read()
    model = json.loads(head.pop("__metadata__")["chordseq"])
    return [label["name"] for label in model["labels"]], {
        name: np.frombuffer(raw[slice(*t["data_offsets"])], "<f4").reshape(t["shape"])
        for name, t in head.items() if t["dtype"] == "F32"}


def shares(path, n_token):
    """[record, token]: a bag of tokens is all that the mean of their vectors sees"""
    with open(path) as file:
        ids = [np.array(line.split("\t")[1].split(), int) for line in file]
    return np.array([np.bincount(i, minlength=n_token) / len(i) for i in ids], "f4")


def truth(path, labels):
    with open(path) as file:
        return np.array([labels.index(line.split("class=")[1].split()[0])
                         for line in file if line.startswith(">")])


def rounded(x, top):
    step = np.where(top > 0, top, 1) / 127
    return (np.clip(np.round(x / step), -127, 127) * step).astype("f4")


def outputs(t, bags, parts=(), top=None):
    """scores of the classes, and the largest number that enters either layer of the head"""
    embedding, fc, out = t["embedding.weight"], t["head.fc.weight"], t["head.weight"]
    if "embedding" in parts:
        embedding = rounded(embedding, np.abs(embedding).max(0))
    if "head" in parts:
        fc, out = (rounded(w, np.abs(w).max(1, keepdims=True)) for w in (fc, out))
    x = bags @ embedding
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    x = x * t["head.norm.weight"] + t["head.norm.bias"]
    most = [np.abs(x).max()]
    x = rounded(x, top[0]) if "head" in parts else x
    x = x @ fc.T + t["head.fc.bias"]
    x = x * 0.5 * (1 + ERF(x / math.sqrt(2)))
    most.append(np.abs(x).max())
    x = rounded(x, top[1]) if "head" in parts else x
    return x @ out.T + t["head.bias"], most


def main():
    model, train, valid, fasta = sys.argv[1:]
    labels, t = load(model)
    n_token = len(t["embedding.weight"])
    _, top = outputs(t, shares(train, n_token))
    bags, right = shares(valid, n_token), truth(fasta, labels)
    single = outputs(t, bags)[0].argmax(1)
    for parts in (), ("head",), ("head", "embedding"):
        call = outputs(t, bags, parts, top)[0].argmax(1)
        recall = [np.mean(call[right == k] == k) for k in np.unique(right)]
        print(" and ".join(parts) or "none", len(call), f"{np.mean(recall):.4f}",
              f"{100 * np.mean(call != single):.2f}", sep="\t")


if __name__ == "__main__":
    main()
