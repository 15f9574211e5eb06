#!/usr/bin/env python3
"""Plays scripts/failover.py over each emulator of an object store that is there, one after the other, and over a folder.

moto comes from tests/objects/requirements.txt. The others are found in the search path: `s3s-fs` (cargo install s3s-fs --features binary),
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
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
MOTO = os.path.join(HERE, "..", "target", "objects", "bin", "moto_server")
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


class Moto:
    name = "moto"

    @staticmethod
    def program():
        return MOTO if os.path.exists(MOTO) else shutil.which("moto_server")

    @staticmethod
    def command(program, _folder, port):
        return [program, "-H", "127.0.0.1", "-p", str(port)]

    @staticmethod
    def prepare(_folder, port):
        ask(f"http://127.0.0.1:{port}/lamina", "PUT")
        return s3(port)


class S3sFs:
    name = "s3s-fs"

    @staticmethod
    def program():
        return shutil.which("s3s-fs")

    @staticmethod
    def command(program, folder, port):
        os.makedirs(os.path.join(folder, "lamina"))
        return [program, "--access-key", "access", "--secret-key", "secret", "--host", "127.0.0.1", "--port", str(port), folder]

    @staticmethod
    def prepare(_folder, port):
        try:
            ask(f"http://127.0.0.1:{port}/", "GET")
        except urllib.error.HTTPError:
            # It listens, and wants a signature.
            pass
        return s3(port)


class Azurite:
    name = "azurite"

    @staticmethod
    def program():
        return shutil.which("azurite-blob")

    @staticmethod
    def command(program, folder, port):
        return [program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", folder, "--silent", "--skipApiVersionCheck"]

    @staticmethod
    def prepare(_folder, port):
        date, version = email.utils.formatdate(usegmt=True), "2021-12-02"
        signed = f"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:{version}\n/{ACCOUNT}/{ACCOUNT}/lamina\nrestype:container"
        digest = hmac.new(base64.b64decode(ACCOUNT_KEY), signed.encode(), hashlib.sha256).digest()
        headers = {"x-ms-date": date, "x-ms-version": version, "Content-Length": "0",
                   "Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}
        url = f"http://127.0.0.1:{port}/{ACCOUNT}"
        ask(f"{url}/lamina?restype=container", "PUT", None, headers)
        return ["az://lamina/group", f"--azure-url={url}", f"--azure-account={ACCOUNT}", f"--azure-access-key={ACCOUNT_KEY}"]


class FakeGcs:
    name = "fake-gcs-server"

    @staticmethod
    def program():
        return shutil.which("fake-gcs-server")

    @staticmethod
    def command(program, _folder, port):
        return [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}", "-backend", "memory"]

    @staticmethod
    def prepare(_folder, port):
        url = f"http://127.0.0.1:{port}"
        ask(f"{url}/storage/v1/b?project=p", "POST", b'{"name": "lamina"}', {"Content-Type": "application/json"})
        return ["gs://lamina/group", f"--gcs-url={url}"]


def play(binary, given, where):
    """Whether a campaign ends well. `where`: the address of the store, and options."""
    command = [sys.executable, os.path.join(HERE, "failover.py"), binary, "--rounds", str(given.rounds), "--durability", given.durability,
               "--takeover-after", given.takeover_after]
    if where:
        command += ["--store", where[0], "--", "--experimental-allowed-ip-networks=127.0.0.1", *where[1:]]
    return subprocess.run(command, check=False).returncode == 0


def play_over(kind, program, binary, given):
    with tempfile.TemporaryDirectory(prefix="lamina-failover-") as folder:
        port, log = free_port(), open(os.path.join(folder, "log"), "wb")
        data = os.path.join(folder, "objects")
        os.makedirs(data)
        emulator = subprocess.Popen(kind.command(program, data, port), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
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
    for kind in (Moto, S3sFs, Azurite, FakeGcs):
        if only is not None and kind.name not in only:
            continue
        program = kind.program()
        print(f"==== {kind.name}" + ("" if program else ": it is not installed"), flush=True)
        if program:
            results[kind.name] = play_over(kind, program, binary, given)
    failed = [name for name, is_well in results.items() if not is_well]
    print(f"{len(results)} stores, failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed) or not results)


if __name__ == "__main__":
    main()
