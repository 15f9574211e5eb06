#!/usr/bin/env bash
# Installs what building and testing need beyond a Rust toolchain, on Debian and its relatives.
# usage: scripts/setup.sh [build|demo|docs|release|test]
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-build}

missing=()
need() { # command, package
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

need cc build-essential
need pkg-config pkg-config
case $purpose in
  release) need objcopy binutils && need rpmbuild rpm && need dpkg-deb dpkg && need npm npm ;;
  docs | test)
    [[ $purpose == docs ]] || { need node nodejs && need npm npm; }
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    ;;
esac

if ((${#missing[@]})); then
  root=()
  ((EUID == 0)) || root=(sudo)
  if ! command -v apt-get >/dev/null 2>&1 || { ((EUID != 0)) && ! command -v sudo >/dev/null 2>&1; }; then
    echo "Please install these first: ${missing[*]}" >&2
    exit 1
  fi
  echo "Installing: ${missing[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! command -v cargo >/dev/null 2>&1; then
  echo "No Rust toolchain found: https://rustup.rs has a one-line installer (1.89 or newer)." >&2
  exit 1
fi
if [[ $purpose == test ]]; then
  cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
  cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
fi
# What builds the site, in target/mdbook. Without it the site is left out of the tests.
if [[ $purpose == docs || $purpose == test ]] && ! command -v mdbook >/dev/null && [[ ! -x target/mdbook/bin/mdbook ]]; then
  python3 -m venv target/mdbook &&
    target/mdbook/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r scripts/mdbook.txt ||
    echo "There is no mdbook for this system: the site is not built." >&2
fi
