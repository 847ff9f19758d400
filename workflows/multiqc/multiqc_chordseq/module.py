"""module.py - chordseq's part of a MultiQC page."""

import html
import logging

from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import bargraph, linegraph, table

from .metrics import NO_CALL, NotOurs, read_eval, read_summary, run_name

log = logging.getLogger(__name__)

GREY = "#b3b3b3"

GENERAL = {
    "called": {"title": "Called", "description": "Share of records with a call",
               "min": 0, "max": 100, "suffix": "%", "scale": "YlGn"},
    "records": {"title": "Records", "description": "Sequences read", "min": 0,
                "format": "{:,.0f}", "scale": "Blues"},
    "bases": {"title": "Mbases", "description": "Bases read, in millions", "min": 0,
              "format": "{:,.2f}", "modify": lambda n: n / 1e6, "scale": "Purples"},
    "mean_length": {"title": "Mean length", "description": "Bases per record", "min": 0,
                    "format": "{:,.0f}", "suffix": " b", "scale": "Greys", "hidden": True},
}

EVALUATED = {
    "evaluated": {"title": "Evaluated", "description": "Records or tokens with a label",
               "min": 0, "format": "{:,.0f}", "scale": "Blues"},
    "accuracy": {"title": "Accuracy", "description": "Share of right calls", "min": 0, "max": 1,
                 "format": "{:.3f}", "scale": "YlGn"},
    "balanced_accuracy": {"title": "Balanced", "description": "Mean recall over the classes",
                          "min": 0, "max": 1, "format": "{:.3f}", "scale": "YlGn"},
    "macro_f1": {"title": "F1", "description": "Mean F1 over the classes", "min": 0, "max": 1,
                 "format": "{:.3f}", "scale": "YlGn"},
    "macro_auc": {"title": "AUC", "description": "Mean area under the ROC curves", "min": 0,
                  "max": 1, "format": "{:.3f}", "scale": "YlGn", "hidden": True},
    "mcc": {"title": "MCC", "description": "Matthews correlation over all classes", "min": -1,
            "max": 1, "format": "{:.3f}", "scale": "RdYlGn"},
    "ece": {"title": "ECE", "description": "Expected calibration error: mean difference "
            "between predicted probability and accuracy", "min": 0, "format": "{:.4f}",
            "scale": "OrRd"},
    "loss": {"title": "Loss", "description": "Mean cross-entropy, natural logarithm", "min": 0,
             "format": "{:.4f}", "scale": "OrRd", "hidden": True},
    "mse": {"title": "MSE", "description": "Mean squared error", "min": 0, "format": "{:.4g}",
            "scale": "OrRd"},
    "mae": {"title": "MAE", "description": "Mean absolute error", "min": 0, "format": "{:.4g}",
            "scale": "OrRd"},
    "r2": {"title": "R2", "description": "Coefficient of determination, mean over the values",
           "max": 1, "format": "{:.3f}", "scale": "YlGn"},
    "pearson": {"title": "Pearson", "description": "Pearson's correlation, mean over the values",
                "min": -1, "max": 1, "format": "{:.3f}", "scale": "RdYlGn"},
    "spearman": {"title": "Spearman", "description": "Spearman's correlation, mean over the values",
                 "min": -1, "max": 1, "format": "{:.3f}", "scale": "RdYlGn", "hidden": True},
    "within_tolerance": {"title": "Within", "description": "Share of values within --tolerance",
                         "min": 0, "max": 1, "format": "{:.3f}", "scale": "YlGn"},
}


class MultiqcModule(BaseMultiqcModule):
    """Reads summaries of `chordseq classify` and metrics of `chordseq eval`."""

    def __init__(self):
        super().__init__(
            name="chordseq",
            anchor="chordseq",
            info="classifies DNA sequences of any length with neural networks.",
        )
        self.runs = self.read("chordseq/summary", read_summary)
        self.evals = self.read("chordseq/eval", read_eval)
        if not self.runs and not self.evals:
            raise ModuleNoSamplesFound
        log.info(f"Found {len(self.runs)} summaries and {len(self.evals)} evaluations")

        if self.runs:
            self.add_runs()
        if self.evals:
            self.add_evals()

    def read(self, pattern, parse):
        """Documents by run; an unreadable one is reported and skipped."""
        found = {}
        for f in self.find_log_files(pattern):
            where = f"{f['root']}/{f['fn']}"
            try:
                doc = parse(f["f"])
            except NotOurs as e:
                log.warning(f"Left out '{where}': {e}")
                continue
            name = self.clean_s_name(run_name(f["fn"], f["root"], doc.get("sample")), f)
            if name in found:
                log.debug(f"Run '{name}' found twice; '{where}' takes its place")
            found[name] = doc
            self.add_data_source(f, s_name=name, section=pattern.split("/")[1])
            self.add_software_version(doc["version"], name)
        return self.ignore_samples(found)

    # ---- what was classified -------------------------------------------------------------------

    def add_runs(self):
        general = {name: run["general"] for name, run in self.runs.items()}
        self.general_stats_addcols(general, GENERAL)
        self.write_data_file({name: {**run["general"], **run["records"]}
                              for name, run in self.runs.items()}, "multiqc_chordseq")
        self.add_classes()
        self.add_reasons()
        self.add_confidence()

    def add_classes(self):
        cats = {}
        for run in self.runs.values():
            for name in run["records"]:
                cats[name] = {"name": name}
        if not cats:
            return
        if NO_CALL in cats:     # grey, behind all classes
            cats.pop(NO_CALL)
            cats[NO_CALL] = {"name": NO_CALL, "color": GREY}
        self.add_section(
            name="Classes",
            anchor="chordseq-classes",
            description="Records and bases by class.",
            helptext="With `--call taxon`, records without a sufficiently probable class get a "
                     "higher taxon. *Records without a call* has the reasons of the others.",
            plot=bargraph.plot(
                [{n: r["records"] for n, r in self.runs.items()},
                 {n: r["bases"] for n, r in self.runs.items()}],
                [cats, cats],
                {"id": "chordseq_classes", "title": "chordseq: Classes", "ylab": "Records",
                 "cpswitch_counts_label": "Numbers", "cpswitch_c_active": False,
                 "data_labels": [{"name": "Records", "ylab": "Records"},
                                 {"name": "Bases", "ylab": "Bases"}]}),
        )

    def warnings(self):
        """A sentence for each run of which half has no confident call."""
        return "".join(f"<br>{html.escape(name)}: {html.escape(run['warning'])}."
                       for name, run in self.runs.items() if run["warning"])

    def add_reasons(self):
        reasons = {n: {k: v for k, v in r["reasons"].items() if v} for n, r in self.runs.items()}
        if not any(reasons.values()):
            return
        names = {k: {"name": k.replace("_", " ")} for r in reasons.values() for k in r}
        self.add_section(
            name="Records without a call",
            anchor="chordseq-reasons",
            description="Unclassified records by reason; see chordseq-classify(1)."
                        + self.warnings(),
            plot=bargraph.plot(reasons, names, {
                "id": "chordseq_reasons", "title": "chordseq: Records without a call",
                "ylab": "Records"}),
        )

    def add_confidence(self):
        data = [{n: r["confidence"][which] for n, r in self.runs.items()
                 if r["confidence"].get(which)} for which in ("called", "all")]
        if not data[1]:
            return
        self.add_section(
            name="Confidence",
            anchor="chordseq-confidence",
            description="Distribution of the probability of the best class, in bins of 0.05.",
            helptext="Of the calls of a calibrated model at 0.9, nine in ten are right. A run with "
                     "lower probabilities than others has sequences less similar to the training "
                     "data.",
            plot=linegraph.plot(data, {
                "id": "chordseq_confidence", "title": "chordseq: Confidence",
                "xlab": "Probability of the best class", "ylab": "Share of records",
                "ymin": 0, "xmin": 0, "xmax": 1, "ysuffix": "%",
                "data_labels": [{"name": "Calls", "ylab": "Share of calls"},
                                {"name": "All predictions", "ylab": "Share of predictions"}]}),
        )

    # ---- evaluation -----------------------------------------------------------------------

    def add_evals(self):
        rows = {self.row_name(run, s, doc): metrics for run, doc in self.evals.items()
                for s, metrics in doc["sets"].items()}
        seen = {k for metrics in rows.values() for k in metrics}
        headers = {k: v for k, v in EVALUATED.items() if k in seen}
        self.write_data_file(rows, "multiqc_chordseq_eval")
        whole = {run: next(iter(doc["sets"].values())) for run, doc in self.evals.items()
                 if doc["sets"]}
        self.general_stats_addcols(
            whole, {k: v for k, v in headers.items() if k in ("accuracy", "mcc", "ece", "mae")})
        self.add_section(
            name="Evaluated",
            anchor="chordseq-evaluated",
            description="Metrics of `chordseq eval`.",
            plot=table.plot(rows, headers, {"id": "chordseq_evaluated", "namespace": "chordseq",
                                            "title": "chordseq: Evaluated"}),
        )
        self.add_by_length()
        self.add_reliability()

    @staticmethod
    def row_name(run, which, doc):
        return run if len(doc["sets"]) == 1 else f"{run}: {which}"

    def add_by_length(self):
        lines = {}
        for run, doc in self.evals.items():
            for which, points in doc["by_length"].items():
                one = len(doc["by_length"]) == 1
                lines[run if one else f"{run}: {which}s"] = points
        if not lines:
            return
        self.add_section(
            name="Accuracy by length",
            anchor="chordseq-length",
            description="Accuracy at the middle of each length bin.",
            plot=linegraph.plot(lines, {
                "id": "chordseq_length", "title": "chordseq: Accuracy by length",
                "xlab": "Bases", "ylab": "Accuracy", "xlog": True, "ymin": 0, "ymax": 100,
                "ysuffix": "%", "style": "lines+markers"}),
        )

    def add_reliability(self):
        lines = {self.row_name(run, s, doc): points for run, doc in self.evals.items()
                 for s, points in doc["reliability"].items() if points}
        if not lines:
            return
        self.add_section(
            name="Reliability",
            anchor="chordseq-reliability",
            description="Accuracy by predicted probability, in bins of 0.1. Below the diagonal the "
                        "model is overconfident.",
            plot=linegraph.plot(lines, {
                "id": "chordseq_reliability", "title": "chordseq: Reliability",
                "xlab": "Predicted probability", "ylab": "Accuracy", "xmin": 0, "xmax": 1,
                "ymin": 0, "ymax": 100, "ysuffix": "%", "style": "lines+markers",
                "extra_series": [{"name": "calibrated", "pairs": [[0, 0], [1, 100]],
                                  "dash": "dash", "color": GREY}]}),
        )
