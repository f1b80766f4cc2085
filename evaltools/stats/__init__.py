"""Intervals, comparisons, ranks, plans and agreement: functions of units frames and metric tables.

influence: the cells that all of it rests on; formulas, bootstrap and intervals: one run; seeds: one
condition over its seeds; differences: two conditions paired; missing: what one side lacks; multiple:
sign flips and tests that keep one level together; compare: families, p and intervals; verdicts; ranks;
plan; unit_changes; breakdown: parts of the units; agreement, calibration and labels: raters and judges.
docs/statistics.md has the rules.
"""
