"""Compares `weft serve` with llama.cpp's server: tokens per second, time to the first token, memory.

    /usr/bin/python3 tests/bench/llama_cpp/write_gguf.py llama-246m q8_0 /tmp/peer.gguf        (needs numpy)
    build/weft quantize /tmp/peer.gguf --weights int8 --activations int8 --out /tmp/own.weft
    /usr/bin/python3 tests/bench/serving/compare_servers.py /tmp/own.weft /tmp/peer.gguf --peer PATH/llama-server
        [--weft build/weft] [--concurrency 1 4 16] [--rounds 5] [--requests 2] [--prompts 32 256] [--outputs 32 96]
        [--threads 2] [--context 1024] [--own-options "..."] [--peer-options "..."]

Both servers run all the time and get the same requests by HTTP in turn: streamed completions of random ids, greedy,
without end ids. In a round, each client sends `--requests` requests one after another. The first round, which is
shorter, is not counted.
llama.cpp rounds activations to eight bits as Weft does with --activations int8. It runs with a slot per client,
continuous batching, flash attention and f16 caches, and without the cache of prompts in memory, which costs time and
which these requests cannot use. A ratio above 1 means that Weft generates more tokens per second, or needs less time.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from load import measure, median, percentile, requests


class Server:
    def __init__(self, name, command, port=None):
        self.name = name
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT,
                                        env={**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path(command[0]).parent)})
        self.port = port
        self.wait()

    def text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} ended with exit code {self.process.returncode}:\n{self.text()}")
            found = re.search(r"http://[\w.]+:(\d+)", self.text())
            self.port = self.port or found and int(found[1])
            if self.port:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5)
                    return
                except (urllib.error.URLError, ConnectionError):
                    pass
            time.sleep(0.2)
        raise SystemExit(f"{self.name} does not answer:\n{self.text()}")

    def memory(self):
        """Returns the resident memory in MiB: all of it, and without files that are mapped."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return [int(re.search(rf"{key}:\s+(\d+)", status)[1]) // 1024 for key in ("VmRSS", "RssAnon")]

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def compare(servers, args, concurrency):
    rounds = {server: [] for server in servers}
    for number in range(args.rounds + 1):
        outputs = args.outputs if number > 0 else [2, 4]
        work = requests(1000 * concurrency + number, concurrency * args.requests, args.prompts, outputs, args.vocabulary)
        for server in servers if number % 2 else servers[::-1]:
            rounds[server].append(measure(server.port, work, concurrency))
    print(f"\nconcurrency {concurrency}: {args.rounds} rounds of {concurrency * args.requests} requests")
    figures = []
    for server in servers:
        counted = rounds[server][1:]
        first = [t for m in counted for t in m.first]
        figures.append((median(m.rate for m in counted), median(first), percentile(first, 95),
                        median([t for m in counted for t in m.gaps])))
        print("  {:<10} {:7.1f} tokens/s, first token median {:6.0f} ms, p95 {:6.0f} ms, between tokens {:5.1f} ms"
              .format(server.name, figures[-1][0], *(1000 * t for t in figures[-1][1:])))
    own, peer = figures
    pairs = [a.rate / b.rate for a, b in zip(*(rounds[server][1:] for server in servers))]
    print(f"  ratios     tokens/s {median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f}), first token median "
          f"{peer[1] / own[1]:.2f}, p95 {peer[2] / own[2]:.2f}, between tokens {peer[3] / own[3]:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("own", help="the model for weft serve")
    parser.add_argument("gguf", help="the model for llama-server")
    parser.add_argument("--weft", default="build/weft")
    parser.add_argument("--peer", default="llama-server")
    parser.add_argument("--peer-port", type=int, default=18481)
    parser.add_argument("--concurrency", nargs="+", type=int, default=[1, 4, 16])
    for name, default in [("rounds", 5), ("requests", 2), ("threads", 2), ("context", 1024), ("vocabulary", 32000)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--prompts", nargs=2, type=int, default=[32, 256], help="least and largest number of tokens")
    parser.add_argument("--outputs", nargs=2, type=int, default=[32, 96], help="least and largest number of tokens")
    parser.add_argument("--own-options", default="")
    parser.add_argument("--peer-options", default="")
    args = parser.parse_args()
    if shutil.which(args.peer) is None:
        print(f"compare_servers: skipped, because {args.peer} is missing")
        return
    slots = max(args.concurrency)
    servers = []
    try:
        servers.append(Server("Weft", [args.weft, "serve", f"model={args.own}", "--port", "0", "--threads",
                                       str(args.threads), "--slots", str(slots), "--context", str(args.context),
                                       *shlex.split(args.own_options)]))
        servers.append(Server("llama.cpp", [args.peer, "-m", args.gguf, "--host", "127.0.0.1", "--port",
                                            str(args.peer_port), "-t", str(args.threads), "-np", str(slots), "-c",
                                            str(slots * args.context), "-fa", "on", "--cache-ram", "0", "--no-webui",
                                            *shlex.split(args.peer_options)], args.peer_port))
        for concurrency in args.concurrency:
            compare(servers, args, concurrency)
        for server in servers:
            resident, anonymous = server.memory()
            print(f"{server.name}: {resident} MiB resident, {anonymous} MiB without mapped files")
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main()
