#!/usr/bin/env bash
# Sends snapshots to an object store of another project, which checks signatures, and starts from what it kept.
# usage: scripts/test-object-storage.sh [prepare]    `prepare` only installs the store.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/target/objects
if ! [[ -x $venv/bin/python ]] || ! cmp -s tests/objects/requirements.txt "$venv/installed"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/objects/requirements.txt
  cp tests/objects/requirements.txt "$venv/installed"
fi
[[ ${1-} == prepare ]] && exit
cargo build --quiet --workspace --bin lamina --test e2e
"$venv/bin/python" tests/objects/store.py target/debug/lamina
