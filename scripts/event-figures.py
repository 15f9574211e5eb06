#!/usr/bin/env python3
"""Events a second into a server, and what they cost the searches beside them.

usage: event-figures.py BINARY [--rate 20000] [--seconds 10] [--option ...]

Starts a server in a new folder with 20,000 documents, measures searches alone (recording off, then on), then events alone as fast as
they are taken, then events at the rate beside searches. Says at the end how long the figures of all of it take. One machine does
everything: the client takes its part of the cores.
"""
import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time
import uuid

from connection import Connection

BATCH = 500
DOCUMENTS = 20_000


def batches(count):
    """Bodies of events, made before the clock starts."""
    made = []
    for _ in range(count):
        events = [
            {
                "eventType": random.choice(["click", "click", "view", "conversion"]),
                "eventName": "Hit Clicked",
                "indexUid": "films",
                "userId": f"user-{random.randrange(100_000)}@example.org",
                "queryUid": str(uuid.uuid4()),
                "objectId": str(random.randrange(DOCUMENTS)),
                "position": random.randrange(20),
            }
            for _ in range(BATCH)
        ]
        made.append(json.dumps(events).encode())
    return made


def send(port, rate, seconds, results):
    """Sends events, at a rate if there is one. Puts how many were taken and refused, and how long it took."""
    bodies = batches(int((rate or 60_000) * seconds / BATCH) + 1)
    results.put("ready")
    connection, taken, refused, began = Connection(port), 0, 0, time.time()
    for number, body in enumerate(bodies):
        due = began + number * BATCH / rate if rate else 0
        if due > time.time():
            time.sleep(due - time.time())
        if time.time() > began + seconds:
            break
        status, _ = connection.ask("POST", "/events", body)
        taken, refused = taken + (status == 201) * BATCH, refused + (status != 201) * BATCH
    results.put((taken, refused, time.time() - began))


def search(connection, seconds, user=None):
    """Milliseconds of searches one after the other, at most 200 a second."""
    words, took, end = [f"w{number}" for number in range(2000)], [], time.time() + seconds
    headers = f"X-MS-USER-ID: {user}\r\n" if user else ""
    while time.time() < end:
        body = json.dumps({"q": " ".join(random.sample(words, 2)), "limit": 10}).encode()
        began = time.perf_counter()
        connection.ask("POST", "/indexes/films/search", body, headers)
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(max(0, 0.005 - (time.perf_counter() - began)))
    return took


def shown(name, took):
    p99 = statistics.quantiles(took, n=100)[98]
    print(f"{name}: p50 {statistics.median(took):.3f} ms, p99 {p99:.3f} ms, {len(took)} searches", flush=True)


def finished(connection, answer):
    task = json.loads(answer[1])["taskUid"]
    while True:
        state = json.loads(connection.ask("GET", f"/tasks/{task}")[1])
        if state["status"] in ("succeeded", "failed"):
            assert state["status"] == "succeeded", state
            return
        time.sleep(0.05)


def fill(connection):
    text = lambda: " ".join(f"w{int(2000 * random.random() ** 2)}" for _ in range(20))
    documents = [{"id": number, "text": text()} for number in range(DOCUMENTS)]
    finished(connection, connection.ask("POST", "/indexes/films/documents", json.dumps(documents).encode()))


def record(connection, is_on):
    finished(connection, connection.ask("PATCH", "/indexes/films/settings", json.dumps({"analytics": {"searches": is_on}}).encode()))


def measure(port, rate, seconds):
    connection, results = Connection(port), multiprocessing.Queue()
    fill(connection)
    search(connection, 2)
    for _ in range(2):
        record(connection, False)
        shown("searches alone", search(connection, seconds))
        record(connection, True)
        shown("searches, recorded", search(connection, seconds, "a"))
    record(connection, False)
    for name, wanted in [("events alone, as fast as they are taken", None), (f"events, {rate:,} a second", rate)]:
        sender = multiprocessing.Process(target=send, args=(port, wanted, seconds, results))
        sender.start()
        results.get()
        took = search(connection, seconds) if wanted else []
        taken, refused, time_taken = results.get()
        sender.join()
        print(f"{name}: {taken / time_taken:,.0f} a second taken, {refused} refused", flush=True)
        if took:
            shown("searches beside them", took)
    time.sleep(2)
    for path in ["/analytics/films", "/analytics/films?interval=hour", "/analytics/films/queries"]:
        began = time.perf_counter()
        status, answer = connection.ask("GET", path)
        print(f"GET {path}: {status}, {(time.perf_counter() - began) * 1000:.0f} ms", flush=True)
        if path == "/analytics/films":
            print(answer.decode())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=10)
    arguments, options = parser.parse_known_args()
    folder = tempfile.mkdtemp()
    command = [os.path.abspath(arguments.binary), "serve", "--db-path", f"{folder}/db", "--http-addr", "127.0.0.1:0", *options]
    with open(f"{folder}/log", "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        port = None
        while not port:
            time.sleep(0.1)
            assert server.poll() is None, open(f"{folder}/log").read()
            found = re.search(r"Listening on +http://[^:]*:(\d+)", open(f"{folder}/log").read())
            port = found and int(found[1])
        measure(port, arguments.rate, arguments.seconds)
        size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(f"{folder}/db/events") for name in names)
        print(f"the store takes {size / 1e6:.0f} MB")
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
