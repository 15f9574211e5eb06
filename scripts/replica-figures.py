#!/usr/bin/env python3
"""Figures of a writer and its replicas on one machine, as ratios of one sitting: what publishing costs a load and following a
search, how soon a write is searchable on a replica, how soon an empty replica answers and is at full speed, and how long changes
take that copy nothing.

usage: scripts/replica-figures.py BINARY [--documents 1000000] [--only load,follow,fresh,cold,instant]
"""
import argparse
import http.client
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

KEY = "a-master-key-for-figures"
WORDS = [f"word{number}" for number in range(30_000)]


class Server:
    def __init__(self, binary, folder, *options):
        os.makedirs(folder, exist_ok=True)
        self.log = os.path.join(folder, "log")
        command = [binary, "--db-path", f"{folder}/data", "--http-addr", "127.0.0.1:0", "--master-key", KEY,
                   "--http-payload-size-limit", "4GB", *options]
        self.begun = time.monotonic()
        before = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        found = None
        while not found:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                log.seek(before)
                found = re.search(r"^Listening on\s+http://(\S+)$", log.read(), re.MULTILINE)
            time.sleep(0.001)
        self.connection = http.client.HTTPConnection(found.group(1), timeout=600)

    def ask(self, method, path, body=None, lines=False):
        data = body if lines or body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/x-ndjson" if lines else "application/json"}
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def done(self, answer):
        status, body = answer
        assert status == 202, (status, body)
        while True:
            task = self.ask("GET", f"/tasks/{body['taskUid']}")[1]
            if task["status"] not in ("enqueued", "processing"):
                assert task["status"] == "succeeded", task
                return task
            time.sleep(0.002)

    def search(self, query):
        begun = time.monotonic()
        status, _ = self.ask("POST", "/indexes/large/search", query)
        assert status == 200, status
        return (time.monotonic() - begun) * 1000

    def end(self):
        self.process.terminate()
        self.process.wait()


def lines(count, seed=1, first=0):
    choose = random.Random(seed)
    return b"".join(json.dumps({"id": first + number, "text": " ".join(choose.choices(WORDS, k=40))}).encode() + b"\n" for number in range(count))


def queries(count, seed=7):
    choose = random.Random(seed)
    return [{"q": " ".join(choose.choices(WORDS, k=2)), "limit": 20, "matchingStrategy": "last"} for _ in range(count)]


def quantiles(values):
    values = sorted(values)
    return {"p50": round(values[len(values) // 2], 2), "p99": round(values[min(len(values) - 1, len(values) * 99 // 100)], 2),
            "max": round(values[-1], 2), "count": len(values)}


def say(name, value):
    print(json.dumps({name: value}), flush=True)


def processor_time():
    """Of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load(binary, folder, documents):
    """The same load with and without a store, in turns: until it is searchable, and the processor time until all is published."""
    payload, walls, processor = lines(documents), {"alone": [], "publishing": []}, {"alone": [], "publishing": []}
    for turn in range(3):
        for name in walls:
            place = f"{folder}/load"
            before = processor_time()
            server = Server(binary, place, *(["--publish", f"file://{place}/store"] if name == "publishing" else []))
            begun = time.monotonic()
            server.done(server.ask("POST", "/indexes/large/documents", payload, True))
            walls[name].append(round(time.monotonic() - begun, 2))
            server.end()
            processor[name].append(round(processor_time() - before, 2))
            shutil.rmtree(place)
    for name, times in (("load_s", walls), ("load_processor_s", processor)):
        ratio = statistics.median(times["publishing"]) / statistics.median(times["alone"])
        say(name, {**times, "ratio": round(ratio, 3)})


def follow(writer, replica):
    """Searches on a replica while the writer publishes once a second, and while it does not, in turns of some seconds."""
    some, times, number = queries(200), {"idle": [], "following": []}, 50_000_000
    for query in some:
        replica.search(query)
    for turn in range(20):
        name = "following" if turn % 2 else "idle"
        end, next_write = time.monotonic() + 3, 0
        while time.monotonic() < end:
            if name == "following" and time.monotonic() >= next_write:
                number, next_write = number + 1, time.monotonic() + 1
                writer.ask("POST", "/indexes/small/documents", [{"id": number, "text": "one more"}])
            times[name].append(replica.search(some[len(times[name]) % len(some)]))
        time.sleep(1.5)
    say("search_on_replica_ms", {name: quantiles(values) for name, values in times.items()})


def fresh(writer, replica):
    """From a write to its first hit on a replica."""
    times = []
    for number in range(200):
        text, begun = f"fresh{number}", time.monotonic()
        assert writer.ask("POST", "/indexes/small/documents", [{"id": 60_000_000 + number, "text": text}])[0] == 202
        while not replica.ask("POST", "/indexes/small/search", {"q": f'"{text}"', "limit": 1})[1].get("hits"):
            time.sleep(0.005)
        times.append((time.monotonic() - begun) * 1000)
        time.sleep(random.Random(number).random())
    say("write_to_hit_on_replica_ms", quantiles(times))


def cold(binary, folder, store, writer):
    """From the start of an empty replica to its first answer, and until it answers as fast as the writer does."""
    some = queries(400)
    for query in some:
        writer.search(query)
    usual = statistics.median(writer.search(query) for query in some)
    for turn in range(5):
        replica = Server(binary, f"{folder}/cold", "--follow", store)
        listening = time.monotonic() - replica.begun
        # More often would take a third of a core from what it waits for.
        while replica.ask("POST", "/indexes/large/search", {"q": "word1"})[0] != 200:
            time.sleep(0.01)
        first, rates = time.monotonic() - replica.begun, []
        while time.monotonic() - replica.begun < 6:
            begun = time.monotonic()
            times = [replica.search(query) for query in some[:40]]
            rates.append((begun - replica.begun, statistics.median(times)))
        # The first window that is at most a fifth slower than usual.
        full = next((at for at, middle in rates if middle <= usual * 1.2), rates[-1][0])
        say("cold_ms", {"listening": round(listening * 1000), "first_answer": round(first * 1000), "full_speed": round(full * 1000),
                        "usual_search": round(usual, 2), "first_windows": [round(middle, 2) for _, middle in rates[:4]]})
        replica.end()
        shutil.rmtree(f"{folder}/cold")


def instant(folder, writer):
    """Changes that copy nothing, at the size of the large index: the duration of their tasks."""
    def duration(task):
        return round(float(re.fullmatch(r"PT([0-9.]+)S", task["duration"]).group(1)) * 1000, 1)
    found = {"clone": [], "alias": [], "restore": [], "attach": []}
    data = f"{folder}/writer/data/indexes"
    large = max(os.listdir(data), key=lambda name: sum(file.stat().st_size for file in os.scandir(f"{data}/{name}")))
    for turn in range(5):
        found["clone"].append(duration(writer.done(writer.ask("POST", "/indexes/large/clone", {"uid": f"copy-{turn}"}))))
        found["alias"].append(duration(writer.done(writer.ask("PUT", "/aliases/current", {"indexUid": f"copy-{turn}"}))))
        state = writer.ask("GET", "/indexes/large/generations")[1]["results"][0]["generation"]
        writer.done(writer.ask("POST", "/indexes/large/documents", [{"id": 0, "text": "undone"}]))
        found["restore"].append(duration(writer.done(writer.ask("POST", "/indexes/large/restore", {"at": state}))))
        # What `lamina build` makes is such a folder.
        shutil.copytree(f"{data}/{large}", f"{folder}/writer/attach/{turn}", ignore=shutil.ignore_patterns("kept-*", "lock"))
        found["attach"].append(duration(writer.done(writer.ask("POST", f"/indexes/attached-{turn}/attach", {"folder": str(turn)}))))
    say("instant_ms", found)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split(":")[0])
    arguments.add_argument("binary")
    arguments.add_argument("--documents", type=int, default=1_000_000)
    arguments.add_argument("--only", default="load,follow,fresh,cold,instant")
    given = arguments.parse_args()
    binary, only = os.path.abspath(given.binary), given.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        if "load" in only:
            load(binary, folder, given.documents // 5)
        if only == ["load"]:
            return
        store = f"file://{folder}/store"
        writer = Server(binary, f"{folder}/writer", "--publish", store, "--keep", "1h", "--attach-dir", f"{folder}/writer/attach")
        writer.done(writer.ask("POST", "/indexes/small/documents", lines(1000, 3), True))
        writer.done(writer.ask("POST", "/indexes/large/documents", lines(given.documents), True))
        writer.done(writer.ask("POST", "/indexes/large/compact"))
        replica = Server(binary, f"{folder}/replica", "--follow", store)
        while replica.ask("GET", "/health")[1].get("indexesComing") or replica.ask("GET", "/indexes/large/stats")[0] != 200:
            time.sleep(0.1)
        if "follow" in only:
            follow(writer, replica)
        if "fresh" in only:
            fresh(writer, replica)
        replica.end()
        if "cold" in only:
            time.sleep(2)
            cold(binary, folder, store, writer)
        if "instant" in only:
            instant(folder, writer)
        writer.end()


if __name__ == "__main__":
    main()
