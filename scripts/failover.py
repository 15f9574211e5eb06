#!/usr/bin/env python3
"""Kills or stops the writer of a group of three over and over, and measures how soon another one writes.

What replicas have shown is published: none of it may ever be missing. What was only acknowledged may be lost with the writer; it
is counted. With `--durability store` none of that may be missing either. At each takeover there is one writer: a server that was
stopped while another one took over acknowledges nothing that the new writer does not have, and the roots in the store (of a
folder) have no gap, and one server for each epoch.

usage: scripts/failover.py BINARY [--rounds 20] [--takeover-after 2] [--store URL] [--durability local|store] [--stop-every 5] [-- OPTION…]
"""
import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

KEY = "a-master-key-for-failovers"


class Member:
    def __init__(self, binary, folder, store, given):
        os.makedirs(folder)
        self.folder, self.log = folder, os.path.join(folder, "log")
        self.command = [binary, "--db-path", os.path.join(folder, "data"), "--http-addr", "127.0.0.1:0",
                        "--master-key", KEY, "--follow", store, "--standby", "--takeover-after", f"{given.takeover_after}",
                        "--durability", given.durability, *given.options]
        self.process, self.address, self.read_to = None, None, 0
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=log, stderr=log)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def where(self):
        """Where it listens: at another port each time it begins again."""
        with open(self.log, "rb") as log:
            log.seek(self.read_to)
            new = log.read()
        whole = new[:new.rfind(b"\n") + 1]
        self.read_to += len(whole)
        found = re.findall(rb"^Listening on\s+http://(\S+)$", whole, re.MULTILINE)
        self.address = found[-1].decode() if found else self.address
        return self.address

    def ask(self, method, path, body=None, patience=10):
        """Status and body; no status where there is no answer."""
        address = self.where()
        if address is None:
            return None, None
        connection = http.client.HTTPConnection(address, timeout=patience)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, ValueError, http.client.HTTPException):
            return None, None
        finally:
            connection.close()


def until(what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it does not come to that")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binary")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--takeover-after", default="2s")
    arguments.add_argument("--store", help="by default a folder")
    arguments.add_argument("--durability", choices=["local", "store"], default="local")
    arguments.add_argument("--stop-every", type=int, default=5, help="stops the writer in every nth round, and lets it go on later; 0: never")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = arguments.parse_args(sys.argv[1:end])
    # Of the servers.
    given.options = sys.argv[end + 1:]
    if given.takeover_after.isdigit():
        given.takeover_after += "s"
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or f"file://{folder}/store"
        binary = os.path.abspath(given.binary)
        members = [Member(binary, f"{folder}/{name}", store, given) for name in ("one", "two", "three")]
        roots = Roots(f"{folder}/store/root") if given.store is None else None
        campaign = Campaign(members, given, roots)
        try:
            campaign.run()
        except BaseException as error:
            print(f"FAILED in round {len(campaign.times)}: {error}", file=sys.stderr)
            for member in members:
                with open(member.log, encoding="utf-8", errors="replace") as log:
                    print(f"==== {member.folder}\n" + "".join(log.readlines()[-15:]), file=sys.stderr)
            raise
        finally:
            campaign.report()
            for member in members:
                member.signal(signal.SIGCONT)
                member.kill()


class Roots:
    """The roots of a store in a folder, read as they come: the last thousand stay."""

    def __init__(self, folder):
        self.folder, self.last, self.holders = folder, None, {}

    def check(self):
        for name in sorted(os.listdir(self.folder)):
            number = int(name)
            if self.last is not None and number <= self.last["number"]:
                continue
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                root = json.load(file)
            assert root["number"] == number, root
            if self.last is not None:
                assert number == self.last["number"] + 1, f"no root between {self.last['number']} and {number}"
                assert root["epoch"] >= self.last["epoch"], f"root {number} is of an epoch before that of the root before it"
            assert self.holders.setdefault(root["epoch"], root["nonce"]) == root["nonce"], f"two servers in epoch {root['epoch']}"
            self.last = root


class Campaign:
    def __init__(self, members, given, roots):
        self.members, self.given, self.roots = members, given, roots
        self.published, self.acknowledged, self.shown = set(), set(), 0
        self.lost, self.times, self.stops, self.number, self.accepted, self.setting = 0, [], 0, 0, 0, None

    def write(self, member, patience=10):
        self.number += 1
        if member.ask("POST", "/indexes/films/documents", [{"id": self.number}], patience)[0] != 202:
            return False
        self.acknowledged.add(self.number)
        self.accepted += 1
        return True

    def change_settings(self, member):
        """Tasks keep their order: the last one that was acknowledged is what is set."""
        self.number += 1
        is_accepted = member.ask("PATCH", "/indexes/films/settings", {"stopWords": [str(self.number)]})[0] == 202
        self.setting, self.accepted = self.number if is_accepted else None, self.accepted + is_accepted

    @staticmethod
    def documents(member, patience=10):
        """The ids that it shows; nothing where it does not show all."""
        found, offset = set(), 0
        while True:
            status, body = member.ask("GET", f"/indexes/films/documents?limit=1000&offset={offset}&fields=id", None, patience)
            if status != 200:
                return None
            found.update(document["id"] for document in body["results"])
            offset += 1000
            if offset >= body["total"]:
                return found

    def run(self):
        writer = until(lambda: next((member for member in self.members if self.write(member)), None))
        for number in range(self.given.rounds):
            writer = self.round(number, writer)

    def round(self, number, writer):
        for _ in range(10):
            self.write(writer)
        first = self.number - 9
        self.change_settings(writer)
        others = [member for member in self.members if member is not writer]
        # Each of the others in turn: the one that started last has everything again.
        watched = others[number % 2]
        shown = until(lambda: (shown := self.documents(watched)) and first in shown and shown)
        self.published |= shown
        time.sleep(0.05 * (number % 7))
        for _ in range(number % 5):
            self.write(writer)
        is_stop = self.given.stop_every and number % self.given.stop_every == self.given.stop_every - 1
        begun = time.monotonic()
        writer.signal(signal.SIGSTOP) if is_stop else writer.kill()
        taker = until(lambda: next((member for member in others if self.write(member)), None))
        self.times.append(time.monotonic() - begun)
        last = self.number
        if is_stop:
            self.stops += 1
            writer.signal(signal.SIGCONT)
            # It may believe for a moment that it is the writer: what it acknowledges counts.
            for _ in range(5):
                self.write(writer, 2)
        have = until(lambda: (found := self.documents(taker)) and last in found and found)
        if is_stop and self.given.durability == "store" and self.acknowledged - have:
            # What another one acknowledges is there once it is published.
            time.sleep(0.5)
            have = self.documents(taker) or have
        missing = self.published - have
        assert not missing, f"published and lost: {sorted(missing)[:10]}"
        if self.given.durability == "store":
            missing = self.acknowledged - have
            assert not missing, f"acknowledged and lost: {sorted(missing)[:10]}"
            words = taker.ask("GET", "/indexes/films/settings/stop-words")[1]
            assert self.setting is None or words == [str(self.setting)], f"settings {self.setting} were acknowledged, and there are {words}"
        self.lost += len(self.acknowledged - have)
        self.acknowledged &= have
        if self.roots:
            self.roots.check()
        if not is_stop:
            writer.start()
        # What was checked is compacted to a count now and then, so that a round does not take longer and longer.
        if number % 50 == 49:
            self.begin_anew(taker)
        return taker

    def begin_anew(self, writer):
        self.shown += len(self.published)
        self.published, self.acknowledged = set(), set()
        status, _ = writer.ask("DELETE", "/indexes/films")
        assert status == 202, status
        until(lambda: writer.ask("GET", "/indexes/films")[0] == 404)
        until(lambda: self.write(writer))

    def report(self):
        if not self.times:
            return
        times = sorted(self.times)
        print(json.dumps({"rounds": len(times), "stops": self.stops, "durability": self.given.durability, "acknowledged": self.accepted,
                          "shown": self.shown + len(self.published), "acknowledged_and_lost": self.lost,
                          "epochs": len(self.roots.holders) if self.roots else None,
                          "takeover_s": {"p50": round(times[len(times) // 2], 2), "p99": round(times[len(times) * 99 // 100], 2),
                                         "max": round(times[-1], 2)}}))


if __name__ == "__main__":
    main()
