#!/usr/bin/env bash
# Measures the labelled sets of tests/labelled with the built binary, and fails where one is worse than its bar by more than 0.005.
# usage: [LAMINA=path of the binary] scripts/labelled.sh [--write]     (--write: what is measured becomes the bars)
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/with-server.sh -- scripts/labelled.py "${LAMINA:-target/debug/lamina}" "$@"
