#!/usr/bin/env bash
# Makes a profile of the server, with which a compiler optimises what is used most: builds a server that counts what it runs, uses it
# (scripts/exercise.py), and merges the counts. Writes target/profile/lamina.profdata, and says so in its last line.
# It needs an `llvm-profdata` that reads what the compiler writes: that of `rustup component add llvm-tools`, or a recent one of the system.
# usage: scripts/profile.sh [features of cargo build…]     (e.g. --no-default-features)
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
profdata=
for one in "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" /usr/lib/llvm-{30..19}/bin/llvm-profdata /opt/homebrew/opt/llvm/bin/llvm-profdata; do
  [[ -z $profdata && -x $one ]] && profdata=$one
done
[[ -n $profdata ]] || { echo "there is no llvm-profdata: rustup component add llvm-tools" >&2; exit 1; }

folder=$PWD/target/profile
rm -rf "$folder/counts" && mkdir -p "$folder"
# `--target` leaves programs that run while others are built without counters. What it counts does not depend on how much is optimised across crates.
RUSTFLAGS="${RUSTFLAGS:-} -Cprofile-generate=$folder/counts" CARGO_TARGET_DIR=$folder/build \
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo build --release --locked --target "$host" --bin lamina "$@" >&2
LAMINA=$folder/build/$host/release/lamina scripts/with-server.sh --no-analytics --answer-cache-size 0 -- scripts/exercise.py >&2
"$profdata" merge -o "$folder/lamina.profdata" "$folder"/counts/*.profraw
echo "$folder/lamina.profdata"
