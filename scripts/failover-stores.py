#!/usr/bin/env python3
"""Plays scripts/failover.py over each emulator of an object store that is there, one after the other, and over a folder.

moto comes from tests/objects/requirements.txt. The others are found in the search path: `s3s-fs` (cargo install s3s-fs --version 0.14.1 --features binary),
`azurite-blob` (npm install azurite), `fake-gcs-server`. Says which are missing.

usage: scripts/failover-stores.py BINARY [--rounds 10] [--durability store|local] [--takeover-after 2s] [--only moto,azurite]
"""
import argparse
import base64
import email.utils
import hashlib
import hmac
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import typing
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
OBJECTS = os.path.join(HERE, "..", "target", "objects", "bin")
# Every Azurite has this account.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def ask(url, method, body=None, headers=None):
    request = urllib.request.Request(url, method=method, data=body, headers=headers or {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def s3(port, access="access", secret="secret"):
    return ["s3://lamina/group", f"--s3-bucket-url=http://127.0.0.1:{port}", "--s3-bucket-region=us-east-1", "--s3-bucket-name=lamina",
            f"--s3-access-key={access}", f"--s3-secret-key={secret}"]


def moto(_folder, port):
    ask(f"http://127.0.0.1:{port}/lamina", "PUT")
    return s3(port)


def s3s_fs(folder, port):
    os.makedirs(os.path.join(folder, "lamina"), exist_ok=True)
    try:
        ask(f"http://127.0.0.1:{port}/", "GET")
    except urllib.error.HTTPError:
        # It listens, and wants a signature.
        pass
    return s3(port)


def azurite(_folder, port):
    date, version = email.utils.formatdate(usegmt=True), "2021-12-02"
    signed = f"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:{version}\n/{ACCOUNT}/{ACCOUNT}/lamina\nrestype:container"
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), signed.encode(), hashlib.sha256).digest()
    headers = {"x-ms-date": date, "x-ms-version": version, "Content-Length": "0",
               "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}
    url = f"http://127.0.0.1:{port}/{ACCOUNT}"
    ask(f"{url}/lamina?restype=container", "PUT", None, headers)
    return ["az://lamina/group", f"--azure-url={url}", f"--azure-account={ACCOUNT}", f"--azure-access-key={ACCOUNT_KEY}"]


def fake_gcs(_folder, port):
    url = f"http://127.0.0.1:{port}"
    ask(f"{url}/storage/v1/b?project=p", "POST", b'{"name": "lamina"}', {"Content-Type": "application/json"})
    return ["gs://lamina/group", f"--gcs-url={url}"]


class Kind(typing.NamedTuple):
    name: str
    program: str
    options: str
    # Makes the bucket of the campaign in the running emulator: the address of the store, and options of the servers.
    prepare: typing.Callable

    def path(self):
        """Where the program is, or None."""
        own = os.path.join(OBJECTS, self.program)
        return own if os.path.exists(own) else shutil.which(self.program)

    def command(self, folder, port):
        return [self.path(), *(option.format(folder=folder, port=port) for option in self.options.split())]


KINDS = [
    Kind("moto", "moto_server", "-H 127.0.0.1 -p {port}", moto),
    Kind("s3s-fs", "s3s-fs", "--access-key access --secret-key secret --host 127.0.0.1 --port {port} {folder}", s3s_fs),
    Kind("azurite", "azurite-blob", "--blobHost 127.0.0.1 --blobPort {port} --location {folder} --silent --skipApiVersionCheck", azurite),
    Kind("fake-gcs-server", "fake-gcs-server",
         "-scheme http -host 127.0.0.1 -port {port} -public-host 127.0.0.1:{port} -backend memory", fake_gcs),
]


def play(binary, given, where):
    """Whether a campaign ends well. `where`: the address of the store, and options."""
    command = [sys.executable, os.path.join(HERE, "failover.py"), binary, "--rounds", str(given.rounds), "--durability", given.durability,
               "--takeover-after", given.takeover_after]
    if where:
        command += ["--store", where[0], "--", "--experimental-allowed-ip-networks=127.0.0.1", *where[1:]]
    return subprocess.run(command, check=False).returncode == 0


def play_over(kind, binary, given):
    with tempfile.TemporaryDirectory(prefix="lamina-failover-") as folder:
        port, log = free_port(), open(os.path.join(folder, "log"), "wb")
        data = os.path.join(folder, "objects")
        os.makedirs(data)
        emulator = subprocess.Popen(kind.command(data, port), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    where = kind.prepare(data, port)
                    break
                except OSError:
                    assert emulator.poll() is None and time.monotonic() < deadline, f"{kind.name} does not start"
                    time.sleep(0.2)
            return play(binary, given, where)
        finally:
            emulator.kill()
            emulator.wait()
            log.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binary")
    arguments.add_argument("--rounds", type=int, default=10)
    arguments.add_argument("--durability", choices=["local", "store"], default="store")
    arguments.add_argument("--takeover-after", default="2s")
    arguments.add_argument("--only", help="some of: folder,moto,s3s-fs,azurite,fake-gcs-server")
    given = arguments.parse_args()
    binary = os.path.abspath(given.binary)
    only = given.only.split(",") if given.only else None
    results = {}
    if only is None or "folder" in only:
        print("==== a folder", flush=True)
        results["a folder"] = play(binary, given, None)
    for kind in KINDS:
        if only is not None and kind.name not in only:
            continue
        is_there = kind.path() is not None
        print(f"==== {kind.name}" + ("" if is_there else ": it is not installed"), flush=True)
        if is_there:
            results[kind.name] = play_over(kind, binary, given)
    failed = [name for name, is_well in results.items() if not is_well]
    print(f"{len(results)} stores, failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed) or not results)


if __name__ == "__main__":
    main()
