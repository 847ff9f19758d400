"""Ids of sequences by Hugging Face's tokenizers: python3 ids.py TOKENIZER.JSON FASTA > ids.tsv"""
import sys

from tokenizers import Tokenizer

GAPS = str.maketrans("U-.*", "TNNN")     # as chordseq reads them


def records(path):
    name, text = None, []
    for line in open(path):
        if line.startswith(">"):
            if name is not None:
                yield name, "".join(text)
            name, text = (line[1:].split() or [""])[0], []
        else:
            text.append("".join(line.split()))
    if name is not None:
        yield name, "".join(text)


tokenizer = Tokenizer.from_file(sys.argv[1])
for name, text in records(sys.argv[2]):
    ids = tokenizer.encode(text.upper().translate(GAPS), add_special_tokens=False).ids
    print(name, " ".join(map(str, ids)), sep="\t")
