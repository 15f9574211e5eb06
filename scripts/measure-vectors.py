#!/usr/bin/env python3
"""Measure vectors over HTTP: load, disk, memory, search with and without filters, one more document.

usage: scripts/measure-vectors.py LAMINA [--count 100000] [--dimensions 128] [--queries 100] [--saved FILE | --random]
           [--memory-share 0.1]     (needs numpy)
Starts the server LAMINA (a release build) on a folder of its own, twice: with vectors in full and with one bit a dimension. Vectors
stand around 64 centres (--random: nowhere) and have the length 1; FILE has them and behind them the queries instead, as
`benches/src/bin/neighbours.rs` reads them. Documents have a number, of which a filter keeps 10 %, 1 % or 0.1 %. Recall is of the ten
nearest, against all vectors compared here. Times are the client's, one connection. With --memory-share the searches come once more,
from a server inside a memory limit of that share of the raw numbers (as root).
"""
import argparse, http.client, importlib, json, os, pathlib, re, socket, subprocess, tempfile, time

import numpy

HIT_COUNT = 10
# Documents of one request.
BATCH = 10_000


def vectors(count, dimensions, random=False):
    """Rows with five digits behind the point, as they are sent. Others of another count."""
    centres = numpy.random.default_rng(7).normal(size=(64, dimensions)) * (0 if random else 1)
    rng = numpy.random.default_rng(count)
    rows = numpy.empty((count, dimensions), dtype=numpy.float32)
    for start in range(0, count, BATCH):
        some = centres[rng.integers(64, size=min(BATCH, count - start))]
        some = some + rng.normal(scale=0.6, size=some.shape)
        rows[start : start + BATCH] = (some / numpy.linalg.norm(some, axis=1, keepdims=True)).round(5)
    return rows


def written(row):
    return [round(float(x), 5) for x in row]


def document(number, row):
    return {"id": number, "share": number * 7919 % 1000, "_vectors": {"mine": written(row)}}


class Server:
    def __init__(self, binary, folder, group=None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["--db-path", str(folder), "--http-addr", f"127.0.0.1:{self.port}"]
        enter = group.enter if group else None
        self.process = subprocess.Popen([binary, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=enter)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        while True:
            try:
                self.call("GET", "/health")
                return
            except ConnectionError:
                self.connection.close()
                assert self.process.poll() is None, "the server did not start"
                time.sleep(0.02)

    def call(self, method, path, body=None, kind="application/json"):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body)
        self.connection.request(method, path, body, {"Content-Type": kind})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status < 300, (method, path, answer.status, text[:500])
        return json.loads(text or b"null")

    def status(self, name):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1024

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def percentile(times, share):
    return sorted(times)[min(int(len(times) * share), len(times) - 1)] * 1e3


def nearest(all_vectors, numbers, query):
    """The nearest of those numbers, or of all."""
    products = all_vectors @ query if numbers is None else all_vectors[numbers] @ query
    best = numpy.argpartition(-products, HIT_COUNT)[:HIT_COUNT]
    return set((best if numbers is None else numbers[best]).tolist())


def section_bytes(binary, folder):
    """Bytes of the index by section, all segments together."""
    asked = [binary, "inspect", "--db-path", str(folder), "--index", "v"]
    text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    sizes, units = {}, {"bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    for name, size, unit in re.findall(r"^ +(\S.*?) {2,}([0-9.]+) (bytes|B|KiB|MiB|GiB)$", text, re.M):
        sizes[name] = sizes.get(name, 0) + float(size) * units[unit]
    return sizes


def search(server, queries, others, all_vectors, binary_quantized):
    """Searches among all and under filters, and says what that took and found."""
    every = numpy.arange(len(all_vectors))
    numbers = {"all": None} | {f"{share / 10:g} %": every[every * 7919 % 1000 < share] for share in (100, 10, 1)}
    for name, among in numbers.items():
        asked = queries if name == "all" else queries[: len(queries) // 2]
        times, found = [], 0
        for query in [*others, *asked]:
            body = {"vector": written(query), "hybrid": {"embedder": "mine", "semanticRatio": 1}, "limit": HIT_COUNT, "attributesToRetrieve": ["id"]}
            if name != "all":
                body["filter"] = f"share < {float(name.split()[0]) * 10:g}"
            begin = time.perf_counter()
            hits = server.call("POST", "/indexes/v/search", body)["hits"]
            times.append(time.perf_counter() - begin)
            if not binary_quantized and len(times) > len(others):
                found += len({hit["id"] for hit in hits} & nearest(all_vectors, among, query))
        times = times[len(others) :]
        recall = "" if binary_quantized else f", recall@10 {found / (HIT_COUNT * len(asked)):.4f}"
        print(f"search among {name}: p50 {percentile(times, 0.5):.2f} ms, p99 {percentile(times, 0.99):.2f} ms{recall}", flush=True)


def measure(binary, count, queries, others, all_vectors, binary_quantized, memory_share):
    dimensions = all_vectors.shape[1]
    raw = count * dimensions * 4
    print(f"\n{count:,} x {dimensions}" + (", one bit a dimension" if binary_quantized else ""), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder) / "data"
        server = Server(binary, folder)
        settings = {
            "embedders": {"mine": {"source": "userProvided", "dimensions": dimensions, "binaryQuantized": binary_quantized}},
            "filterableAttributes": ["share"],
        }
        server.call("PATCH", "/indexes/v/settings?wait=searchable", settings)
        bodies = []
        for start in range(0, count, BATCH):
            lines = (json.dumps(document(n, all_vectors[n])) for n in range(start, min(start + BATCH, count)))
            bodies.append("\n".join(lines).encode())
        # Meanwhile the server has closed a connection that said nothing for a minute.
        server.connection.close()
        print("loading", flush=True)
        start = time.perf_counter()
        tasks = [server.call("POST", "/indexes/v/documents", body, "application/x-ndjson")["taskUid"] for body in bodies]
        while server.call("GET", f"/tasks/{tasks[-1]}")["status"] not in ("succeeded", "failed"):
            time.sleep(0.01)
        took = time.perf_counter() - start
        assert server.call("GET", "/indexes/v/stats")["numberOfDocuments"] == count
        print(f"load: {count / took:,.0f} documents/s ({took:.1f} s, {server.cpu_seconds():.1f} CPU s), peak memory {server.status('VmHWM'):.0f} MB")
        del bodies
        # Merges go on for a while after the load.
        quiet, before = 0, server.cpu_seconds()
        while quiet < 4:
            time.sleep(0.5)
            now = server.cpu_seconds()
            quiet, before = (quiet + 1 if now - before < 0.05 else 0), now
        search(server, queries, others, all_vectors, binary_quantized)
        if memory_share:
            server.stop()
            megabytes = max(1, int(raw * memory_share / (1 << 20)))
            group = importlib.import_module("hostile-requests").Group(megabytes)
            assert group.path, "a limit needs root and control groups"
            print(f"inside a limit of {megabytes} MiB", flush=True)
            server = Server(binary, folder, group)
            search(server, queries, others, all_vectors, binary_quantized)
            print(f"heap and stacks after that: {server.status('RssAnon'):.0f} MB")
            server.stop()
            group.remove()
            server = Server(binary, folder)
        times = []
        for extra in range(50):
            body = json.dumps(document(count + extra, queries[extra % len(queries)])).encode()
            begin = time.perf_counter()
            server.call("POST", "/indexes/v/documents?wait=searchable", body, "application/x-ndjson")
            times.append(time.perf_counter() - begin)
            body = {"vector": written(queries[extra % len(queries)]), "hybrid": {"embedder": "mine", "semanticRatio": 1}, "limit": 1}
            assert extra >= len(queries) or server.call("POST", "/indexes/v/search", body)["hits"][0]["id"] == count + extra or binary_quantized
        print(f"one more document, sent to searchable: p50 {percentile(times, 0.5):.1f} ms, p99 {percentile(times, 0.99):.1f} ms")
        print(f"heap and stacks after that: {server.status('RssAnon'):.0f} MB")
        server.stop()
        total = sum(file.stat().st_size for file in (folder / "indexes").rglob("*") if file.is_file())
        print(f"disk: {total / 1e6:.1f} MB for documents and vectors, {total / raw:.3f} of the raw f32")
        sizes = section_bytes(binary, folder)
        of_vectors = sum(size for name, size in sizes.items() if "vector" in name)
        print(f"vectors and what finds them: {of_vectors / 1e6:.1f} MB, {of_vectors / raw:.3f} of the raw f32", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lamina")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--saved", help="a file of vectors and, behind them, queries")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--memory-share", type=float)
    asked = parser.parse_args()
    if asked.saved:
        rows = numpy.fromfile(asked.saved, dtype="<f4").reshape(-1, asked.dimensions).round(5)
        made, queries = rows[: asked.count], rows[asked.count : asked.count + asked.queries]
        others = rows[asked.count + asked.queries :][: 3 * asked.queries]
    else:
        made = vectors(asked.count, asked.dimensions, asked.random)
        queries = vectors(asked.queries, asked.dimensions, asked.random)
        # Asked before, and not counted: what is searched most is mapped then.
        others = vectors(3 * asked.queries + 1, asked.dimensions, asked.random)
    for binary_quantized in (False, True):
        measure(asked.lamina, len(made), queries, others, made, binary_quantized, asked.memory_share)


main()
