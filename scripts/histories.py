#!/usr/bin/env python3
"""Histories that part: kills the writer of a group of three over and over while it has commits that no root names, and starts it again
while something is wrong with the store.

Each round writes to several indexes, clears one or restores it to an earlier state, and opens points in time. Then the writer is killed, and
another one takes over. The former writer starts while an object is missing, damaged or late, or while the store is not mounted. Once all
servers are level, each of them must show exactly what was acknowledged, each earlier state must show what it showed when it was the present
one, points in time must answer as before, and a validator (`ETag`) must not outlive what it was given for. Now and then the writer itself
loses the store for some seconds. Folders of servers are checked with `lamina verify` at the end, and every 25 rounds.

usage: scripts/histories.py BINARY [--rounds 20] [--seed N] [-- OPTION…]
"""
import argparse
import glob
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from failover import KEY, Member, until

INDEXES = ("aaa", "mmm", "zzz")


class Server(Member):
    def fetch(self, method, path, body=None, headers=None, patience=20):
        """Status, body and headers; no status where there is no answer."""
        address = self.where()
        if address is None:
            return None, None, {}
        connection = http.client.HTTPConnection(address, timeout=patience)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **(headers or {})}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, json.loads(body) if body else None, {name.lower(): value for name, value in answer.getheaders()}
        except (OSError, ValueError, http.client.HTTPException):
            return None, None, {}
        finally:
            connection.close()

    def role(self):
        body = self.ask("GET", "/replicas", patience=3)[1]
        return body.get("role") if isinstance(body, dict) else None

    def ids(self, index):
        """The documents that it shows; nothing where it does not show the index."""
        status, body = self.ask("GET", f"/indexes/{index}/documents?limit=100000&fields=id", None, 20)
        return {document["id"] for document in body["results"]} if status == 200 else None

    def at(self, index, generation):
        """The documents of an earlier state, or what is answered instead."""
        status, body = self.ask("POST", f"/indexes/{index}/search", {"q": "", "at": generation, "limit": 100000}, 20)
        return {hit["id"] for hit in body["hits"]} if status == 200 else body

    def states(self, index):
        status, body = self.ask("GET", f"/indexes/{index}/generations", None, 20)
        return {state["generation"] for state in body["results"]} if status == 200 else set()

    def finished(self, task):
        def is_finished():
            _, body = self.ask("GET", f"/tasks/{task}")
            return body if isinstance(body, dict) and body.get("status") in ("succeeded", "failed", "canceled") else None
        return until(is_finished, 60)


class Campaign:
    def __init__(self, folder, given):
        self.random, self.given = random.Random(given.seed), given
        self.mount, self.away = f"{folder}/mount", f"{folder}/away"
        self.store = f"{self.mount}/store"
        os.makedirs(self.store)
        given.takeover_after, given.durability = "1s", "store"
        given.options += ["--keep", "1h", "--publish-interval", f"{given.publish_interval}s"]
        self.members = [Server(given.binary, f"{folder}/{name}", f"file://{self.store}", given) for name in ("one", "two", "three")]
        self.writer, self.number = None, 0
        self.acknowledged = {index: set() for index in INDEXES}
        # Writes without an answer: they may be there.
        self.unknown = {index: set() for index in INDEXES}
        # What each state showed, by index and number.
        self.shown = {}
        # Points in time: server, the process that has them, index, id, documents.
        self.leases = []
        self.validators = {}
        self.counts = dict.fromkeys(("takeovers", "acknowledged", "clears", "restores", "states", "leases", "unmounted", "unchanged"), 0)

    # Writing.

    def write(self, index, server=None):
        self.number += 1
        status, body = (server or self.writer).ask("POST", f"/indexes/{index}/documents?primaryKey=id", [{"id": self.number, "t": f"n{self.number}"}], 5)
        if status == 202:
            self.acknowledged[index].add(self.number)
            self.counts["acknowledged"] += 1
            return body["taskUid"]
        if status is None or status >= 500:
            self.unknown[index].add(self.number)
        return None

    def settle(self, index):
        """Waits until the writer has carried out all that it acknowledged of an index."""
        until(lambda: (have := self.writer.ids(index)) is not None and self.acknowledged[index] <= have)
        have = self.writer.ids(index)
        self.agree(self.writer, index, have)
        self.acknowledged[index], self.unknown[index] = set(have), set()

    def clear(self, index):
        self.settle(index)
        status, body = self.writer.ask("DELETE", f"/indexes/{index}/documents")
        assert status == 202 and self.writer.finished(body["taskUid"])["status"] == "succeeded", body
        self.acknowledged[index] = set()
        self.counts["clears"] += 1

    def restore(self, index):
        self.settle(index)
        states = sorted(number for number in self.writer.states(index) if (index, number) in self.shown)
        if not states:
            return
        state = self.random.choice(states)
        status, body = self.writer.ask("POST", f"/indexes/{index}/restore", {"at": state})
        task = self.writer.finished(body["taskUid"]) if status == 202 else body
        assert status == 202 and task["status"] == "succeeded", task
        self.acknowledged[index] = set(self.shown[index, state])
        self.counts["restores"] += 1

    # What must hold.

    def agree(self, server, index, have):
        lost = self.acknowledged[index] - have
        assert not lost, f"acknowledged, and lost at {server.folder}: {index} {sorted(lost)[:10]}"
        more = have - self.acknowledged[index] - self.unknown[index]
        assert not more, f"nobody wrote what {server.folder} has: {index} {sorted(more)[:10]}"

    def check_states(self, server):
        for index in INDEXES:
            for state in server.states(index):
                have = server.at(index, state)
                if not isinstance(have, set) and state not in server.states(index):
                    # A former writer showed its own history until the published one was there.
                    continue
                assert isinstance(have, set), f"state {state} of {index} at {server.folder}: {have}"
                before = self.shown.setdefault((index, state), have)
                assert before == have, f"state {state} of {index} at {server.folder} has other documents: {sorted(before ^ have)[:10]}"
                self.counts["states"] += 1

    def check_validators(self, server):
        for index in INDEXES:
            path = f"/indexes/{index}/search?q=&limit=1000"
            for (of, validator), ids in list(self.validators.items()):
                if of == index:
                    status, body, _ = server.fetch("GET", path, headers={"If-None-Match": validator})
                    have = ids if status == 304 else {hit["id"] for hit in body["hits"]}
                    assert status != 304 or server.ids(index) == ids, f"{validator} of {index} is that of other documents at {server.folder}"
                    self.counts["unchanged"] += status == 304 and have == ids
            status, body, headers = server.fetch("GET", path)
            if status == 200 and "etag" in headers:
                self.validators[index, headers["etag"]] = {hit["id"] for hit in body["hits"]}
        while len(self.validators) > 30:
            self.validators.pop(next(iter(self.validators)))

    def hold(self):
        server, index = self.random.choice(self.members), self.random.choice(INDEXES)
        status, body = server.ask("POST", f"/indexes/{index}/search", {"q": "", "limit": 100000, "pointInTime": {"keepAliveMs": 600_000}})
        if status == 200:
            self.leases.append((server, server.process, index, body["pointInTime"]["id"], {hit["id"] for hit in body["hits"]}))
            self.counts["leases"] += 1

    def check_leases(self):
        for lease in list(self.leases):
            server, process, index, name, ids = lease
            if server.process is not process or server.role() is None:
                self.leases.remove(lease)
                continue
            status, body = server.ask("POST", f"/indexes/{index}/search", {"q": "", "limit": 100000, "pointInTime": {"id": name}})
            if status == 404:
                # A server that begins again in another role holds none of before.
                self.leases.remove(lease)
                continue
            assert status == 200, f"a point in time of {index} at {server.folder}: {body}"
            have = {hit["id"] for hit in body["hits"]}
            assert have == ids, f"a point in time of {index} at {server.folder} has other documents: {sorted(have ^ ids)[:10]}"
            if self.random.random() < 0.5:
                self.leases.remove(lease)
                server.ask("POST", f"/indexes/{index}/search", {"q": "", "limit": 0, "pointInTime": {"id": name, "keepAliveMs": 0}})

    def level(self):
        """Waits until all servers show the newest state."""
        for index in INDEXES:
            self.settle(index)

        def shows_all(server, index):
            have = server.ids(index) or set()
            return self.acknowledged[index] == have
        for server in self.members:
            for index in INDEXES:
                try:
                    until(lambda server=server, index=index: shows_all(server, index), 60)
                except AssertionError:
                    self.agree(server, index, server.ids(index) or set())
                    raise

    def verify(self, server):
        found = subprocess.run([self.given.binary, "verify", f"{server.folder}/data"], capture_output=True, text=True, check=False)
        assert found.returncode == 0, f"{server.folder}: {found.stdout[-1500:]}{found.stderr[-500:]}"

    # What goes wrong.

    def unmount(self):
        os.rename(self.store, self.away)
        self.counts["unmounted"] += 1

    def remount(self):
        assert not os.path.exists(self.store), f"made a store of its own: {os.listdir(self.store)}"
        os.rename(self.away, self.store)

    def newest_objects(self):
        found = glob.glob(f"{self.store}/i/*/seg-*") + glob.glob(f"{self.store}/i/*/manifest-*")
        return sorted(found, key=lambda path: os.stat(path).st_mtime_ns)[-6:]

    def start_with_fault(self, server):
        fault = self.random.choice(("none", "missing", "missing", "damaged", "unmounted"))
        hold_s = self.random.choice((0.1, 0.3, 1, 3))
        if fault == "unmounted":
            self.unmount()
            server.start()
            time.sleep(hold_s + 1)
            assert server.role() != "writer" or not os.path.exists(self.store), "a former writer writes to a store of its own"
            return self.remount()
        objects = self.newest_objects()
        path = self.random.choice(objects) if objects and fault != "none" else None
        if path is None:
            return server.start()
        with open(path, "rb") as file:
            whole = file.read()
        os.rename(path, f"{self.away}-object")
        if fault == "damaged":
            with open(path, "wb") as file:
                file.write(whole[:len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
        server.start()
        time.sleep(hold_s)
        os.rename(f"{self.away}-object", path)

    def lose_store(self):
        """The running writer loses the store: what it acknowledges meanwhile must be there later all the same."""
        self.unmount()
        end = time.monotonic() + self.random.choice((0.5, 2, 4))
        while time.monotonic() < end:
            self.write(self.random.choice(INDEXES))
        self.remount()

    def find_writer(self, others):
        def taker():
            return next((member for member in others if member.role() == "writer"), None)
        self.writer = until(taker, 60)
        until(lambda: self.write(INDEXES[0]) is not None, 60)

    def round(self, number):
        for index in INDEXES:
            for _ in range(self.random.randrange(1, 4)):
                self.write(index)
        if self.random.random() < 0.3:
            self.hold()
        drawn = self.random.random()
        if drawn < 0.2:
            self.clear(self.random.choice(INDEXES))
        elif drawn < 0.4:
            self.restore(self.random.choice(INDEXES))
        if self.random.random() < 0.2:
            self.lose_store()
            self.find_writer(self.members)
        if self.random.random() < 0.5:
            self.level()
        # Carried out and acknowledged, and in no root for a while.
        index = self.random.choice(INDEXES)
        tasks = [self.write(index) for _ in range(self.random.choice((0, 3, 20)))]
        if tasks and tasks[-1] is not None and self.random.random() < 0.7:
            self.writer.finished(tasks[-1])
        former = self.writer
        former.kill()
        self.find_writer([member for member in self.members if member is not former])
        self.counts["takeovers"] += 1
        for _ in range(self.random.randrange(3)):
            self.write(self.random.choice(INDEXES))
        if self.random.random() < 0.5:
            time.sleep(self.given.publish_interval + 0.5)
        self.start_with_fault(former)
        self.level()
        for server in self.members:
            self.check_states(server)
            self.check_validators(server)
        self.check_leases()

    def run(self):
        self.writer = until(lambda: next((member for member in self.members if member.role() == "writer"), None))
        for number in range(self.given.rounds):
            self.round(number)
            if number % 25 == 24:
                self.stop_and_verify()
                self.shown = {key: ids for key, ids in self.shown.items() if key[1] in self.writer.states(key[0])}

    def stop_and_verify(self):
        """Servers in turn, so that nobody loses the group."""
        for server in self.members:
            if server is not self.writer:
                server.kill()
                self.verify(server)
                server.start()
        self.level()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binary")
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    arguments.add_argument("--publish-interval", type=int, default=3, help="seconds in which commits are in no root")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = arguments.parse_args(sys.argv[1:end])
    given.options, given.binary = sys.argv[end + 1:], os.path.abspath(given.binary)
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(folder, given)
        try:
            campaign.run()
        except BaseException as error:
            print(f"FAILED in round {campaign.counts['takeovers']}: {error}", file=sys.stderr)
            for member in campaign.members:
                with open(member.log, encoding="utf-8", errors="replace") as log:
                    print(f"==== {member.folder}\n" + "".join(log.readlines()[-15:]), file=sys.stderr)
            raise
        finally:
            print(json.dumps(campaign.counts))
            for member in campaign.members:
                if member.process.poll() is None:
                    member.kill()
        for member in campaign.members:
            campaign.verify(member)


if __name__ == "__main__":
    main()
