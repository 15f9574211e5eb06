#!/usr/bin/env python3
"""Takes descriptors, room and single system calls away from a server that works, each for a moment: no acknowledged task may fail.

usage: scripts/starve.py [--rounds 3] [--binary target/debug/lamina] [--seed 1] [--what descriptors,calls,disk]

`descriptors`: no file may be opened for up to a second. `calls`: syncs, opens, renames and writes of the task store fail now
and then (needs strace). `disk`: the disk is full for up to two seconds (needs a mount namespace: root, or users that may have
their own). What the machine does not allow is said and left out. Exit status 0: every acknowledged task has succeeded, every
document is there, also after a restart, and `lamina verify` is content.
"""

import argparse
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

CALLS = [
    "fsync:error=EIO", "fdatasync:error=EIO", "fdatasync:error=ENOSPC", "openat:error=EMFILE", "openat:error=ENFILE",
    "openat:error=EINTR", "rename:error=EIO", "rename:error=EBUSY", "pwrite64:error=ENOSPC", "pwrite64:error=EIO",
]
DISK_BYTES = 48 << 20


class Server:
    def __init__(self, binary, disk):
        self.binary, self.disk = os.path.abspath(binary), disk
        self.folder = tempfile.mkdtemp(prefix="lamina-starve-")
        os.mkdir(self.mount)
        self.connection = self.process = self.holder = None
        self.port = None

    @property
    def mount(self):
        return os.path.join(self.folder, "disk")

    def start(self):
        log = os.path.join(self.folder, "log")
        earlier = os.path.getsize(log) if os.path.exists(log) else 0
        command = [self.binary, "--db-path", os.path.join(self.mount, "db"), "--http-addr", "127.0.0.1:0", "--no-analytics",
                   "--dump-dir", os.path.join(self.mount, "dumps"), "--snapshot-dir", os.path.join(self.mount, "snapshots"),
                   "--max-indexing-memory", "256 MB"]
        if self.disk:
            if self.holder is None:
                script = f"mount -t tmpfs -o size={DISK_BYTES} none {self.mount} && echo mounted && exec sleep 100000"
                self.holder = subprocess.Popen(["unshare", "-rm", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
                assert self.holder.stdout.readline() == "mounted\n", "no file system of its own"
            command = ["nsenter", f"--target={self.holder.pid}", "--user", "--mount", "--preserve-credentials", *command]
        with open(log, "a") as out:
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out)
        for _ in range(6000):
            found = re.search(r"^Listening on +http://127.0.0.1:(\d+)", self.log(earlier), re.M)
            if found:
                self.port, self.connection = int(found.group(1)), None
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise SystemExit("the server does not start:\n" + self.log(earlier)[-3000:])

    def log(self, earlier=0):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            file.seek(earlier)
            return file.read()

    def ask(self, method, path, body=None):
        """Over one connection, which needs no new descriptor: a client that cannot connect is no matter here."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        data = None if body is None else json.dumps(body)
        try:
            self.connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException):
            self.connection = None
            return 0, None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def verify(self):
        command = [self.binary, "verify", "--db-path", os.path.join(self.mount, "db")]
        if self.holder:
            command = ["nsenter", f"--target={self.holder.pid}", "--user", "--mount", "--preserve-credentials", *command]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode == 0, done.stdout + done.stderr

    def remove(self):
        if self.process and self.process.poll() is None:
            self.kill()
        if self.holder:
            self.holder.kill()
            self.holder.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def starve_descriptors(server, rng, stop):
    pid = server.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    while not stop.is_set():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        stop.wait(rng.uniform(0.02, 1.0))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        stop.wait(rng.uniform(0.3, 0.8))


def starve_calls(server, rng, stop):
    while not stop.is_set():
        call = rng.choice(CALLS)
        inject = f"{call}:when={rng.randint(1, 5)}+{rng.randint(2, 9)}"
        tracer = subprocess.Popen(["strace", "-f", "-q", "-o", "/dev/null", "-e", f"trace={call.split(':')[0]}", "-e", f"inject={inject}",
                                   "-p", str(server.process.pid)], stderr=subprocess.DEVNULL)
        stop.wait(rng.uniform(0.2, 1.2))
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        stop.wait(rng.uniform(0.3, 0.8))


def starve_disk(server, rng, stop):
    ballast = f"/proc/{server.holder.pid}/root{server.mount}/ballast"
    while not stop.is_set():
        try:
            with open(ballast, "wb") as file:
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
        except OSError:
            pass
        stop.wait(rng.uniform(0.05, 2.0))
        os.remove(ballast)
        stop.wait(rng.uniform(0.5, 1.0))


def one_request(rng, number):
    """A request that makes a task, and the documents that are there when it has succeeded."""
    kind = rng.random()
    if kind < 0.6:
        # One in three is more than is stored with its task.
        words = 12_000 if rng.random() < 0.33 else 20
        index = f"i{rng.randrange(4)}"
        documents = [{"id": f"{number}-{i}", "text": " ".join(f"w{rng.randrange(5000)}" for _ in range(words))} for i in range(3)]
        return "POST", f"/indexes/{index}/documents?primaryKey=id", documents, [(index, document["id"]) for document in documents]
    if kind < 0.75:
        return "PATCH", f"/indexes/i{rng.randrange(4)}/settings", {"filterableAttributes": [f"a{rng.randrange(50)}"]}, []
    if kind < 0.85:
        return "POST", "/indexes", {"uid": f"created-{number}", "primaryKey": "id"}, []
    if kind < 0.9:
        return "POST", "/dumps", None, []
    if kind < 0.95:
        return "POST", "/snapshots", None, []
    return "POST", "/indexes/i0/documents/delete", {"filter": "nothing = 1"}, []


def check(server, tasks, documents, failures):
    for uid, what in tasks.items():
        status, task = server.ask("GET", f"/tasks/{uid}")
        # A filter on what no setting allows is refused, which is no failure of the system.
        is_refused = status == 200 and (task.get("error") or {}).get("code") == "invalid_document_filter"
        if status != 200 or not (task["status"] == "succeeded" or is_refused):
            failures.append(f"task {uid} ({what}): {task}")
    for index, key in documents:
        status, _ = server.ask("GET", f"/indexes/{index}/documents/{key}")
        if status != 200:
            failures.append(f"document {key} of {index}: {status}")


def wait_until_idle(server, failures):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        status, tasks = server.ask("GET", "/tasks?statuses=enqueued,processing&limit=1")
        if status == 200 and not tasks["results"]:
            return
        time.sleep(0.05)
    failures.append("the queue does not get empty")


def one_round(binary, what, seed, seconds):
    rng, failures, tasks, documents, refused = random.Random(seed), [], {}, [], 0
    server = Server(binary, what == "disk")
    try:
        server.start()
        for number in range(4):
            server.ask("POST", "/indexes", {"uid": f"i{number}", "primaryKey": "id"})
        wait_until_idle(server, failures)
        stop = threading.Event()
        starve = {"descriptors": starve_descriptors, "calls": starve_calls, "disk": starve_disk}[what]
        thief = threading.Thread(target=starve, args=(server, random.Random(seed + 1), stop))
        thief.start()
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            method, path, body, added = one_request(rng, number)
            status, answer = server.ask(method, path, body)
            number += 1
            if status == 202:
                tasks[answer["taskUid"]] = f"{method} {path}"
                documents += added
            else:
                refused += 1
            time.sleep(0.02)
        stop.set()
        thief.join()
        wait_until_idle(server, failures)
        check(server, tasks, documents, failures)
        again = server.log().count("will be retried")
        server.kill()
        server.start()
        wait_until_idle(server, failures)
        check(server, tasks, documents, failures)
        server.kill()
        is_sound, said = server.verify()
        if not is_sound:
            failures.append(f"verify: {said}")
        print(f"{what}, seed {seed}: {len(tasks)} tasks acknowledged, {refused} requests refused, {again} attempts repeated, {len(failures)} failures")
        for failure in failures[:10]:
            print("  " + failure)
        return not failures
    finally:
        server.remove()


def missing(what):
    """Why the machine does not allow it, if it does not."""
    if what == "calls" and not shutil.which("strace"):
        return "there is no strace"
    if what == "disk" and subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        return "no mount namespace can be made"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6, help="of each round")
    parser.add_argument("--binary", default="target/debug/lamina")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--what", default="descriptors,calls,disk")
    args = parser.parse_args()
    good = True
    for what in args.what.split(","):
        reason = missing(what)
        if reason:
            print(f"{what}: left out, {reason}")
            continue
        for number in range(args.rounds):
            good &= one_round(args.binary, what, args.seed + 100 * number, args.seconds)
    sys.exit(not good)


if __name__ == "__main__":
    main()
