"""Metrics of one's own over the suite of labels.py: one of each kind, and a column that it has not."""

import pandas as pd

import evaltools as et


def columns(units: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"guessed_pos": units["pred"] == "pos"})


METRICS = [
    et.Metric(
        name="share_pos",
        numerator="guessed_pos",
        denominator="n",
        better="none",
        title="Share of pos",
        proportion=True,
    ),
    et.Difference(
        name="gap", minuend="f1_pos", subtrahend="f1_neg", better="none", title="Gap of F1"
    ),
    et.Mean(name="both", of=("accuracy", "macro_f1"), better="higher", title="Accuracy and F1"),
]
