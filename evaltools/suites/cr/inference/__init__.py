"""Conflict Review inference: texts and a model to outputs.jsonl. The data flow's first step."""
