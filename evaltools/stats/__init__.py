"""Intervals, comparisons, ranks, plans and agreement: functions of units frames and metric tables.

influence: the cells that all of it rests on; formulas: what intervals are made of; effects: a metric of
one condition, or of two paired; intervals: their intervals, and tables of estimates; multiple: sign flips, tests that
keep one level together, and what one side lacks; compare: families, p, intervals, verdicts and ranks;
plan; breakdown: parts of the units; calibration: raters and judges.
docs/statistics.md has the rules.
"""
