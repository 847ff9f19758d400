"""test_metrics.py - reading chordseq's documents; needs neither MultiQC nor chordseq.

    python3 workflows/multiqc/tests/test_metrics.py

With the path of a real summary and of real metrics of eval as arguments, these are read as well.
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from multiqc_chordseq import metrics  # noqa: E402

REAL = sys.argv[1:3]


def summary(**changes):
    doc = {
        "chordseq_version": "0.2.0",
        "options": {"sample": "s1"},
        "input": {"records": 10, "bases": 5000},
        "called": {"records": 8, "bases": 4500},
        "unclassified": {"records": 2, "bases": 500},
        "reasons": {"empty": {"records": 1, "bases": 0},
                    "low_probability": {"records": 1, "bases": 500}},
        "probabilities": {"called": [0] * 18 + [2, 6], "not_called": [1] + [0] * 19},
        "classes": [{"name": "virus", "records": 5, "bases": 3000},
                    {"name": "host", "records": 2, "bases": 1000}],
        "ancestors": [{"name": "root;cellular", "records": 1, "bases": 500}],
    }
    doc.update(changes)
    return json.dumps(doc)


def evaluated(**changes):
    one = {"set": "record", "length": "all", "records": 4, "accuracy": 0.75, "mcc": None,
           "reliability": [{"from": 0.9, "records": 3, "confidence": 0.95, "accuracy": 2 / 3}]}
    one.update(changes)
    return one


def doc_of(*sets):
    return json.dumps({"chordseq": "0.2.0", "model": "0" * 64, "sets": list(sets)})


class Names(unittest.TestCase):
    def test_by_file(self):
        for name in ("s1.chordseq_summary.json", "s1.eval.json", "s1.json", "s1_summary.json"):
            self.assertEqual(metrics.run_name(name, "/data/x"), "s1")

    def test_by_folder(self):
        self.assertEqual(metrics.run_name("chordseq_summary.json", "/data/s2/"), "s2")

    def test_sample_wins(self):
        self.assertEqual(metrics.run_name("a.json", "/b", "s3"), "s3")


class Summary(unittest.TestCase):
    def test_counts(self):
        run = metrics.read_summary(summary())
        self.assertEqual(run["sample"], "s1")
        self.assertEqual(run["general"], {"records": 10, "bases": 5000, "mean_length": 500.0,
                                          "called": 80.0})
        self.assertEqual(run["records"], {"virus": 5, "host": 2, "root;cellular": 1,
                                          metrics.NO_CALL: 2})
        self.assertEqual(run["bases"][metrics.NO_CALL], 500)
        self.assertEqual(run["reasons"], {"empty": 1, "low_probability": 1})

    def test_warning(self):
        self.assertEqual(metrics.read_summary(summary())["warning"], "")
        self.assertEqual(metrics.read_summary(summary(warning="6 of 10"))["warning"], "6 of 10")

    def test_default_sample_is_no_name(self):
        self.assertIsNone(metrics.read_summary(summary(options={"sample": "sample"}))["sample"])

    def test_confidence(self):
        confidence = metrics.read_summary(summary())["confidence"]
        self.assertAlmostEqual(confidence["called"][0.975], 75.0)
        self.assertAlmostEqual(confidence["all"][0.025], 100.0 / 9)
        self.assertAlmostEqual(sum(confidence["all"].values()), 100.0)

    def test_every_record_is_drawn_once(self):
        run = metrics.read_summary(summary())
        self.assertEqual(sum(run["records"].values()), run["general"]["records"])

    def test_empty_input(self):
        none = {"records": 0, "bases": 0}
        run = metrics.read_summary(summary(
            input=none, called=none, unclassified=none, classes=[], ancestors=[], reasons={},
            probabilities={"called": [0] * 20, "not_called": [0] * 20}))
        self.assertEqual(run["general"]["called"], 0.0)
        self.assertEqual(run["confidence"]["all"], {})

    def test_model_of_values(self):
        doc = json.loads(summary(classes=[]))
        del doc["probabilities"], doc["ancestors"]
        run = metrics.read_summary(json.dumps(doc))
        self.assertEqual((run["records"], run["confidence"]), ({}, {}))

    def test_refused(self):
        for text in ("", "[]", "{}", summary()[:-20], summary(input={}), summary(called=3),
                     summary(unclassified={"records": -1}), summary(classes=[{"records": 1}]),
                     summary(classes=[{"name": "a", "records": "1"}]),
                     summary(probabilities={"called": [1], "not_called": [1]}),
                     summary(probabilities=3), doc_of(evaluated())):
            with self.assertRaises(metrics.NotOurs, msg=text[:60]):
                metrics.read_summary(text)


class Eval(unittest.TestCase):
    def test_sets(self):
        doc = metrics.read_eval(doc_of(
            evaluated(), evaluated(length="0-499", accuracy=0.5), evaluated(length="500-", accuracy=1),
            evaluated(set="fragment", length="200", accuracy=0.25)))
        self.assertEqual(list(doc["sets"]), ["record", "pieces of 200"])
        self.assertEqual(doc["sets"]["record"], {"evaluated": 4, "accuracy": 0.75})
        self.assertEqual(doc["by_length"], {"record": {249.5: 50.0, 500.0: 100},
                                            "fragment": {200.0: 25.0}})
        self.assertAlmostEqual(doc["reliability"]["record"][0.95], 200 / 3)

    def test_tokens_and_values(self):
        tokens = evaluated(set="token", tokens=7)
        del tokens["records"], tokens["reliability"]
        self.assertEqual(metrics.read_eval(doc_of(tokens))["sets"]["token"]["evaluated"], 7)
        values = {"set": "record", "length": "all", "records": 3, "mse": 0.5, "mae": 0.1,
                  "r2": -2.5, "pearson": None, "values": {"v": {"records": 3, "mse": 0.5}}}
        read = metrics.read_eval(doc_of(values))["sets"]["record"]
        self.assertEqual(read, {"evaluated": 3, "mse": 0.5, "mae": 0.1, "r2": -2.5})

    def test_bins_without_records_are_left_out(self):
        doc = metrics.read_eval(doc_of(evaluated(), evaluated(length="0-499", records=0)))
        self.assertEqual(doc["by_length"], {})

    def test_refused(self):
        for text in ("", "{}", '{"chordseq": "1"}', doc_of({}), doc_of(evaluated(records=-1)),
                     doc_of(evaluated(reliability=[{}])), doc_of(evaluated(reliability=3)), summary()):
            with self.assertRaises(metrics.NotOurs, msg=text[:60]):
                metrics.read_eval(text)


@unittest.skipUnless(len(REAL) == 2, "no real documents given")
class Real(unittest.TestCase):
    def test_summary(self):
        with open(REAL[0], encoding="utf-8") as f:
            run = metrics.read_summary(f.read())
        self.assertGreater(run["general"]["records"], 0)
        self.assertEqual(sum(run["records"].values()), run["general"]["records"])
        self.assertAlmostEqual(sum(run["confidence"]["called"].values()), 100.0)

    def test_eval(self):
        with open(REAL[1], encoding="utf-8") as f:
            doc = metrics.read_eval(f.read())
        self.assertIn("accuracy", doc["sets"]["record"])
        self.assertTrue(doc["reliability"]["record"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
