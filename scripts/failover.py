#!/usr/bin/env python3
"""Kills the writer of a group of three over and over, and measures how soon another one writes.

What replicas have shown is published: none of it may ever be missing. What was only acknowledged may be lost with the writer; it
is counted. With `--durability store` none of that may be missing either.

usage: scripts/failover.py BINARY [--rounds 20] [--takeover-after 2] [--store URL] [--durability local|store]
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

KEY = "a-master-key-for-failovers"


class Member:
    def __init__(self, binary, folder, store, given):
        os.makedirs(folder)
        self.folder, self.log = folder, os.path.join(folder, "log")
        self.command = [binary, "--db-path", os.path.join(folder, "data"), "--http-addr", "127.0.0.1:0",
                        "--master-key", KEY, "--follow", store, "--standby", "--takeover-after", str(given.takeover_after),
                        "--durability", given.durability]
        self.process = None
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=log, stderr=log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def url(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            found = re.findall(r"^Listening on\s+(\S+)$", log.read(), re.MULTILINE)
        return found[-1] if found else None

    def ask(self, method, path, body=None):
        """Status and body; no status where there is no answer."""
        url = self.url()
        if url is None:
            return None, None
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url + path, data, headers, method=method), timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, None
        except (OSError, ValueError):
            return None, None


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    sys.exit("FAILED: it does not come to that")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binary")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--takeover-after", type=int, default=2)
    arguments.add_argument("--store", help="by default a folder")
    arguments.add_argument("--durability", choices=["local", "store"], default="local")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or f"file://{folder}/store"
        binary = os.path.abspath(given.binary)
        members = [Member(binary, f"{folder}/{name}", store, given) for name in ("one", "two", "three")]
        try:
            campaign(members, given.rounds, given.durability)
        except BaseException:
            for member in members:
                with open(member.log, encoding="utf-8", errors="replace") as log:
                    print(f"==== {member.folder}\n" + "".join(log.readlines()[-15:]), file=sys.stderr)
            raise
        finally:
            for member in members:
                member.kill()


def documents(member):
    found, offset = set(), 0
    while True:
        status, body = member.ask("GET", f"/indexes/films/documents?limit=1000&offset={offset}&fields=id")
        if status != 200:
            return None
        found.update(document["id"] for document in body["results"])
        offset += 1000
        if offset >= body["total"]:
            return found


def campaign(members, rounds, durability):
    published, acknowledged, lost, times, number = set(), set(), 0, [], 0

    def write(member):
        nonlocal number
        number += 1
        if member.ask("POST", "/indexes/films/documents", [{"id": number}])[0] != 202:
            return False
        acknowledged.add(number)
        return True

    writer = until(lambda: next((member for member in members if write(member)), None))
    for round_number in range(rounds):
        for _ in range(20):
            write(writer)
        first = number - 19
        others = [member for member in members if member is not writer]
        published |= until(lambda: (shown := documents(others[0])) and first in shown and shown)
        time.sleep(0.05 * (round_number % 7))
        for _ in range(round_number % 5):
            write(writer)
        killed = time.monotonic()
        writer.kill()
        taker = until(lambda: next((member for member in others if write(member)), None))
        times.append(time.monotonic() - killed)
        # What it wrote last is there, so all that it wrote before.
        have = until(lambda: (found := documents(taker)) and number in found and found)
        if published - have:
            sys.exit(f"FAILED: published and lost in round {round_number}: {sorted(published - have)[:10]}")
        if durability == "store" and acknowledged - have:
            sys.exit(f"FAILED: acknowledged and lost in round {round_number}: {sorted(acknowledged - have)[:10]}")
        lost += len(acknowledged - have)
        acknowledged &= have
        writer.start()
        writer = taker
    times.sort()
    print(json.dumps({"rounds": rounds, "durability": durability, "published": len(published), "acknowledged_and_lost": lost,
                      "takeover_s": {"p50": round(times[len(times) // 2], 2), "max": round(times[-1], 2)}}))


if __name__ == "__main__":
    main()
