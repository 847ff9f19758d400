"""metrics.py - the numbers in chordseq's JSON documents, as MultiQC's plots want them.

Knows nothing of MultiQC, so that it can be tested where there is none.
"""

import json
import os

N_BINS = 20
SUFFIXES = ("chordseq_summary.json", "summary.json", "eval.json", "json")
NO_CALL = "no call"


class NotOurs(ValueError):
    """The file is no document of chordseq, or it is damaged."""


def run_name(file_name, folder, sample=None):
    """What a run is called: its --sample, else what its file's name says, else its folder's."""
    if sample:
        return sample
    for suffix in SUFFIXES:
        if file_name.endswith(suffix):
            file_name = file_name[: -len(suffix)].rstrip("._-")
            break
    return file_name or os.path.basename(os.path.abspath(folder))


def _load(text, key):
    try:
        doc = json.loads(text)
    except ValueError as e:
        raise NotOurs(f"no JSON: {e}") from e
    if not isinstance(doc, dict) or key not in doc:
        raise NotOurs(f"no '{key}' in it")
    return doc


def _count(of, *names):
    """A count that has to be there: wrong documents are refused, not drawn as zeros."""
    for name in names:
        of = of.get(name) if isinstance(of, dict) else None
    if isinstance(of, bool) or not isinstance(of, int) or of < 0:
        raise NotOurs(f"no count '{'.'.join(names)}' in it")
    return of


def _share(part, whole):
    return 100.0 * part / whole if whole else 0.0


def _by_class(doc, unit):
    """Records or bases by class, by taxon above the classes, and without a call."""
    rows = doc.get("classes", []) + doc.get("ancestors", [])
    counts = {}
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else None
        if not isinstance(name, str):
            raise NotOurs("a class without a name in it")
        counts[name] = counts.get(name, 0) + _count(row, unit)
    if rows:
        counts[NO_CALL] = _count(doc, "unclassified", unit)
    return counts


def _histogram(counts):
    """Per cent of predictions by probability, at the middle of each bin."""
    if (not isinstance(counts, list) or len(counts) != N_BINS
            or not all(isinstance(n, int) and n >= 0 for n in counts)):
        raise NotOurs(f"no {N_BINS} bins of probability in it")
    whole = sum(counts)
    return {(i + 0.5) / N_BINS: _share(n, whole) for i, n in enumerate(counts)} if whole else {}


def _sample_of(doc):
    """What --sample said; its default says nothing."""
    options = doc.get("options")
    sample = options.get("sample") if isinstance(options, dict) else None
    return sample if isinstance(sample, str) and sample not in ("", "sample") else None


def read_summary(text):
    """What `chordseq classify --summary` wrote, as a dict; NotOurs where it is neither."""
    doc = _load(text, "chordseq_version")
    records, bases = _count(doc, "input", "records"), _count(doc, "input", "bases")
    called = _count(doc, "called", "records")
    reasons = doc.get("reasons") or {}
    out = {
        "version": doc["chordseq_version"],
        "sample": _sample_of(doc),
        "general": {
            "records": records,
            "bases": bases,
            "mean_length": bases / records if records else 0.0,
            "called": _share(called, records),
        },
        "records": _by_class(doc, "records"),
        "bases": _by_class(doc, "bases"),
        "reasons": {name: _count(reasons, name, "records") for name in reasons},
        "confidence": {},
        "warning": str(doc.get("warning") or ""),
    }
    if "probabilities" in doc:      # not in summaries of models of values
        bins = doc["probabilities"] if isinstance(doc["probabilities"], dict) else {}
        made, not_made = bins.get("called"), bins.get("not_called")
        out["confidence"]["called"] = _histogram(made)
        _histogram(not_made)
        out["confidence"]["all"] = _histogram([a + b for a, b in zip(made, not_made)])
    return out


def _middle(length):
    """The middle of a bin of lengths such as '500-999', the start of '5000-'; None: 'all'."""
    ends = [int(n) for n in length.split("-") if n.isdigit()]
    return sum(ends) / len(ends) if ends else None


OVERALL = ("loss", "accuracy", "balanced_accuracy", "macro_f1", "macro_auc", "mcc", "ece",
           "mse", "mae", "r2", "pearson", "spearman", "within_tolerance")


def _set_name(s):
    return s["set"] if s["length"] == "all" or s["set"] != "fragment" else f"pieces of {s['length']}"


def _reliability(bins):
    """Per cent of right calls by what was stated."""
    try:
        return {float(b["confidence"]): 100.0 * b["accuracy"] for b in bins}
    except (KeyError, TypeError, ValueError) as e:
        raise NotOurs("a bin of 'reliability' without confidence or accuracy in it") from e


def read_eval(text):
    """What `chordseq eval --json` wrote, as a dict; NotOurs where it is neither.

    Metrics that are not defined (null) are left out. `sets` holds the metrics over all lengths.
    """
    doc = _load(text, "chordseq")
    out = {"version": doc["chordseq"], "sets": {}, "by_length": {}, "reliability": {}}
    if not isinstance(doc.get("sets"), list):
        raise NotOurs("no 'sets' in it")
    for s in doc["sets"]:
        if not isinstance(s, dict) or not isinstance(s.get("set"), str) or "length" not in s:
            raise NotOurs("a set without a name or a length in it")
        metrics = {k: s[k] for k in OVERALL if isinstance(s.get(k), (int, float))}
        counted = "records" if "records" in s else "tokens"
        metrics["evaluated"] = _count(s, counted)
        length = _middle(str(s["length"]))
        if length is not None and "accuracy" in metrics and metrics["evaluated"] > 0:
            out["by_length"].setdefault(s["set"], {})[length] = 100.0 * metrics["accuracy"]
        if length is not None and s["set"] == "record":
            continue
        name = _set_name(s)
        out["sets"][name] = metrics
        out["reliability"][name] = _reliability(s.get("reliability", []))
    return out
