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
    cargo test --workspace --test e2e -- {{filter}}

# Property tests with cases that no run drew before, e.g. `just properties 20`; a failure prints its seed.
properties rounds="5":
    for i in $(seq {{rounds}}); do \
        seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "PROPTEST_RNG_SEED=$seed"; \
        PROPTEST_RNG_SEED=$seed cargo test --quiet -p lamina-engine --lib || exit 1; \
    done

# kill -9 in loops, e.g. `just kills 200`: many more rounds than CI has time for.
kills rounds="100":
    LAMINA_KILL_ROUNDS={{rounds}} cargo test --workspace --test e2e -- kills restart

# Random searches against the definition, e.g. `just oracle 2560`: ten times as many as CI has time for.
oracle cases="2560":
    PROPTEST_CASES={{cases}} cargo test --release --workspace --test oracle --test questions

# Schedules of servers that publish, follow and take over, e.g. `just schedules 100000`, or `just schedules 50000 100000` for those from number 100,000: CI runs the first 4,000.
schedules count="20000" from="0":
    LAMINA_SCHEDULES={{count}} LAMINA_SCHEDULES_FROM={{from}} cargo test --release -p lamina-replication --lib -- tests::simulated --nocapture

# A group of three whose writer is killed over and over, e.g. `just failover 1000`: how soon another one writes, and nothing is lost that was acknowledged (`store`) or published (`local`).
failover rounds="20" durability="store":
    cargo build --release --bin lamina
    scripts/failover.py target/release/lamina --rounds {{rounds}} --durability {{durability}}

# Histories that part: former writers with commits that no root names, earlier states, points in time, stores that are not mounted, e.g. `just histories 1000`.
histories rounds="20":
    cargo build --release --bin lamina
    scripts/histories.py target/release/lamina --rounds {{rounds}}

# The same as `failover` over each emulator of an object store that is installed (moto, s3s-fs, Azurite, fake-gcs-server), and over a folder.
failover-stores rounds="10" durability="store":
    cargo build --release --bin lamina
    scripts/test-object-storage.sh prepare
    scripts/failover-stores.py target/release/lamina --rounds {{rounds}} --durability {{durability}}

# Damage to every section, manifest and file of tombstones of an index, e.g. `just flips 200` for each: answers are right, or errors.
flips count="50":
    LAMINA_FLIPS={{count}} cargo test --release -p lamina-engine --lib -- index::tests::damage

# Failing system calls: descriptors and calls that the system refuses for a moment, many rounds.
failing-calls rounds="50":
    cargo build --workspace --bin lamina --test e2e
    scripts/starve.py --what descriptors,calls --rounds {{rounds}}

# Full disks: no room for a moment, many rounds.
full-disks rounds="50":
    cargo build --workspace --bin lamina --test e2e
    scripts/starve.py --what disk --rounds {{rounds}}

# How much of the gain of true judgements simulated clicks reach, e.g. `just simulate --msrd FOLDER` for all films: CI tunes one small set.
simulate *options:
    cargo build --release --bin lamina
    scripts/simulate.py target/release/lamina {{options}}

# How often equal variants of an experiment are called different, and how often a better one is found: CI runs 200 and 50.
experiments count="1000":
    LAMINA_EXPERIMENTS={{count}} cargo test --release -p lamina-server --lib -- evidence --nocapture

# Thousands of indexes under `ulimit -n 1024`: each written and searched, lists timed.
many-indexes count="10000":
    cargo build --release --bin lamina
    scripts/many-indexes.py target/release/lamina {{count}}

# Writers of single documents: how many are accepted, and how soon they are found.
small-writes writers="64":
    cargo build --release --bin lamina
    scripts/small-writes.py target/release/lamina --writers {{writers}} --p50-ms 50

# Flips, cuts and removals of every file beside the indexes, e.g. `just damage 500`: many more rounds than CI has time for.
damage rounds="200":
    LAMINA_DAMAGE_ROUNDS={{rounds}} cargo test --workspace --test e2e -- lost_store

# Mixed load with restarts for some minutes, and invariants at the end.
soak minutes="10":
    cargo build --release --bin lamina
    scripts/soak.py --minutes {{minutes}}

# Requests that ask for all the memory there is, to a server inside 512 and 256 MB.
hostile:
    cargo build --release --bin lamina
    scripts/hostile-requests.py --memory 256 --documents 200000
    scripts/hostile-requests.py --memory 512 --documents 200000
    scripts/hostile-requests.py --memory 256 --documents 1000000
    scripts/hostile-requests.py --memory 512 --documents 1000000

# Requests made from the description of the routes: none may be answered with 5xx.
contract examples="30":
    scripts/test-contract.sh {{examples}}

# The page at `/` in a headless Chromium; pictures of it in target/page.
page:
    scripts/test-page.sh

# All tests of the console in a headless Chromium, which take longer than CI has time for; or some: `just console-tests console-relevance`.
console-tests *parts="console-relevance console-hostile console-search console-data console console-tasks console-analytics":
    scripts/test-page.sh {{parts}}

# A picture of every view of the page, in light and dark, at 390, 1280 and 2560 pixels, in target/page/views.
pictures:
    cargo build --workspace --bin lamina
    scripts/pictures.sh

# A real model inside a release build of the server, over the sample films.
model:
    cargo build --release --bin lamina
    scripts/test-model.sh

# The official client libraries.
clients:
    scripts/test-clients.sh

# The conformance suite of the Model Context Protocol, and its client.
mcp:
    scripts/test-mcp.sh

# The recipes for language models, with the libraries that they are for.
recipes:
    cargo build --workspace --bin lamina --test e2e
    scripts/test-recipes.sh

# The tests of another client, as its authors wrote them.
client-suite:
    scripts/test-client-suite.sh

# Snapshots through an object store that checks signatures.
objects:
    scripts/test-object-storage.sh

# The image and the compose file, with docker or podman, e.g. `just image` or `just image my-image` for one that is built.
image name="":
    scripts/test-image.sh {{name}}

# `lamina sync` with a real PostgreSQL: changes all the while, kill -9 of each of the three, e.g. `just sync 60`.
sync seconds="30":
    cargo build --release --bin lamina
    scripts/test-sync.py --binary target/release/lamina --seconds {{seconds}}
    scripts/test-sync.py --binary target/release/lamina --seconds {{seconds}} --tls

# A fuzz target (needs cargo-fuzz and a nightly toolchain), e.g. `just fuzz filter`.
fuzz target:
    cd fuzz && mkdir -p corpus/{{target}} && cargo +nightly fuzz run {{target}} corpus/{{target}} seeds/{{target}}

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
