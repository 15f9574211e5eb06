#!/usr/bin/env bash
# Runs the conformance suite of the Model Context Protocol, at each version that it knows, and the protocol's own client against the debug build. The checks
# that need what is not offered are listed in tests/clients/mcp/expected-failures.yml.
# usage: scripts/test-mcp.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --workspace --bin lamina --test e2e
work=$PWD/target/clients/mcp
if ! cmp -s tests/clients/mcp/package-lock.json "$work/installed"; then
  rm -rf "$work"
  mkdir -p "$work"
  cp tests/clients/mcp/package.json tests/clients/mcp/package-lock.json "$work/"
  npm ci --prefix "$work" --no-audit --no-fund --silent
  # The suite needs Node 22, and Debian 12 and 13 have older ones.
  node -e 'process.exit(Number(parseInt(process.versions.node) < 22))' ||
    npm install --prefix "$work/node" --no-audit --no-fund --silent node@22.23.3
  cp tests/clients/mcp/package-lock.json "$work/installed"
fi
cp tests/clients/mcp/client.mjs "$work/"

export LAMINA=${LAMINA:-$PWD/target/debug/lamina} PATH=$work/node/node_modules/.bin:$PATH work
conform() {
  for version in 2025-06-18 2025-11-25 2026-07-28; do
    node "$work/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$LAMINA_URL/mcp" --suite all --spec-version "$version" \
      --expected-failures tests/clients/mcp/expected-failures.yml >"$work/$version.log" 2>&1 || { cat "$work/$version.log"; return 1; }
    echo "The conformance suite at $version: $(sed -n 's/^Total: //p' "$work/$version.log"), all of them as expected"
  done
  node "$work/client.mjs"
}
export -f conform
scripts/with-server.sh -- bash -euc conform
