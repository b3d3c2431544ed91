#!/usr/bin/env python3
"""Generates texts of any size from a few megabytes, with new words so that caches cannot serve everything.

usage: corpus.py KIND OUT MEGABYTES FILE...

KIND is english, code or japanese. OUT receives documents of about 8 KiB, each followed by a zero byte.
 english:  sentences in random order; one of 33 words is replaced by a new word, spelled by a Markov chain over three
           letters (in English text of this size, about one of 60 words is new).
 code:     blocks of 5 to 40 lines in random order; in each, a tenth of the identifiers is replaced in the same way.
 japanese: concatenated pieces of 5 to 40 characters from random places. They no longer form sentences, and few runs of
           characters between two punctuation marks occur twice.
The output is deterministic: the seed is fixed.
"""
import collections
import random
import re
import sys

DOCUMENT = 8 << 10  # bytes


def chain(words):
    follows = collections.defaultdict(list)
    for word in words:
        marked = "\0\0\0" + word + "\1"
        for i in range(len(marked) - 3):
            follows[marked[i:i + 3]].append(marked[i + 3])
    return follows


def spell(follows, rng):
    word = "\0\0\0"
    while len(word) < 20:
        letter = rng.choice(follows[word[-3:]])
        if letter == "\1":
            break
        word += letter
    return word[3:]


def english(texts, rng):
    sentences = [s for t in texts for s in re.findall(r"[^.!?\n]+(?:[.!?]+|\n)\s*", t)]
    follows = chain(sorted(set(re.findall(r"[A-Za-z]{3,}", " ".join(sentences)))))
    while True:
        yield re.sub(r"[A-Za-z]+", lambda m: spell(follows, rng) if rng.random() < 0.03 else m[0], rng.choice(sentences))


def code(texts, rng):
    lines = [line for t in texts for line in t.splitlines(keepends=True)]
    name = r"\b[A-Za-z_]\w{3,}\b"
    follows = chain(sorted(set(re.findall(name, "".join(lines)))))
    while True:
        at, count = rng.randrange(len(lines)), rng.randint(5, 40)
        block = "".join(lines[at:at + count])
        new = {w: spell(follows, rng) for w in sorted(set(re.findall(name, block))) if rng.random() < 0.1}
        yield re.sub(name, lambda m: new.get(m[0], m[0]), block)


def japanese(texts, rng):
    text = "".join(texts)
    while True:
        at = rng.randrange(len(text))
        yield text[at:at + rng.randint(5, 40)]


def main():
    if len(sys.argv) < 5 or sys.argv[1] not in ("english", "code", "japanese"):
        sys.exit(__doc__.strip())
    kind, out, size = sys.argv[1], sys.argv[2], int(float(sys.argv[3]) * 1e6)
    texts = [open(f, encoding="utf-8", errors="strict").read().replace("\0", "") for f in sys.argv[4:]]
    parts, document, written = {"english": english, "code": code, "japanese": japanese}[kind](texts, random.Random(1)), "", 0
    with open(out, "wb") as file:
        while written < size:
            document += next(parts)
            if len(document.encode()) >= DOCUMENT:
                written += file.write(document.encode() + b"\0")
                document = ""


if __name__ == "__main__":
    main()
