#!/usr/bin/env bash
# Runs every check: formatting, lints, all Rust tests, the official client libraries against the real binary. Says how long each step took.
# `quick` is for after an edit: formatting, lints of what it changed, house rules, and the unit tests of each crate that was built since
# they passed. Nothing in it needs a server.
# usage: scripts/test.sh [quick]
set -euo pipefail
cd "$(dirname "$0")/.."

# Seconds that all steps together are to take on two idle cores: from nothing, and after an edit of one crate.
BUDGET=$((12 * 60))
QUICK_BUDGET=$((2 * 60))
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
[[ $mode == all ]] || BUDGET=$QUICK_BUDGET
if [[ $mode == all ]]; then
  # What is built once needs neither the files of the next build nor lines in backtraces: a panic names its own.
  export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
  step "Tools"
  scripts/setup.sh test
fi
step "Formatting"
cargo fmt --all -- --check
# Clippy's driver lints what it compiles. So everything is compiled once; `cargo clippy` would check all of it beside that.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# Runs the programs of tests that `cargo test` builds with these arguments; `quick` leaves out those that passed since they were built. As
# many run side by side as there are cores: in each, one long test may be left at the end.
tests_of() {
  cargo test --workspace "$@" --no-run --quiet --message-format=json-render-diagnostics | python3 -c '
import json, os, sys
for built in map(json.loads, sys.stdin):
    program = built.get("executable")
    passed = f"{program}.passed"
    is_known = sys.argv[1] == "quick" and os.path.exists(passed) and os.path.getmtime(passed) >= os.path.getmtime(program or passed)
    if program and built["profile"]["test"] and not is_known:
        print(os.path.dirname(built["manifest_path"]), program)' "$mode" |
    xargs -r -P "$(nproc)" -n 2 bash -c 'cd "$0" && said=$("$1" --quiet 2>&1) && touch "$1.passed" || { printf "%s\n" "$said"; exit 1; }'
}
step "Lints"
if [[ $mode == quick ]]; then
  cargo build --workspace --bins --quiet
  step "Unit tests of what has changed"
  tests_of --lib
  step "House rules"
  cargo test --workspace --quiet --test e2e tidy::
  step "The console"
  scripts/console.sh --check
  report
  exit 0
fi
cargo build --workspace --all-targets --quiet
step "Unit tests, and those of the engine as a whole"
tests_of --lib --test fuzz --test oracle --test questions --test repair
step "End-to-end tests"
# More at once than there are cores: many of them wait, for a takeover or the pause before another attempt.
RUST_TEST_THREADS=$((2 * $(nproc))) cargo test --workspace --quiet --test e2e
# Most of these wait for a browser, a package or a server of their own: as many run side by side as there are cores, the longest first. What one says is shown when it ends.
step "What needs the binary"
beside() {
  local name=$1 began=$SECONDS log status=0
  log=$(mktemp)
  bash -euo pipefail -c "$2" >"$log" 2>&1 </dev/null || status=$?
  printf '\n== %s: %d s\n%s\n' "$name" "$((SECONDS - began))" "$(cat "$log")"
  rm "$log"
  ((status == 0)) || printf '== %s failed, with status %d\n' "$name" "$status"
  return $status
}
export -f beside
xargs -r -P "$(nproc)" -d '\n' -n 2 bash -c 'beside "$0" "$1"' <<'END'
The pages
scripts/test-page.sh; scripts/test-search-page.sh
Client libraries
scripts/test-clients.sh
Object store
scripts/test-object-storage.sh
What the system refuses for a moment
scripts/starve.py --rounds 1
Examples in documentation
cargo test --workspace --quiet --doc
Labelled sets
scripts/labelled.sh
Tuning on simulated clicks
scripts/simulate.py --small
The conformance suite of MCP
scripts/test-mcp.sh
The site
if command -v mdbook target/mdbook/bin/mdbook >/dev/null; then scripts/docs.sh; else echo "SKIPPED: there is no mdbook, and pip has none for this system"; fi
Packaging
scripts/test-packaging.sh
END
report
echo "All passed"
