#!/usr/bin/env python3
"""Makes texts of any size out of a few megabytes, so that no cache sees only what it has seen.

usage: corpus.py KIND OUT MEGABYTES FILE...

KIND is english, code or japanese. OUT gets documents of about 8 KiB with a zero byte behind each.
 english:  sentences in a new order; of 33 words one is new, spelled by a chain over three letters (English text of
           this size has a new word in about 60).
 code:     blocks of 5 to 40 lines in a new order; in each, a tenth of the identifiers becomes others, spelled so.
 japanese: pieces of 5 to 40 characters from anywhere, one behind the other: they are no sentences any more, and hardly
           a run of characters between two marks comes twice.
The same seed always makes the same text.
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
