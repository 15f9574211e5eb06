#!/usr/bin/env python3
"""How slow the slowest searches are while the server writes, merges and takes a snapshot: one writer, four clients, every kind of search.

usage: tails.py BINARY HTTP_LOAD CORPUS.ndjson [--seconds 120] [--rate 1000] [--picture NAME] [--each FILE]

Loads the corpus (catalogue documents), then replaces RATE documents a second, in batches of a tenth of a second, while `http_load` of benches/
asks from four connections and nothing is cached. A snapshot is asked for after a third of the time. Prints, for each kind of search, the median, the 99th
percentile and their ratio; `--picture` draws the percentiles of each second into docs/pictures/NAME.svg and NAME-dark.svg.
"""
import argparse
import collections
import http.client
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent
PICTURES = ROOT.parent / "docs/pictures"
SETTINGS = {
    "searchableAttributes": ["title", "brand", "author", "category", "description", "sku"],
    "filterableAttributes": ["category", "tags", "brand", "price", "rating", "in_stock", "released", "_geo"],
    "sortableAttributes": ["price", "rating", "released", "reviews", "_geo"],
}
CHUNK_BYTES = 90_000_000
COLOURS = {
    "": {"text": "#1c2024", "faint": "#60676f", "grid": "#dfe3e7", "lines": ["#0f8a7e", "#c98a1b", "#c2413a"]},
    "-dark": {"text": "#e4e7ea", "faint": "#9aa2ab", "grid": "#343b42", "lines": ["#35b8aa", "#e0ab4a", "#ef7b74"]},
}
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Client:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=3600)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body, {"Content-Type": "application/x-ndjson" if "/documents" in path else "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status < 300, text
        return json.loads(text)

    def wait(self, task):
        while (task := self.ask("GET", f"/tasks/{task.get('taskUid', task.get('uid'))}"))["status"] in ("enqueued", "processing"):
            time.sleep(0.02)
        assert task["status"] == "succeeded", task


def load(client, corpus):
    client.wait(client.ask("PATCH", "/indexes/bench/settings", json.dumps(SETTINGS)))
    with open(corpus, "rb") as lines:
        while chunk := lines.read(CHUNK_BYTES):
            client.wait(client.ask("POST", "/indexes/bench/documents?primaryKey=id", chunk + lines.readline()))


def write(address, lines, rate, is_over, written):
    """Sends a tenth of the rate ten times a second. A batch that is late does not make the next ones late."""
    client, rng, start = Client(address), random.Random(3), time.monotonic()
    for number in itertools.count():
        if is_over.wait(max(0, start + number / 10 - time.monotonic())):
            return
        written.append((time.monotonic(), client.ask("POST", "/indexes/bench/documents", b"".join(rng.choices(lines, k=rate // 10)))))


def at(latencies, share):
    ordered = sorted(latencies)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def draw(seconds, snapshot, colours):
    """A line for each percentile, by the second; the time in which a snapshot was made is shaded."""
    width, height, left, top, bottom = 860, 260, 46, 34, 34
    high = max(percentiles["p99"] for percentiles in seconds.values())
    scale = next(step for step in (5, 10, 20, 50, 100, 200, 500, 1000, 5000) if step >= high)
    x = lambda second: round(left + (width - left - 10) * second / max(seconds), 1)
    y = lambda value: round(height - bottom - (height - top - bottom) * value / scale, 1)
    parts = [f'<rect x="{x(snapshot[0])}" y="{top}" width="{max(2, x(snapshot[1]) - x(snapshot[0]))}" height="{height - top - bottom}" fill="{colours["grid"]}"/>',
             f'<text x="{x(snapshot[0])}" y="{top - 6}" class="faint">snapshot</text>']
    for share in range(5):
        value = scale * share / 4
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(value)}" y2="{y(value)}" stroke="{colours["grid"]}"/>')
        parts.append(f'<text x="{left - 8}" y="{y(value) + 4}" text-anchor="end" class="faint">{value:g}</text>')
    for second in range(0, max(seconds) + 1, max(1, max(seconds) // 6)):
        parts.append(f'<text x="{x(second)}" y="{height - 12}" text-anchor="middle" class="faint">{second} s</text>')
    for number, (name, colour) in enumerate(zip(SHARES, colours["lines"])):
        points = " ".join(f"{x(second)},{y(min(scale, of[name]))}" for second, of in sorted(seconds.items()))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts.append(f'<text x="{width - 190 + 60 * number}" y="16" style="fill:{colour}" font-weight="600">{name}</text>')
    parts.append(f'<text x="{left}" y="16">Milliseconds of a search</text>')
    style = f'text{{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:{colours["text"]}}}.faint{{fill:{colours["faint"]};font-size:12px}}'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">\n'
            f"<title>Percentiles of search latency over time, beside a writer and a snapshot</title>\n<style>{style}</style>\n" + "\n".join(parts) + "\n</svg>\n")


def serve(binary, folder):
    server = subprocess.Popen([binary, "--db-path", f"{folder}/db", "--snapshot-dir", f"{folder}/snapshots", "--http-addr", "127.0.0.1:0",
                               "--no-analytics", "--answer-cache-size", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in server.stdout:
        if line.startswith("Listening on"):
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return server, line.split("//")[1].strip()
    sys.exit("the server did not start")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("binary", "http_load", "corpus"):
        options.add_argument(name)
    options.add_argument("--seconds", type=int, default=120)
    options.add_argument("--rate", type=int, default=1000, help="documents a second")
    options.add_argument("--picture")
    options.add_argument("--each", help="keep the lines of http_load here")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server, address = serve(options.binary, folder)
        try:
            measure(options, address, folder)
        finally:
            server.terminate()
            server.wait()


def measure(options, address, folder):
    client = Client(address)
    load(client, options.corpus)
    with open(options.corpus, "rb") as corpus:
        lines = list(itertools.islice(corpus, 50_000))
    requests, each = f"{folder}/requests.ndjson", options.each or f"{folder}/each"
    with open(requests, "wb") as file:
        made = subprocess.run([ROOT / "make-requests.py", options.corpus, "--count", "300"], stdout=subprocess.PIPE, check=True).stdout
        mixed = made.splitlines(keepends=True)
        random.Random(9).shuffle(mixed)
        file.writelines(mixed)
    is_over, written = threading.Event(), []
    writer = threading.Thread(target=write, args=(address, lines, options.rate, is_over, written))
    begun = time.monotonic()
    searches = subprocess.Popen([options.http_load, address, "none", requests, "--connections", "4", "--seconds", str(options.seconds), "--each", each], stdout=subprocess.DEVNULL)
    writer.start()
    time.sleep(options.seconds / 3)
    snapshot = time.monotonic() - begun
    client.wait(client.ask("POST", "/snapshots"))
    snapshot = (snapshot, time.monotonic() - begun)
    assert searches.wait() == 0
    is_over.set()
    writer.join()
    client.wait(written[-1][1])
    report(options, each, snapshot, len(written) * (options.rate // 10))


def report(options, each, snapshot, written):
    by_kind, by_second = collections.defaultdict(list), collections.defaultdict(list)
    with open(each) as lines:
        for asked, kind, latency in (line.split() for line in lines):
            by_kind[kind].append(float(latency))
            by_second[int(float(asked) / 1000)].append(float(latency))
    print(f"{'kind':20} {'count':>7} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>6}")
    for kind, latencies in sorted(by_kind.items()):
        median, high = statistics.median(latencies), at(latencies, 0.99)
        print(f"{kind:20} {len(latencies):7} {median:8.2f} {high:8.2f} {high / median:6.1f}")
    total = sum(map(len, by_kind.values()))
    print(f"{total / options.seconds:.0f} searches a second beside {written / options.seconds:.0f} documents; snapshot from {snapshot[0]:.1f} s to {snapshot[1]:.1f} s")
    if options.picture:
        seconds = {second: {name: at(latencies, share) for name, share in SHARES.items()} for second, latencies in by_second.items() if second < options.seconds}
        for suffix, colours in COLOURS.items():
            (PICTURES / f"{options.picture}{suffix}.svg").write_text(draw(seconds, snapshot, colours))


main()
