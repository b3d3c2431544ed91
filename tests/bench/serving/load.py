"""Sends streamed completion requests to an OpenAI-compatible server and measures them (standard library only)."""
import asyncio
import dataclasses
import json
import random
import statistics
import time


@dataclasses.dataclass
class Request:
    prompt: list  # ids
    max_tokens: int


@dataclasses.dataclass
class Measurement:
    seconds: float  # from the first byte sent to the last byte received
    tokens: int  # generated
    prompt_tokens: int
    first: list  # seconds to the first token, one per request
    gaps: list  # mean seconds between the tokens of a request, one per request

    @property
    def rate(self):
        return self.tokens / self.seconds


def requests(seed, count, prompts, outputs, vocabulary):
    """Returns requests with random ids. `prompts` and `outputs` are the least and largest numbers of tokens."""
    source = random.Random(seed)
    return [Request([source.randrange(300, vocabulary) for _ in range(source.randint(*prompts))],
                    source.randint(*outputs)) for _ in range(count)]


async def read_events(reader):
    """Yields the data of server-sent events in a response with chunked encoding."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = head.split(b" ", 2)[1]
    chunked = b"chunked" in head.lower()
    text = b""
    while True:
        if chunked:
            size = int(await reader.readuntil(b"\r\n"), 16)
            text += (await reader.readexactly(size + 2))[:size]
        else:
            size = len(data := await reader.read(65536))
            text += data
        if status != b"200" and (size == 0 or not chunked):
            raise SystemExit(f"the server answered {head.decode()}{text.decode()}")
        *lines, text = text.split(b"\n")
        for line in lines:
            if line.startswith(b"data: "):
                yield line[6:].strip()
        if size == 0:
            return


async def complete(port, request, end_ids, answers):
    body = json.dumps({"model": "model", "prompt": request.prompt, "max_tokens": request.max_tokens, "temperature": 0,
                       "stream": True, "stream_options": {"include_usage": True},
                       "logit_bias": {str(end): -100 for end in end_ids}}).encode()
    start = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                 b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    first = last = usage = None
    async for data in read_events(reader):
        if data == b"[DONE]":
            break
        event = json.loads(data)
        if "error" in event:
            raise SystemExit(f"the server sent {data.decode()}")
        if event.get("choices"):
            last = time.perf_counter()
            first = first or last
        usage = event.get("usage") or usage
    writer.close()
    if usage is None or usage["completion_tokens"] != request.max_tokens:
        raise SystemExit(f"expected {request.max_tokens} tokens, but the usage is {usage}")
    answers.append((first - start, (last - first) / max(1, request.max_tokens - 1), usage))


def measure(port, work, concurrency, end_ids=(2,)):
    """Sends `work` from `concurrency` clients; each sends its next request when the last one has ended."""
    async def run():
        waiting, answers = list(work), []

        async def client():
            while waiting:
                await complete(port, waiting.pop(0), end_ids, answers)

        start = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(concurrency)))
        return time.perf_counter() - start, answers

    seconds, answers = asyncio.run(run())
    first, gaps, usages = zip(*answers)
    return Measurement(seconds, sum(u["completion_tokens"] for u in usages),
                       sum(u["prompt_tokens"] for u in usages), list(first), list(gaps))


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def median(values):
    return statistics.median(values)
