#!/usr/bin/env python3
"""join_splice.py - networks trained one by one as the groups of one network (--encoder.groups).

Usage   join_splice.py OUT.safetensors MODEL.safetensors...

The models have the same tokens, and encoders cdil of one shape without groups. OUT has the encoder of model k as group
k, and its embedding in the group's columns. Its head is linear on the mean, with zeros, and is there for
`chordseq train --init OUT --new-head` to replace.
"""
import hashlib
import json
import sys

import numpy as np

from evaluate_splice import open_model, save_model


def tensors(path):
    header, model, body = open_model(path)
    del header["__metadata__"]
    if any(t["dtype"] != "F32" for t in header.values()):
        sys.exit(f"join_splice.py: {path} has tensors that are not in single precision (F32)")
    return model, {name: np.frombuffer(body[slice(*t["data_offsets"])], "<f4").reshape(t["shape"]) for name, t in header.items()}


def main():
    models, values = zip(*(tensors(path) for path in sys.argv[2:]))
    for path, model in zip(sys.argv[2:], models):
        if any(model[part] != models[0][part] for part in ("tokenizer", "encoder")):
            sys.exit(f"join_splice.py: {path} has other tokens or another encoder than {sys.argv[2]}")
    joined = {"embedding.weight": np.hstack([v["embedding.weight"] for v in values])}
    for k, v in enumerate(values):
        joined |= {f"encoder.group.{k}.{name.removeprefix('encoder.')}": x for name, x in v.items() if name.startswith("encoder.")}
    header, body, model = {}, b"", models[0]
    n_label, width = len(model["labels"]), joined["embedding.weight"].shape[1]
    joined |= {"head.weight": np.zeros((n_label, width)), "head.bias": np.zeros(n_label)}
    model["head"]["options"] |= {"pool": "mean", "norm": "none", "hidden": "0"}
    for name, x in joined.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [len(body), len(body) + 4 * x.size]}
        body += x.astype("<f4").tobytes()
    options = model["encoder"]["options"]
    options["groups"] = str(len(models))
    for name in "input", "channels", "hidden", "decoder":
        options[name] = ",".join(str(len(models) * int(n)) for n in options[name].split(","))
    model["sha256"] = hashlib.sha256(body).hexdigest()
    header["__metadata__"] = {}
    save_model(sys.argv[1], header, model, body)


if __name__ == "__main__":
    main()
