#!/usr/bin/env python3
"""Makes a wheel and an npm package that hold the binary and nothing else: `pip install`, `uvx`, `npm install` and `npx` then have the command `lamina`.

usage: scripts/pack.py BINARY VERSION FOLDER     (the binary is stripped already; for the system and the processor of this machine. That for macOS was never run.)
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import zipfile

NAME = "lamina-search"
ABOUT = "Search engine with an HTTP interface: one binary, typo-tolerant, compatible with Meilisearch v1"
# Every file has the same time, so that the same binary gives the same package.
TIME = (2026, 1, 1, 0, 0, 0)


def glibc(binary):
    """The version of the C library that the binary needs; none if it is static."""
    symbols = subprocess.run(["objdump", "-T", binary], capture_output=True, text=True).stdout
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", symbols)]
    return max(versions, default=None)


def platforms(binary):
    """Where the binary runs, in the words of wheels."""
    machine = platform.machine()
    if platform.system() == "Darwin":
        # The oldest version that Rust builds for, unless the environment names another one.
        oldest = os.environ.get("MACOSX_DEPLOYMENT_TARGET", "11.0" if machine == "arm64" else "10.12")
        return f"macosx_{oldest.replace('.', '_')}_{machine}"
    needs = glibc(binary)
    return f"manylinux_{needs[0]}_{needs[1]}_{machine}" if needs else f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"


def wheel(binary, version, folder):
    tag = f"py3-none-{platforms(binary)}"
    stem = f"{NAME.replace('-', '_')}-{version}"
    files = {
        f"{stem}.data/scripts/lamina": (binary.read_bytes(), 0o755),
        f"{stem}.dist-info/METADATA": (f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {ABOUT}\nLicense-Expression: MIT\nRequires-Python: >=3.8\n".encode(), 0o644),
        f"{stem}.dist-info/WHEEL": ("Wheel-Version: 1.0\nGenerator: lamina\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {one}\n" for one in tags(tag)), 0o644),
        f"{stem}.dist-info/licenses/LICENSE": (pathlib.Path("LICENSE").read_bytes(), 0o644),
    }
    record = f"{stem}.dist-info/RECORD"
    path = folder / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        rows = []
        for name, (content, mode) in files.items():
            content = content.encode() if isinstance(content, str) else content
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(content)}")
            archive.writestr(entry(name, mode), content)
        archive.writestr(entry(record, 0o644), "\n".join([*rows, f"{record},,"]) + "\n")
    return path


def tags(tag):
    prefix, _, platforms = tag.rpartition("-")
    return [f"{prefix}-{one}" for one in platforms.split(".")]


def entry(name, mode):
    made = zipfile.ZipInfo(name, TIME)
    made.external_attr = (0o100000 | mode) << 16
    made.compress_type = zipfile.ZIP_DEFLATED
    return made


def npm(binary, version, folder):
    processor = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    system = platform.system().lower()
    described = {"name": NAME, "version": version, "description": ABOUT, "license": "MIT", "bin": {"lamina": "bin/lamina", NAME: "bin/lamina"},
                 "files": ["bin/lamina"], "os": [system], "cpu": [processor]}
    if system == "linux" and glibc(binary):
        described["libc"] = ["glibc"]
    path = folder / f"{NAME}-{version}-{system}-{processor}.tgz"
    with tarfile.open(path, "w:gz", compresslevel=9) as archive:
        for name, content, mode in (("package.json", json.dumps(described, indent=2).encode(), 0o644), ("LICENSE", pathlib.Path("LICENSE").read_bytes(), 0o644),
                                    ("bin/lamina", binary.read_bytes(), 0o755)):
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(content), mode
            archive.addfile(info, io.BytesIO(content))
    return path


def main():
    binary, version, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    for made in (wheel(binary, version, folder), npm(binary, version, folder)):
        print(made.name, made.stat().st_size)


main()
