"""Compares the training speed of a character-level LSTM in Weft with PyTorch's nn.LSTM, alternating.

    cmake -B build -DWEFT_BENCH=ON && cmake --build build --target weft_recurrent_bench
    /usr/bin/python3 tests/bench/peers/recurrent.py [--rounds 5] [--threads 2]

Both use the same sizes (65 characters, width 300, batches of 12 x 64 characters) and AdamW. PyTorch needs
OpenBLAS (`apt-get install python3-torch libopenblas0-pthread`), and on some virtual CPUs the environment
variable OPENBLAS_CORETYPE.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time

VOCAB, HIDDEN, BATCH, TIME = 65, 300, 12, 64


def torch_step(threads, steps):
    import torch

    torch.set_num_threads(threads)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(VOCAB, HIDDEN)
            self.lstm = torch.nn.LSTM(HIDDEN, HIDDEN, batch_first=True)
            self.head = torch.nn.Linear(HIDDEN, VOCAB)

        def forward(self, ids):
            return self.head(self.lstm(self.table(ids))[0])

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.tensor([i * 7 % VOCAB for i in range(BATCH * TIME)]).view(BATCH, TIME)
    targets = torch.tensor([(i + 1) * 7 % VOCAB for i in range(BATCH * TIME)]).view(-1)

    def step():
        loss = torch.nn.functional.cross_entropy(model(ids).view(-1, VOCAB), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(3):
        step()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    print(f"{(time.perf_counter() - begin) / steps * 1e3:.3f} ms per step")


def measure(command, environment):
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"([\d.]+) ms per step", output).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--build", default="build")
    parser.add_argument("--torch", action="store_true", help="measure PyTorch and exit (used internally)")
    args = parser.parse_args()
    if args.torch:
        torch_step(args.threads, args.steps)
        return
    environment = dict(os.environ, OMP_NUM_THREADS=str(args.threads), OPENBLAS_NUM_THREADS=str(args.threads))
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(measure([f"{args.build}/weft_recurrent_bench", "train", str(args.threads), str(args.steps)],
                            environment))
        theirs.append(measure([sys.executable, __file__, "--torch", "--threads", str(args.threads), "--steps",
                               str(args.steps)], environment))
        print(f"weft {ours[-1]:.2f} ms, torch {theirs[-1]:.2f} ms")
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"medians: weft {a:.2f} ms, torch {b:.2f} ms per training step, torch / weft = {b / a:.2f}")


if __name__ == "__main__":
    main()
