"""A language model of 100 KB that has learnt nothing, to try a real engine with.

    python scripts/make_tiny_model.py FILE.gguf          needs the package gguf

Its weights are random, but it leans towards letters that end strings and lists, so that replies that an engine holds to
a JSON schema come to an end. Its tokens are bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, INNER, CONTEXT = 1, 32, 2, 64, 16384

LIKED = {'"': 6.0, "0": 5.0, "{": 4.0, "]": 3.0, "}": 3.0, ",": 1.0}
"""Letter -> how much likelier it is than others, as a logit."""

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "assistant: "
)


def make(path: Path, seed: int = 0) -> None:
    """Write the model; the same seed gives the same bytes."""
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    tokens = add_tokenizer(writer)
    add_weights(writer, tokens, np.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer: gguf.GGUFWriter) -> list[str]:
    """Three control tokens and a token a byte; returns all."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    types += [gguf.TokenType.BYTE] * 256
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    return tokens


def add_weights(writer: gguf.GGUFWriter, tokens: list[str], generator: np.random.Generator) -> None:
    """Random weights. The first number of every embedding is the same; how much a letter is liked hangs on it.

    Queries and keys are large: a reply hangs on single letters of what was asked.
    """

    def random(*shape: int, spread: float = 0.05) -> np.ndarray:
        return generator.normal(0, spread, shape).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    embeddings = random(len(tokens), WIDTH)
    embeddings[:, 0] = 2.0
    output = random(len(tokens), WIDTH, spread=0.1)
    for letter, logit in LIKED.items():
        output[tokens.index(f"<0x{ord(letter):02X}>"), 0] += logit / 4.0
    writer.add_tensor("token_embd.weight", embeddings)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for name, spread in (("attn_q", 4.0), ("attn_k", 4.0), ("attn_v", 0.5)):
            weights = random(WIDTH, WIDTH, spread=spread)
            weights[:, 0] = 0.0
            writer.add_tensor(f"{block}.{name}.weight", weights)
        attention = random(WIDTH, WIDTH, spread=0.15)
        attention[0] = 0.0
        writer.add_tensor(f"{block}.attn_output.weight", attention)
        writer.add_tensor(f"{block}.ffn_gate.weight", random(INNER, WIDTH))
        writer.add_tensor(f"{block}.ffn_up.weight", random(INNER, WIDTH))
        writer.add_tensor(f"{block}.ffn_down.weight", random(WIDTH, INNER))
        writer.add_tensor(f"{block}.attn_norm.weight", ones)
        writer.add_tensor(f"{block}.ffn_norm.weight", ones)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
