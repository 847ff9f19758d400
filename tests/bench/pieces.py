"""pieces.py - lengths of the pieces of a vocabulary; lengths and entropy of the tokens of a text.

Usage: pieces.py NAME VOCABULARY.json < TOKENS        (as `chordseq tokenize` writes them)
"""
import collections
import json
import math
import statistics
import sys

vocabulary = json.load(open(sys.argv[2]))
special = {token["content"] for token in vocabulary["added_tokens"]}
length = [len(piece) for piece in vocabulary["model"]["vocab"] if piece not in special]
times = collections.Counter()
for line in sys.stdin:
    times.update(line.rstrip("\n").split("\t")[1].split())
n = sum(times.values())
bits = -sum(k / n * math.log2(k / n) for k in times.values())
mean = sum(len(piece) * k for piece, k in times.items() if piece not in special) / n
print(sys.argv[1], len(vocabulary["model"]["vocab"]), "%.3f" % statistics.mean(length),
      statistics.median(length), *("%.3f" % v for v in (mean, bits, bits / mean)), sep="\t")
