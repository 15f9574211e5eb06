#!/usr/bin/env python3
"""Thousands of indexes under `ulimit -n 1024`: each is created, searched, written and searched after a restart; lists are timed.

usage: scripts/many-indexes.py BINARY [COUNT=10000] [--option ...]
Exit status 0: nothing was refused, no task failed, and `/stats` counts all documents.
"""

import http.client
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time


class Server:
    def __init__(self, binary, options):
        self.folder = tempfile.mkdtemp(prefix="lamina-many-")
        self.command = [os.path.abspath(binary), "--db-path", "db", "--http-addr", "127.0.0.1:0", "--no-analytics", *options]

    def start(self):
        began, path = time.monotonic(), os.path.join(self.folder, "log")
        earlier = os.path.getsize(path) if os.path.exists(path) else 0
        with open(path, "a") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
        while True:
            with open(path, errors="replace") as log:
                log.seek(earlier)
                found = re.search(r"^Listening on +http://127.0.0.1:(\d+)", log.read(), re.M)
            if found:
                break
            assert self.process.poll() is None, "the server does not start"
            time.sleep(0.005)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)), timeout=600)
        print(f"started in {time.monotonic() - began:.2f} s")

    def ask(self, method, path, body=None, expected=(200, 202)):
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status in expected, (method, path, answer.status, text[:300])
        return json.loads(text) if text else None

    def idle(self):
        while self.ask("GET", "/tasks?statuses=enqueued,processing&limit=1")["results"]:
            time.sleep(0.05)

    def timed(self, what, act):
        began = time.monotonic()
        result = act()
        files = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        status = open(f"/proc/{self.process.pid}/status").read()
        memory = int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) // 1024
        maps = sum(1 for _ in open(f"/proc/{self.process.pid}/maps"))
        print(f"{what}: {time.monotonic() - began:.3f} s, {files} descriptors, {maps} maps, {memory} MiB", flush=True)
        return result

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def main():
    binary, rest = sys.argv[1], sys.argv[2:]
    count = int(rest.pop(0)) if rest and rest[0].isdigit() else 10_000
    server, names = Server(binary, rest), [f"index-{number:05}" for number in range(count)]

    def each(act):
        for name in names:
            act(name)

    def write(key):
        each(lambda name: server.ask("POST", f"/indexes/{name}/documents", [{"id": key, "title": f"document {key} of {name}"}]))
        server.idle()

    def search(hits):
        def one(name):
            found = server.ask("POST", f"/indexes/{name}/search", {"q": "document"})
            assert len(found["hits"]) == hits, found
        each(one)

    def stats(documents):
        found = server.ask("GET", "/stats")
        assert sum(index["numberOfDocuments"] for index in found["indexes"].values()) == documents, found.get("unreadable")
        assert "unreadable" not in found

    try:
        server.start()
        server.timed("creation with a document in each", lambda: write(1))
        server.timed("a search in each", lambda: search(1))
        server.timed("a write to each", lambda: write(2))
        server.timed("a search in each", lambda: search(2))
        server.timed("/stats", lambda: stats(2 * count))
        failed = server.ask("GET", "/tasks?statuses=failed&limit=1")
        assert failed["total"] == 0, failed["results"]
        server.stop()
        server.start()
        server.timed("the first /indexes?limit=20", lambda: server.ask("GET", "/indexes"))
        server.timed("the first /stats after the start", lambda: stats(2 * count))
        server.timed("the second /stats", lambda: stats(2 * count))
        server.timed("/indexes of all", lambda: server.ask("GET", f"/indexes?limit={count}"))
        server.timed("a search in each", lambda: search(2))
        server.timed("/stats", lambda: stats(2 * count))
        server.stop()
    finally:
        server.process.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
