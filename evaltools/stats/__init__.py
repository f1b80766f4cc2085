"""Intervals, comparisons and agreement: functions of units frames and metric tables."""
