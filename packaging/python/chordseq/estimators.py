"""Estimators for scikit-learn. Without scikit-learn they lack the methods of its base classes."""
from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._sequences import items, pair
from .errors import Error, UsageError
from .model import Model, PathLike, load
from .training import stamp, train

if TYPE_CHECKING:
    class BaseEstimator:
        """scikit-learn's, which has no types."""

    class ClassifierMixin:
        """scikit-learn's."""

    class TransformerMixin:
        """scikit-learn's."""

        def set_output(self, *, transform: Optional[str] = None) -> Any:
            """Container of transform(): "default", "pandas" or "polars"."""
else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    except ImportError:
        BaseEstimator, ClassifierMixin, TransformerMixin = (type(f"No{i}", (), {}) for i in range(3))

#: Texts that mean something else where labels are read or written.
_NO_LABELS = (".", "NA", "unclassified")


class _Estimator(BaseEstimator):
    """get_params() and set_params(), by the arguments of __init__ that _names lists and the options."""

    _names: tuple[str, ...] = ()
    options: dict[str, Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self._names}, **self.options}

    def set_params(self, **params: Any) -> Any:
        for name, value in params.items():
            if name in self._names:
                setattr(self, name, value)
            else:
                self.options = {**self.options, name: value}
        return self

    def __repr__(self):
        given = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items() if v is not None)
        return f"{type(self).__name__}({given})"

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _fitted(self):
        """The model of fit(); NotFittedError of scikit-learn, an AttributeError without it."""
        if hasattr(self, "model_"):
            return self.model_
        try:
            from sklearn.exceptions import NotFittedError
        except ImportError:
            NotFittedError = AttributeError
        raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit() first")


class ChordseqEmbedder(TransformerMixin, _Estimator):
    """Transformer: sequences to vectors (sequences, Model.dim) float32.

    With scikit-learn, set_output(transform="pandas") gives a DataFrame with the columns v1, v2, ...

    model    as for load(), like threads and options
    missing  value of vectors without a prediction, for instance of an empty sequence;
             most estimators of scikit-learn refuse NaN
    """

    _names = ("model", "threads", "missing")

    def __init__(self, model: Optional[PathLike] = None, threads: Optional[int] = None,
                 missing: float = 0.0, **options: Any):
        self.model, self.threads, self.missing, self.options = model, threads, missing, options

    def fit(self, X: Any, y: Any = None) -> ChordseqEmbedder:
        """Open the model; nothing is trained."""
        self.model_ = load(self.model, threads=self.threads, **self.options)
        self.n_features_out_ = self.model_.dim
        return self

    def transform(self, X: Any) -> np.ndarray:
        vectors = self._fitted().embed(X)
        vectors[np.isnan(vectors).any(axis=1)] = self.missing
        return vectors

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        return np.array([f"v{i + 1}" for i in range(self.n_features_out_)], dtype=object)


def _label_texts(classes):
    """Names of classes in a table of labels: their text; c0, c1, ... if these are not plain, or not
    distinct."""
    texts = [str(c) for c in classes]
    plain = all(t.isprintable() and t.strip() == t != "" and ";" not in t and t not in _NO_LABELS
                for t in texts)
    return texts if plain and len(set(texts)) == len(texts) else \
        [f"c{i}" for i in range(len(texts))]


class ChordseqClassifier(ClassifierMixin, _Estimator):
    """Classifier: fit() trains a model with `chordseq train`, predict() classifies with it.

    output   file of the trained model, or None; the estimator keeps a copy
    threads  as for load()
    missing  result of predict() for sequences without a prediction, such as empty ones; None: a
             ValueError
    options  those of `chordseq train`: preset="fast", budget="2m", seed=1, ...

    After fit(): model_ (a Model), classes_ (sorted, as scikit-learn requires), metrics_ (a dict per
    epoch). Sequences without a prediction have probabilities of NaN, and score() counts them as
    wrong. The model's labels are the classes as text, or c0, c1, ... if a table of labels cannot hold
    them. A pickled estimator contains its model.
    """

    _names = ("output", "threads", "missing")
    missing: Any = None                      # of older pickles
    _estimator_type = "classifier"           # for scikit-learn before 1.6

    def __init__(self, output: Optional[PathLike] = None, threads: Optional[int] = None,
                 missing: Any = None, **options: Any):
        self.output, self.threads, self.missing, self.options = output, threads, missing, options

    def fit(self, X: Any, y: Any) -> ChordseqClassifier:
        if isinstance(X, os.PathLike):
            raise TypeError("fit() takes sequences, not a path; train() takes files")
        X, labels = list(items(X)), np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(X):
            raise ValueError(f"{len(X)} sequences have labels of shape {labels.shape}; give one for each")
        if len(X) == 0:
            raise ValueError("there is no sequence to train on")
        if any(label is None or label != label for label in labels.tolist()):
            raise ValueError("a label is None or NaN; leave such sequences out")
        classes, which = np.unique(labels, return_inverse=True)
        texts = _label_texts(classes)
        with tempfile.TemporaryDirectory(prefix="chordseq.") as folder:
            fasta, tsv, own = (os.path.join(folder, name)
                               for name in ("train.fa", "train.tsv", "own.safetensors"))
            with open(fasta, "wb") as f, open(tsv, "w", encoding="utf-8", newline="\n") as t:
                for number, item in enumerate(X):
                    f.write(b">%d\n%s\n" % (number, pair(item, number)[1]))
                    t.write(f"{number}\t{texts[which[number]]}\n")
            path = own if self.output is None else os.fspath(self.output)
            options, old = {"checkpoint": own + ".ckpt", **self.options}, stamp(path)
            metrics = list(train(fasta, path, labels=tsv, threads=self.threads, **options))
            if stamp(path) == old:
                raise Error("training ended before its first validation, without a model")
            with open(path, "rb") as f:      # its own copy: others may write a file of that name
                self._open(self._keep(f.read()))
        self.classes_, self.metrics_ = classes, metrics
        self._column = [self.model_.labels.index(text) for text in texts]
        return self

    def _open(self, path):
        # Of several GPUs that train, one predicts.
        options = {k: str(self.options[k]).split(",")[0] for k in ("device", "precision")
                   if self.options.get(k) is not None}
        self.model_: Model = load(path, threads=self.threads, **options)

    def _keep(self, content):
        self._kept = tempfile.NamedTemporaryFile(prefix="chordseq.", suffix=".safetensors")
        self._kept.write(content)
        self._kept.flush()
        return self._kept.name

    def __getstate__(self):
        state = {k: v for k, v in self.__dict__.items() if k not in ("_kept", "model_")}
        if hasattr(self, "model_"):
            with open(self.model_.path, "rb") as f:
                state["_content"] = f.read()
        return state

    def __setstate__(self, state):
        state = dict(state)
        content = state.pop("_content", None)
        self.__dict__.update(state)
        if content is not None:
            self._open(self._keep(content))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(sequences, classes) float32, in the order of classes_; NaN without a prediction."""
        return np.asarray(self._fitted().classify(X).probabilities)[:, self._column]

    def _classes(self, X):
        """The most probable classes, and where there is none: a mask, the first number and its reason."""
        calls = self._fitted().classify(X)
        p = np.asarray(calls.probabilities)[:, self._column]
        none = np.isnan(p).any(axis=1)
        first = int(none.argmax()) if none.any() else None
        why = None if first is None else calls.reason[first]
        return self.classes_[np.nan_to_num(p).argmax(axis=1)], none, first, why

    def predict(self, X: Any) -> np.ndarray:
        """The most probable classes; `missing` for sequences without a prediction."""
        best, none, first, why = self._classes(X)
        if first is None:
            return best
        if self.missing is None:
            raise UsageError(f"{none.sum()} of {len(none)} sequences have no prediction; first: number "
                             f"{first} ({why}); leave them out, or give missing=LABEL")
        both = np.result_type(best, np.asarray(self.missing))
        if best.dtype.kind != np.asarray(self.missing).dtype.kind:
            both = np.dtype(object)          # no numbers as texts
        best = best.astype(both)
        best[none] = self.missing
        return best

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; a sequence without a prediction counts as wrong."""
        best, none, _, _ = self._classes(X)
        return float(np.average((best == np.asarray(y)) & ~none, weights=sample_weight))
