#!/usr/bin/env python3
"""Many writers of single documents: how many tasks a second are accepted, and how soon what was accepted is found.

usage: small-writes.py BINARY [--writers 64] [--seconds 10] [--p50-ms N] [--option ...]

Starts a server in a new folder. Each writer has a connection of its own and waits for its `202`, nothing else. Samples of
what was accepted are asked for until they are there; the end of every task is taken from `/tasks`. With `--p50-ms` the exit
status is 1 when half of the samples were found later than that.
"""
import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time

from connection import Connection

PROCESSES = 2
SAMPLE_EVERY = 40


def document(key, words):
    """A document of `words` words of a vocabulary of 20,000, the frequent ones more often."""
    text = " ".join(f"w{int(20_000 * random.random() ** 3)}" for _ in range(words))
    return json.dumps([{"id": key, "title": f"document {key}", "text": text, "year": random.randrange(1950, 2030)}]).encode()


def write(port, number, end, words, results):
    """One writer; puts (status, accepted at, id) of each request."""
    connection, count, own = Connection(port), 0, []
    while time.time() < end:
        key = f"{number}-{count}"
        began = time.time()
        status, _ = connection.ask("POST", "/indexes/load/documents", document(key, words))
        own.append((status, began, time.time(), key))
        count += 1
    results.extend(own)


def probe(port, end, samples, delays):
    """Asks for samples until they are there."""
    connection = Connection(port)
    while time.time() < end + 60:
        if not samples:
            if time.time() > end + 1:
                return
            time.sleep(0.001)
            continue
        at, key = samples.pop(0)
        while connection.ask("GET", f"/indexes/load/documents/{key}")[0] != 200:
            time.sleep(0.002)
            if time.time() > end + 60:
                return
        delays.append(time.time() - at)


def process(port, first, count, end, words, queue):
    results, samples, delays = [], [], []
    writers = [threading.Thread(target=write, args=(port, first + i, end, words, results)) for i in range(count)]
    sampler = threading.Thread(target=sample, args=(port, first, end, samples))
    probes = [threading.Thread(target=probe, args=(port, end, samples, delays)) for _ in range(4)]
    for thread in [*writers, sampler, *probes]:
        thread.start()
    for thread in [*writers, sampler, *probes]:
        thread.join()
    queue.put(([(status, end - began) for status, began, end, _ in results], delays))


def sample(port, number, end, samples):
    """A writer whose documents are looked for, beside the others: one every now and then."""
    connection, count = Connection(port), 0
    while time.time() < end:
        key = f"sample-{number}-{count}"
        status, _ = connection.ask("POST", "/indexes/load/documents", json.dumps([{"id": key, "title": "sample"}]).encode())
        if status == 202:
            samples.append((time.time(), key))
        count += 1
        time.sleep(SAMPLE_EVERY / 1000)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--words", type=int, default=60, help="words of each document")
    parser.add_argument("--p50-ms", type=float)
    parser.add_argument("--option", action="append", default=[])
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="lamina-load-")
    log = open(os.path.join(folder, "log"), "w+")
    command = [args.binary, "--db-path", os.path.join(folder, "db"), "--http-addr", "127.0.0.1:0", "--no-analytics", *args.option]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=log)
    try:
        port = listening(log.name, server)
        report(port, args)
    finally:
        server.terminate()
        server.wait(60)
        log.seek(0)
        lines = log.read().splitlines()
        print("batches:", sum("batch finished" in line for line in lines))
        print("warnings:", [line[-160:] for line in lines if " WARN " in line or " ERROR " in line][-3:])
        shutil.rmtree(folder, ignore_errors=True)


def listening(path, server):
    for _ in range(3000):
        found = re.search(r"^Listening on +http://127.0.0.1:(\d+)", open(path).read(), re.M)
        if found:
            return int(found.group(1))
        if server.poll() is not None:
            break
        time.sleep(0.01)
    raise SystemExit("the server does not start: " + open(path).read()[-2000:])


def report(port, args):
    connection = Connection(port)
    connection.ask("POST", "/indexes", b'{"uid":"load","primaryKey":"id"}')
    time.sleep(0.5)
    end, queue = time.time() + args.seconds, multiprocessing.Queue()
    share = [args.writers // PROCESSES + (i < args.writers % PROCESSES) for i in range(PROCESSES)]
    workers = [multiprocessing.Process(target=process, args=(port, 1000 * i, count, end, args.words, queue)) for i, count in enumerate(share) if count]
    for worker in workers:
        worker.start()
    answers, delays = [], []
    for _ in workers:
        some, found = queue.get(timeout=args.seconds + 120)
        answers += some
        delays += found
    for worker in workers:
        worker.join()
    statuses = {}
    for status, _ in answers:
        statuses[status] = statuses.get(status, 0) + 1
    print(f"accepted: {statuses.get(202, 0) / args.seconds:.0f} tasks/s, statuses {statuses}")
    times = [seconds for _, seconds in answers]
    print(f"answer:   p50 {quantile(times, 0.5) * 1e3:.1f} ms, p99 {quantile(times, 0.99) * 1e3:.1f} ms")
    p50 = quantile(delays, 0.5) * 1e3
    print(f"found:    p50 {p50:.1f} ms, p99 {quantile(delays, 0.99) * 1e3:.1f} ms after the 202, of {len(delays)} samples")
    if args.p50_ms and not p50 <= args.p50_ms:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
