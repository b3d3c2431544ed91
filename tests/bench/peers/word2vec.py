"""Compares skip-gram with negative sampling in Weft and the original word2vec program, alternating, one thread each.

    git clone https://github.com/tmikolov/word2vec /tmp/word2vec && make -C /tmp/word2vec word2vec
    python3 tests/bench/peers/word2vec.py --peer /tmp/word2vec/word2vec --text glosses.txt [--rounds 5]
            [--pairs ../shared/data/wordsim/EN-WS-353-ALL.txt]

The text has one sentence per line, of lower-case words separated by spaces (--wordnet FOLDER first writes the definitions of
WordNet to --text in this form). Both programs train for one epoch on one copy of the text and on --copies copies. The time per
copy is computed from the difference, which excludes counting words and building tables. (Copies are used instead of epochs
because word2vec with one thread trains only in the first epoch: it does not reset its end-of-file state.) Words that occur at
least --min-count times in one copy have vectors. Times are CPU seconds of the process, which other programs on the machine
affect least. With --pairs, `weft vectors evaluate` evaluates the vectors that both programs trained on the copies.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile

WIDTH, WINDOW, NEGATIVES, SUBSAMPLE, RATE = 100, 5, 5, 1e-3, 0.025


def write_definitions(folder, path):
    with open(path, "w") as out:
        for part in ("noun", "verb", "adj", "adv"):
            for line in open(f"{folder}/data.{part}", encoding="utf-8"):
                if not line.startswith(" "):
                    out.write(" ".join(re.findall(r"[^\W_]+", line.split(" | ", 1)[1].lower())) + "\n")


def cpu_seconds(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[0]} failed")
    return used.ru_utime + used.ru_stime


def weft(args, text, min_count, out):
    return [args.weft, "vectors", "train", "--text", text, "--model", "skip-gram", "--width", str(WIDTH), "--window",
            str(WINDOW), "--negatives", str(NEGATIVES), "--subsample", str(SUBSAMPLE), "--rate", str(RATE), "--min-count",
            str(min_count), "--epochs", "1", "--threads", "1", "--out", out, "--binary"]


def peer(args, text, min_count, out):
    return [args.peer, "-train", text, "-cbow", "0", "-hs", "0", "-size", str(WIDTH), "-window", str(WINDOW),
            "-negative", str(NEGATIVES), "-sample", str(SUBSAMPLE), "-alpha", str(RATE), "-min-count",
            str(min_count), "-iter", "1", "-threads", "1", "-output", out, "-binary", "1"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", required=True, help="path of the word2vec program")
    parser.add_argument("--text", required=True)
    parser.add_argument("--wordnet", help="folder with the data files of WordNet")
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--pairs")
    args = parser.parse_args()
    if args.wordnet:
        write_definitions(args.wordnet, args.text)
    with tempfile.TemporaryDirectory() as folder:
        with open(args.text) as text, open(f"{folder}/copies", "w") as copies:
            copies.write(text.read() * args.copies)
        sides = {"weft": weft, "word2vec": peer}
        times = {side: [] for side in sides}
        for _ in range(args.rounds):
            for side, command in sides.items():
                out = f"{folder}/{side}"
                one = cpu_seconds(command(args, args.text, args.min_count, out))
                all = cpu_seconds(command(args, f"{folder}/copies", args.min_count * args.copies, out))
                times[side].append((all - one) / (args.copies - 1))
            print(", ".join(f"{side} {found[-1]:.2f} s" for side, found in times.items()), flush=True)
        ours, theirs = (statistics.median(times[side]) for side in sides)
        print(f"medians: weft {ours:.2f} s, word2vec {theirs:.2f} s per copy, word2vec / weft = {theirs / ours:.2f}")
        if args.pairs:
            for side in sides:
                print(side, subprocess.run([args.weft, "vectors", "evaluate", f"{folder}/{side}", "--pairs", args.pairs],
                                           check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    main()
