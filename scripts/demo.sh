#!/usr/bin/env bash
# Builds the server and runs `lamina demo`: 4,000 films to search on 127.0.0.1:7700, until Ctrl-C.
# usage: scripts/demo.sh [--port 7701] [--db-path FOLDER] [--no-open]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh demo
echo "Building (a few minutes the first time) ..."
# What runs models inside the server and optimising to the end would take most of the time, and nothing here needs them.
cargo build --profile demo --bin lamina --no-default-features
exec "${CARGO_TARGET_DIR:-target}/demo/lamina" demo "$@"
