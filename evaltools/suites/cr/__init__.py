"""Conflict Review: tuple F1 before and after review, corrections, conflicts, risks and hallucination.

`tuple_f1` is its metric as a function of plain values.
"""
