"""Intervals, comparisons, ranks, plans and agreement: functions of units frames and metric tables.

influence: the cells that all of it rests on; formulas, bootstrap and seeds: what intervals are made of;
intervals: of one run and of a condition over its seeds; differences: two conditions paired, as a whole and
unit by unit; missing: what one side lacks; multiple: sign flips and tests that keep one level together;
compare: families, p, intervals and ranks; verdicts; plan; breakdown: parts of the units; agreement,
calibration and labels: raters and judges.
docs/statistics.md has the rules.
"""
