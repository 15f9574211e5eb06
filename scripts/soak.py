#!/usr/bin/env python3
"""Writes, searches, changes settings, copies and restarts for a while, then checks that nothing acknowledged is lost.

usage: scripts/soak.py [--minutes 10] [--binary target/release/lamina] [--seed 1] [--kill-every 20]
Exit status 0: every invariant holds. The server of the test has a folder of its own, which is removed.
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

WORDS = "alder birch cedar dogwood elm fir ginkgo hazel ivy juniper kapok larch maple nutmeg oak pine".split()


class Gone(Exception):
    """The server does not answer: it is being restarted."""


class Server:
    def __init__(self, binary):
        self.binary, self.folder = binary, tempfile.mkdtemp(prefix="lamina-soak-")
        self.url = None
        self.process, self.starts, self.slowest_start = None, 0, 0.0

    def start(self):
        began = time.monotonic()
        path = os.path.join(self.folder, "log")
        earlier = os.path.getsize(path) if os.path.exists(path) else 0
        # It chooses its port itself, so that no other process can have it, and says which one when it is ready.
        with open(path, "a") as log:
            self.process = subprocess.Popen(
                [self.binary, "--db-path", "db", "--http-addr", "127.0.0.1:0", "--max-indexing-memory", "256 MB"],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
            )
        while True:
            with open(path) as log:
                log.seek(earlier)
                found = re.search(r"^Listening on +(\S+)\n", log.read(), re.MULTILINE)
            if found:
                self.url = found.group(1)
                break
            if self.process.poll() is not None or time.monotonic() - began > 300:
                raise SystemExit("the server does not start:\n" + self.log())
            time.sleep(0.02)
        self.starts += 1
        self.slowest_start = max(self.slowest_start, time.monotonic() - began)

    def stop(self, how):
        self.process.send_signal(how)
        self.process.wait(timeout=300)

    def log(self):
        with open(os.path.join(self.folder, "log")) as file:
            return "".join(file.readlines()[-40:])

    def resident_megabytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) // 1024

    def ask(self, method, path, body=None, timeout=60):
        """Status and JSON of an answer; 5xx other than a full queue is the end of the test."""
        request = urllib.request.Request(
            self.url + path, method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as answer:
            status, text = answer.code, answer.read()
        except (OSError, ConnectionError, EOFError) as error:
            raise Gone from error
        except Exception as error:  # An answer that was cut off is one of http.client's many exceptions.
            raise Gone from error
        value = json.loads(text) if text.strip() else None
        if status >= 500 and status != 503:
            failures.append(f"{method} {path}: {status} {value}")
        return status, value


failures = []
counts = collections.Counter()


class Writer(threading.Thread):
    """Writes to one index, in order, and knows what must come of it."""

    def __init__(self, server, index, seed, over):
        super().__init__(name=index)
        self.server, self.index, self.over = server, index, over
        self.random, self.number = random.Random(seed), 0
        self.model, self.tasks = {}, []

    def run(self):
        try:
            while not self.over.is_set():
                self.write()
        except Exception as error:
            failures.append(f"writer of {self.index}: {error!r}")

    def document(self, id):
        text = " ".join(self.random.choices(WORDS, k=self.random.randint(3, 60)))
        return {"id": id, "n": self.number, "kind": self.random.choice(WORDS), "text": f"{text} mark{self.number}"}

    def step(self):
        """Method, path, body, and what it does to the model."""
        self.number += 1
        base, model, choice = f"/indexes/{self.index}", self.model, self.random.random()
        if choice < 0.70:
            documents = [self.document(self.random.randrange(4000)) for _ in range(self.random.choice([1, 1, 5, 50, 400]))]
            return "POST", base + "/documents", documents, lambda: model.update((one["id"], one) for one in documents)
        if choice < 0.80:
            changes = [{"id": self.random.randrange(4000), "extra": self.number} for _ in range(20)]

            def merge():
                for change in changes:
                    model[change["id"]] = {**model.get(change["id"], {}), **change}

            return "PUT", base + "/documents", changes, merge
        if choice < 0.88:
            ids = [self.random.randrange(4000) for _ in range(30)]
            return "POST", base + "/documents/delete-batch", ids, lambda: [model.pop(id, None) for id in ids]
        if choice < 0.91:
            low = self.random.randrange(max(1, self.number))

            def delete():
                for id in [id for id, one in model.items() if isinstance(one.get("n"), int) and low <= one["n"] <= low + 3]:
                    del model[id]

            return "POST", base + "/documents/delete", {"filter": f"n {low} TO {low + 3}"}, delete
        if choice < 0.99:
            settings = self.random.choice([
                {"stopWords": [f"word{self.number}"]}, {"synonyms": {"tree": self.random.sample(WORDS, 2)}},
                {"sortableAttributes": self.random.sample(["n", "kind"], 1)},
                {"searchableAttributes": self.random.choice([["*"], ["text", "kind"]])},
                {"separatorTokens": self.random.choice([[], ["~"]])},
            ])
            return "PATCH", base + "/settings", settings, lambda: None
        return "POST", base + "/compact", None, lambda: None

    def write(self):
        method, path, body, effect = self.step()
        mark = f"{self.index}-{self.number}"
        # Compactions take no metadata, and do nothing that would be missed.
        notified = "" if path.endswith("/compact") or "/settings" in path else f"?customMetadata={mark}"
        try:
            status, answer = self.server.ask(method, path + mark_parameter, body)
            if status != 202:
                failures.append(f"{method} {path}: {status} {answer}")
                return
            self.tasks.append(answer["taskUid"])
            effect()
            counts["writes"] += 1
        except Gone:
            # Stored or not, but whole: what carries the mark is there.
            if mark_parameter and self.find(mark):
                effect()
                counts["writes without an answer"] += 1

    def find(self, mark):
        while True:
            try:
                _, page = self.server.ask("GET", f"/tasks?indexUids={self.index}&limit=20")
                return any(task.get("customMetadata") == mark for task in page["results"])
            except Gone:
                time.sleep(0.05)


def search(server, seed, over):
    choose = random.Random(seed)
    while not over.is_set():
        index = choose.choice(["one", "two"])
        query = {"q": " ".join(choose.choices(WORDS, k=choose.randint(0, 3))), "limit": choose.choice([1, 20, 200])}
        if choose.random() < 0.3:
            query["filter"] = f"n > {choose.randrange(2000)}"
        if choose.random() < 0.2:
            query["facets"] = ["kind"]
        try:
            status, answer = server.ask("POST", f"/indexes/{index}/search", query)
            counts[f"searches answered {status}"] += 1
            if status == 200 and len({hit["id"] for hit in answer["hits"]}) != len(answer["hits"]):
                failures.append(f"a document twice in the hits of {query}")
        except Gone:
            time.sleep(0.02)


def check(server, writers):
    for writer in writers:
        for uid in writer.tasks:
            end = time.monotonic() + 600
            while True:
                _, task = server.ask("GET", f"/tasks/{uid}")
                if task["status"] in ("succeeded", "failed", "canceled"):
                    break
                if time.monotonic() > end:
                    failures.append(f"task {uid} does not end")
                    return
                time.sleep(0.02)
            if task["status"] != "succeeded":
                failures.append(f"acknowledged task {uid}: {task}")
    for writer in writers:
        found, offset = {}, 0
        while True:
            _, page = server.ask("GET", f"/indexes/{writer.index}/documents?limit=1000&offset={offset}")
            found.update((one["id"], one) for one in page["results"])
            offset += 1000
            if offset >= page["total"]:
                break
        if found != writer.model:
            wrong = [id for id in found.keys() | writer.model.keys() if found.get(id) != writer.model.get(id)]
            failures.append(f"index {writer.index}: {len(wrong)} documents differ, such as {wrong[0]}: "
                            f"{found.get(wrong[0])} instead of {writer.model.get(wrong[0])}")
        _, stats = server.ask("GET", f"/indexes/{writer.index}/stats")
        if stats["numberOfDocuments"] != len(writer.model):
            failures.append(f"index {writer.index} counts {stats['numberOfDocuments']} of {len(writer.model)} documents")
        # The index says what the store says.
        for one in random.Random(0).sample([one for one in writer.model.values() if "text" in one], 50):
            _, answer = server.ask("POST", f"/indexes/{writer.index}/search", {"q": f'"mark{one["n"]}"', "limit": 1000})
            if one["id"] not in [hit["id"] for hit in answer["hits"]]:
                failures.append(f"document {one['id']} of index {writer.index} is not found by its last text")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--binary", default="target/release/lamina")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--kill-every", type=float, default=20, help="seconds between restarts; every other one is kill -9")
    options = options.parse_args()
    server, over = Server(os.path.abspath(options.binary)), threading.Event()
    choose = random.Random(options.seed)
    try:
        server.start()
        for index in ("one", "two"):
            server.ask("PATCH", f"/indexes/{index}/settings", {"filterableAttributes": ["n", "kind"]})
        writers = [Writer(server, index, options.seed + place, over) for place, index in enumerate(("one", "two"))]
        searchers = [threading.Thread(target=search, args=(server, seed, over), daemon=True) for seed in range(2)]
        for thread in [*writers, *searchers]:
            thread.start()
        end, largest = time.monotonic() + options.minutes * 60, 0
        while time.monotonic() < end and not failures:
            time.sleep(options.kill_every * choose.uniform(0.5, 1.5))
            largest = max(largest, server.resident_megabytes())
            try:
                server.ask("POST", choose.choice(["/snapshots", "/dumps"]))
            except Gone:
                pass
            time.sleep(choose.uniform(0, 0.3))
            server.stop(signal.SIGKILL if server.starts % 2 else signal.SIGTERM)
            server.start()
        over.set()
        for thread in [*writers, *searchers]:
            thread.join(timeout=120)
        check(server, writers)
        server.stop(signal.SIGTERM)
        verified = subprocess.run([server.binary, "verify", "--db-path", "db"], cwd=server.folder, capture_output=True, text=True)
        if verified.returncode != 0:
            failures.append("verify: " + verified.stdout + verified.stderr)
        print(f"{server.starts} starts, the slowest {server.slowest_start:.2f} s; at most {largest} MB resident")
        print("; ".join(f"{count} {what}" for what, count in sorted(counts.items())))
        if failures:
            print("\n".join(failures[:20]), file=sys.stderr)
            print(server.log(), file=sys.stderr)
            sys.exit(1)
        print("every invariant holds")
    finally:
        over.set()
        if server.process and server.process.poll() is None:
            server.process.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
