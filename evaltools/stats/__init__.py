"""Intervals, comparisons and agreement: functions of units frames and metric tables.

Which interval a metric has, by the method "auto"; the first line that holds:

One run (`intervals.run_intervals`)

- a plain count, or not measured: none
- a proportion of units that are one trial each: mid-p (`score_intervals.mid_p`)
- within limits, and the units carry a bootstrap (`intervals.run_bounds`): bca, of many units abc (`bootstrap`)
- within limits, one ratio: score-t, or score-n where no unit differs (`intervals.run_bounds`)
- within limits, a weighted sum of ratios: mover, of the intervals of its ratios (`score_intervals.mover`)
- no limits, 10 units that differ: bca-t (`bootstrap`); else none

One condition over several seeds (`seeds`)

- measured in one seed only: that of the run
- within limits: score-t at the variance components, wilson or score-n where nothing differs
- else, 10 units that differ: components, a t interval (`variance.spread`)

A difference of two conditions (`differences`)

- several seeds on both sides: components of the paired differences (`variance.spread_of_delta`)
- within limits, and few units decide: mover, of gains and losses (`score_intervals.gains_and_losses`)
- else, 10 units that differ: bca, or bca-t without limits (`bootstrap`)

By "bca" and "percentile" it is that bootstrap wherever 10 units differ, and wilson for proportions
where they do not. docs/statistics.md says why.
"""
