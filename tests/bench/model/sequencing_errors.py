#!/usr/bin/env python3
"""sequencing_errors.py - copy FASTA with simulated sequencing errors.

Usage: sequencing_errors.py IN.fa OUT.fa SUBSTITUTIONS INDELS SEED

Each base is substituted at the rate SUBSTITUTIONS; at the rate INDELS a base is inserted after it, and
at the same rate it is deleted. SEED is any text. A function of the arguments alone.
"""
import random
import sys


def with_errors(rng, sequence, substitutions, indels):
    """Return the sequence with errors drawn from rng."""
    out = []
    for base in sequence:
        u = rng.random()
        if u < substitutions:
            base = rng.choice([b for b in "ACGT" if b != base])
        elif u < substitutions + indels:
            base += rng.choice("ACGT")
        elif u < substitutions + 2 * indels:
            base = ""
        out.append(base)
    return "".join(out)


def main():
    source, target, substitutions, indels, seed = sys.argv[1:]
    rng = random.Random(seed)
    with open(source) as f, open(target, "w") as out:
        for line in f:
            if not line.startswith(">"):
                line = with_errors(rng, line.rstrip("\n"), float(substitutions), float(indels)) + "\n"
            out.write(line)


if __name__ == "__main__":
    main()
