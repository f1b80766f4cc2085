"""Intervals, comparisons, ranks, plans and agreement: functions of units frames and metric tables.

influence: the array that all of it rests on; intervals: one run; bootstrap; seeds: one condition over
its seeds; compare: differences, families, verdicts; missing: what one side lacks; multiple: sign flips
and tests that keep one level together; plan; breakdown: parts of the units; agreement, calibration
and labels: raters and judges. docs/statistics.md has the rules.
"""
