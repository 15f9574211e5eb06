#!/usr/bin/env python3
"""Measure usearch on the vectors and queries that the bench `neighbours` has saved: building, searching, size, memory.

usage: benches/compare-usearch.py FILE DOCUMENTS DIMENSIONS [--threads 2] [--graph GRAPH]     (needs usearch and numpy)

One thread searches, one query after the other, each the best of five passes, as `neighbours` does it; recall is of the ten
nearest, against a comparison with all vectors. The expansion is doubled until recall is 0.99. This package has no filters: what
a filter costs a graph is shown by asking for so many more that ten are left. GRAPH is read if it is there, else built and saved, so
that searches can be measured again without the hour that a million takes.
"""
import argparse, os, statistics, tempfile, time

import numpy
import usearch
from usearch.index import Index

WANTED = 10
PASSES = 5


def exact(vectors, numbers, queries):
    """The nearest to each query among the vectors of these numbers."""
    found = [[] for _ in queries]
    for start in range(0, len(numbers), 100_000):
        some = numbers[start : start + 100_000]
        products = queries @ vectors[some].T
        for best, row in zip(found, products):
            best.extend((-row[place], some[place]) for place in numpy.argpartition(-row, WANTED)[:WANTED])
    return [{number for _, number in sorted(best)[:WANTED]} for best in found]


def measure(index, queries, nearest, keeps):
    asked = WANTED if keeps == 1 else WANTED * keeps * 2
    times, results = [float("inf")] * len(queries), [None] * len(queries)
    for _ in range(PASSES):
        for place, query in enumerate(queries):
            start = time.perf_counter()
            keys = index.search(query, asked, exact=False).keys
            results[place] = keys[keys % keeps == 3 % keeps][:WANTED]
            times[place] = min(times[place], time.perf_counter() - start)
    recall = sum(len(nearest[place] & set(keys.tolist())) for place, keys in enumerate(results)) / (WANTED * len(queries))
    times.sort()
    return recall, statistics.median(times) * 1e3, times[int(len(times) * 0.99)] * 1e3


def build(index, vectors, threads):
    start, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(vectors), 10_000):
        index.add(numpy.arange(first, min(first + 10_000, len(vectors))), vectors[first : first + 10_000], threads=threads)
        took, used = time.perf_counter() - start, time.process_time() - cpu
        print(f"\r{len(index):,} vectors in {took:,.0f} s", end="", flush=True)
    print(f"\rbuilt: {len(vectors) / took:,.0f} vectors/s, {len(vectors) / used:,.0f} per second of processor time", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("documents", type=int)
    parser.add_argument("dimensions", type=int)
    parser.add_argument("--threads", type=int, default=2, help="that build")
    parser.add_argument("--graph", help="where it is kept")
    asked = parser.parse_args()
    rows = numpy.fromfile(asked.file, dtype="<f4").reshape(-1, asked.dimensions)
    vectors, queries = rows[: asked.documents], rows[asked.documents :]
    index = Index(ndim=asked.dimensions, metric="cos", dtype="f32", connectivity=16, expansion_add=128)
    print(f"usearch {usearch.__version__}, {index.hardware_acceleration}, {asked.documents:,} x {asked.dimensions}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        graph = asked.graph or os.path.join(folder, "graph")
        if os.path.exists(graph):
            index.load(graph)
        else:
            build(index, vectors, asked.threads)
            index.save(graph)
        size = os.path.getsize(graph)
    print(f"disk {size / vectors.nbytes:.2f} of the raw numbers; memory of the graph {index.memory_usage / 1e6:,.0f} MB", flush=True)
    every = numpy.arange(asked.documents)
    for keeps, name in [(1, "no filter"), (10, "a tenth"), (100, "a hundredth"), (1000, "a thousandth")]:
        nearest = exact(vectors, every[every % keeps == 3 % keeps], queries)
        expansion = 64
        while True:
            index.expansion_search = expansion
            recall, median, last = measure(index, queries, nearest, keeps)
            print(f"{name}, expansion {expansion}: recall@{WANTED} {recall:.4f}, p50 {median:.3f} ms, p99 {last:.3f} ms", flush=True)
            if recall >= 0.99 or expansion >= 4096:
                break
            expansion *= 2


main()
