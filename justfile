# One recipe per need; CI calls `.ci/run`, which is `just test` without just.

_default:
    @just --list

# Type-check everything.
check:
    cargo check --workspace --all-targets

# Format the code.
fmt:
    cargo fmt --all

# Lints, warnings denied.
lint:
    cargo fmt --all -- --check
    cargo clippy --workspace --all-targets -- --deny warnings

# Everything that CI runs.
test:
    scripts/test.sh

# One part of the end-to-end tests, e.g. `just e2e documents`.
e2e filter="":
    cargo test -p lamina-tests {{filter}}

# The official client libraries.
clients:
    scripts/test-clients.sh

# Criterion suites, e.g. `just bench search`.
bench suite="":
    cargo bench -p lamina-benches {{ if suite == "" { "" } else { "--bench " + suite } }}

# A bare tantivy index of the same six fields, for comparison.
compare corpus:
    cargo run --release --manifest-path benches/compare-tantivy/Cargo.toml -- {{corpus}}

# Build, start, load the sample, search.
demo:
    scripts/demo.sh

# Licences, advisories, duplicates (needs cargo-deny).
deny:
    cargo deny check

# API documentation.
doc:
    cargo doc --workspace --no-deps

# What a data folder holds, e.g. `just inspect demo.lamina`.
inspect +args:
    cargo run --release --quiet --bin lamina -- inspect {{args}}
