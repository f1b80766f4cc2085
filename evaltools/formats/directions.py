"""Which way metrics of other tools go, where their files do not say it."""

from __future__ import annotations

# lm-eval: its registry, for samples without their results. ragas: its documentation. inspect: its own scorers that
# give numbers; of perplexities a sample holds the negative log-likelihood.
HIGHER = {
    "lm-eval": ("acc", "acc_norm", "bleu", "chrf", "exact_match", "f1", "likelihood", "mcc"),
    "ragas": (
        *("answer_correctness", "answer_relevancy", "answer_similarity", "context_entity_recall"),
        *("context_precision", "context_recall", "exact_match", "factual_correctness"),
        *("faithfulness", "non_llm_string_similarity", "semantic_similarity"),
        *("bleu_score", "rouge_score", "string_present", "topic_adherence"),
    ),
    "inspect": ("answer", "choice", "exact", "f1", "includes", "match", "math", "pattern"),
}
LOWER = {
    "lm-eval": ("bits_per_byte", "brier_score", "byte_perplexity", "perplexity", "ter"),
    "ragas": ("noise_sensitivity",),
    "inspect": ("perplexity", "target_perplexity"),
}


def higher_is_better(tool: str, metric: str) -> bool | None:
    """Whether more is better of a metric of a tool; None where that is not known.

    >>> higher_is_better("ragas", "noise_sensitivity")
    False
    """
    if metric in HIGHER[tool]:
        return True
    return False if metric in LOWER[tool] else None
