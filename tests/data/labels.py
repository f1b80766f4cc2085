from pydantic import BaseModel

import evaltools as et

CLASSES = ("pos", "neg")


class Record(BaseModel):
    id: str
    gold: "Label"  # of below
    pred: str
    domain: str = ""


Label = str


def columns(r: Record) -> dict:
    counts = {"n": 1, "right": r.gold == r.pred}
    for c in CLASSES:
        counts |= {
            f"tp_{c}": r.gold == c == r.pred,
            f"fp_{c}": r.pred == c != r.gold,
            f"fn_{c}": r.gold == c != r.pred,
        }
    return counts


SUITE = et.jsonl_suite(
    "labels",
    title="Labels",
    record=Record,
    unit="id",
    columns=columns,
    headline=("accuracy", "macro_f1"),
    metrics=[
        et.Metric(
            name="accuracy",
            numerator="right",
            denominator="n",
            group="Labels",
            better="higher",
            title="Accuracy",
            proportion=True,
        ),
        *(
            et.Metric(
                name=f"f1_{c}",
                numerator=f"2*tp_{c}",
                denominator=f"2*tp_{c} + fp_{c} + fn_{c}",
                group="Labels",
                better="higher",
                title=f"F1 of {c}",
                bounds=(0, 1),
            )
            for c in CLASSES
        ),
        et.Mean(
            name="macro_f1",
            of=[f"f1_{c}" for c in CLASSES],
            group="Labels",
            better="higher",
            title="Macro F1",
        ),
    ],
    study_notebook=None,
)
