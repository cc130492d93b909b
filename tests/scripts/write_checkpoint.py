#!/usr/bin/env python3
"""Writes a safetensors checkpoint for a Llama or Qwen2 config.json, by hand and from the format's
description alone: eight bytes of header length, a JSON header, the data.

Usage: write_checkpoint.py CONFIG OUTPUT [--dtype F16|F32|BF16] [--ties] [--shards N]
                           [--fault truncated|shape|missing|overlap]

Weights are drawn with a fixed seed. --ties makes all rows of the head alike but for the last bit
of an FP16 value: logits then differ by less than rounding does. With --shards OUTPUT is a folder
for N files and their index.
"""

import argparse
import json
import pathlib
import random
import struct


def shapes(config):
    """Name and shape of every tensor, as Hugging Face writes them."""
    hidden, ffn, vocab = (config[key] for key in ("hidden_size", "intermediate_size", "vocab_size"))
    head = config.get("head_dim", hidden // config["num_attention_heads"])
    query, key_value = (config[key] * head for key in ("num_attention_heads", "num_key_value_heads"))
    yield "model.embed_tokens.weight", [vocab, hidden]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", [hidden]
        for name, rows in (("q", query), ("k", key_value), ("v", key_value)):
            yield f"{prefix}self_attn.{name}_proj.weight", [rows, hidden]
            if config["model_type"] == "qwen2":
                yield f"{prefix}self_attn.{name}_proj.bias", [rows]
        yield prefix + "self_attn.o_proj.weight", [hidden, query]
        yield prefix + "post_attention_layernorm.weight", [hidden]
        yield prefix + "mlp.gate_proj.weight", [ffn, hidden]
        yield prefix + "mlp.up_proj.weight", [ffn, hidden]
        yield prefix + "mlp.down_proj.weight", [hidden, ffn]
    yield "model.norm.weight", [hidden]
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", [vocab, hidden]


def values(name, shape, ties):
    """The numbers of a tensor, row by row."""
    if name == "lm_head.weight" and ties:
        row = [random.gauss(0, 0.1) for _ in range(shape[1])]
        return [value if column else 1e-4 + 6e-8 * random.randrange(16)
                for _ in range(shape[0]) for column, value in enumerate(row)]
    if name == "model.embed_tokens.weight":
        return [random.gauss(0, 1) for _ in range(shape[0] * shape[1])]
    if len(shape) == 1:
        return [random.gauss(0 if name.endswith("bias") else 1, 0.1) for _ in range(shape[0])]
    return [random.gauss(0, 1.5 / shape[1] ** 0.5) for _ in range(shape[0] * shape[1])]


def packed(numbers, dtype):
    if dtype == "BF16":
        return b"".join(struct.pack("<f", number)[2:] for number in numbers)
    return struct.pack(f"<{len(numbers)}{'e' if dtype == 'F16' else 'f'}", *numbers)


def write(path, tensors, dtype, fault):
    """One file of (name, shape, data)."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, shape, content in tensors:
        if fault == "missing" and name == "model.norm.weight":
            continue
        begin = len(data)
        if fault == "overlap" and name == "model.norm.weight":
            begin -= 2
            data = data[:begin]
        if fault == "shape" and name.endswith("layers.1.mlp.up_proj.weight"):
            shape = shape[::-1]
        data += content
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = data[:-100] if fault == "truncated" else data
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--dtype", choices=["F16", "F32", "BF16"], default="F16")
    parser.add_argument("--ties", action="store_true")
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--fault", choices=["truncated", "shape", "missing", "overlap"])
    options = parser.parse_args()
    random.seed(7)
    config = json.loads(options.config.read_text(encoding="utf-8"))
    tensors = [(name, shape, packed(values(name, shape, options.ties), options.dtype))
               for name, shape in shapes(config)]
    if options.shards == 0:
        write(options.output, tensors, options.dtype, options.fault)
        return
    options.output.mkdir()
    places = {}
    for shard in range(options.shards):
        name = f"model-{shard + 1:05}-of-{options.shards:05}.safetensors"
        part = tensors[shard::options.shards]
        write(options.output / name, part, options.dtype, options.fault)
        places.update((tensor[0], name) for tensor in part)
    (options.output / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": places}), encoding="utf-8")


if __name__ == "__main__":
    main()
