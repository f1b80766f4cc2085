"""MemFin: five measures of a financial assistant, from traces of its dialogues.

`score_dialog` scores one dialogue, as a function of plain values.
"""
