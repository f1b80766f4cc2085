"""Summaries of insurance texts: `score` gives the five metrics of one summary."""
