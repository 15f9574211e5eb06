#!/usr/bin/env bash
# Runs every check: formatting, lints, all Rust tests, the official client libraries against the real binary. Says how long each step took.
# `quick` leaves out what needs a server: formatting, lints, house rules, unit tests.
# usage: scripts/test.sh [quick]
set -euo pipefail
cd "$(dirname "$0")/.."

# Seconds that all steps together are to take on two idle cores, from nothing.
BUDGET=$((12 * 60))
steps=()
current=
step() {
  if [[ -n $current ]]; then steps+=("$((SECONDS - began)) $current"); fi
  current=$*
  began=$SECONDS
  [[ -z $current ]] || printf '\n== %s\n' "$current"
}
report() {
  step
  printf '\n'
  for one in "${steps[@]}"; do printf '%5d s  %s\n' "${one%% *}" "${one#* }"; done
  printf '%5d s  in all, of a budget of %d s\n' "$SECONDS" "$BUDGET"
}

mode=${1-all}
[[ $mode == all || $mode == quick ]] || { echo "usage: scripts/test.sh [quick]" >&2; exit 2; }
if [[ $mode == all ]]; then
  step "Tools"
  scripts/setup.sh test
fi
step "Formatting"
cargo fmt --all -- --check
# Clippy's driver lints what it compiles. So everything is compiled once; `cargo clippy` would check all of it beside that.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
step "Lints"
cargo build --workspace --all-targets --quiet
if [[ $mode == quick ]]; then
  step "House rules"
  cargo test --workspace --quiet --test e2e tidy::
  step "Unit tests"
  cargo test --workspace --quiet --lib
  step "The console"
  scripts/console.sh --check
  report
  exit 0
fi
step "Unit tests"
cargo test --workspace --quiet --lib --bins
step "End-to-end tests, and those of the engine as a whole"
# More at once than there are cores: many of them wait, for a takeover or the pause before another attempt.
RUST_TEST_THREADS=$((2 * $(nproc))) cargo test --workspace --quiet --test '*'
step "Examples in documentation"
cargo test --workspace --quiet --doc
step "Labelled sets"
scripts/labelled.sh
step "What the system refuses for a moment"
scripts/starve.py --rounds 1
step "Client libraries"
scripts/test-clients.sh
step "The conformance suite of MCP"
scripts/test-mcp.sh
step "Object store"
scripts/test-object-storage.sh
step "Packaging"
scripts/test-packaging.sh
step "The page"
scripts/test-page.sh
step "The search page of the manual"
scripts/test-search-page.sh
step "The site"
if command -v mdbook target/mdbook/bin/mdbook >/dev/null; then scripts/docs.sh; else echo "SKIPPED: there is no mdbook, and pip has none for this system"; fi
report
echo "All passed"
