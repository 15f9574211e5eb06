#!/usr/bin/env bash
# Runs every check: formatting, lints, all Rust tests, the official client libraries against the real binary.
# usage: scripts/test.sh
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "Tools"
scripts/setup.sh test
step "Formatting"
cargo fmt --all -- --check
# Clippy's driver lints what it compiles. So everything is compiled once; `cargo clippy` would check all of it beside that.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
step "Lints"
cargo build --workspace --all-targets --quiet
step "Tests"
cargo test --workspace --quiet
step "Labelled sets"
scripts/labelled.sh
step "What the system refuses for a moment"
scripts/starve.py --rounds 1
step "Client libraries"
scripts/test-clients.sh
step "Object store"
scripts/test-object-storage.sh
step "Packaging"
scripts/test-packaging.sh
step "The page"
scripts/test-page.sh
step "The site"
if command -v mdbook target/mdbook/bin/mdbook >/dev/null; then scripts/docs.sh; else echo "SKIPPED: there is no mdbook, and pip has none for this system"; fi
step "All passed"
