#!/usr/bin/env python3
"""Writes a tokenizer.json for both sides of compare.py.

usage: tokenizer_json.py FOLDER OUT

FOLDER contains GPT-2's vocab.json and merges.txt, BERT's vocab.txt (lower case) or T5's spiece.model; OUT is a folder.
The components are the same as those written by the library's converters for these models.
"""
import base64
import json
import os
import struct
import sys


def fields(data):
    """Yields (number, value) for every field of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at:at + size]
        at += size


def bpe(vocab, merges):
    lines = [line for line in merges.splitlines() if line and not line.startswith("#version")]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"normalizer": None, "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": json.loads(vocab), "merges": [line.split(" ") for line in lines]}}


def word_piece(vocab):
    return {"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100,
                      "vocab": {line: i for i, line in enumerate(vocab.split("\n")) if line}}}


def unigram(model):
    pieces, charsmap = [], b""
    for number, value in fields(model):
        if number == 1:
            piece = dict(fields(value))
            pieces.append([piece[1].decode(), struct.unpack("<f", piece[2])[0]])
        elif number == 3:
            charsmap = dict(fields(value)).get(2, b"")
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    return {"normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
            "post_processor": None, "decoder": metaspace,
            "model": {"type": "Unigram", "unk_id": 2, "byte_fallback": False, "vocab": pieces}}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    folder, out = sys.argv[1:]

    def read(name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    if os.path.exists(os.path.join(folder, "merges.txt")):
        parts = bpe(read("vocab.json"), read("merges.txt").decode())
    elif os.path.exists(os.path.join(folder, "vocab.txt")):
        parts = word_piece(read("vocab.txt").decode())
    else:
        parts = unigram(read("spiece.model"))
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], **parts}, file,
                  ensure_ascii=False)


if __name__ == "__main__":
    main()
