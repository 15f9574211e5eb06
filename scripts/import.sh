#!/usr/bin/env bash
# Loads files of any size into a running server: ndjson, JSON or CSV, plain, .gz or .zst, or standard input (-).
# usage: scripts/import.sh --index UID [options] FILE...     (all options: scripts/import.sh --help)
# Address and key: --url and --api-key, or SVC_URL and SVC_API_KEY in the environment.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
lamina=${LAMINA_BIN:-$repo/target/release/lamina}
[[ -x $lamina ]] || cargo build --release --quiet --manifest-path "$repo/Cargo.toml" --bin lamina
exec "$lamina" import "$@"
