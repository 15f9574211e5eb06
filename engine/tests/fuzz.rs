//! The fuzz targets of `fuzz/`, run over their seeds and a fixed number of mutations of them: what the stable toolchain
//! can do in seconds. The mutations are the same in each run, unless `FUZZ_MUTATIONS` and `FUZZ_SEED` ask for more and for
//! others: `FUZZ_MUTATIONS=1000000 FUZZ_SEED=7 cargo test --release -p lamina-engine --test fuzz filters`.

#[path = "../../fuzz/entries.rs"]
#[expect(unreachable_pub, reason = "they are public in the crate of the fuzzers")]
mod entries;

use std::fs;
use std::path::Path;

/// Inputs tried per target beside the seeds.
const MUTATIONS: u64 = 4_000;
/// Seed of the random numbers.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number of the environment.
fn asked(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

/// A small generator of numbers (xorshift64*), so that runs are alike.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Pieces that grammars react to.
const TOKENS: [&[u8]; 16] = [
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\"",
    b"'",
    b"\\",
    b" NOT ",
    b" OR ",
    b",",
    b"\xff",
    b"\xe6\x9d\xb1",
    b"\n",
    b"-",
];

/// One or several small changes: a byte, a token, a piece left out, doubled or taken from another seed.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut data = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(data.len() + 1);
        let end = (at + random.below(16)).min(data.len());
        match random.below(6) {
            0 if at < data.len() => data[at] = random.next() as u8,
            1 => drop(data.splice(at..at, TOKENS[random.below(TOKENS.len())].iter().copied())),
            2 => drop(data.drain(at..end)),
            3 => {
                let piece = data[at..end].to_vec();
                data.splice(at..at, piece);
            }
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                data.truncate(at);
                data.extend_from_slice(&other[from..]);
            }
            _ => data.truncate(at),
        }
    }
    data
}

/// Runs a target over its seeds and their mutations. A panic names the input.
fn run(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).expect("seeds").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a seed")).collect();
    assert!(!seeds.is_empty());
    let mut random = Random(asked("FUZZ_SEED", SEED).max(1));
    let mutations = (0..asked("FUZZ_MUTATIONS", MUTATIONS)).map(|_| mutated(&seeds, &mut random));
    for data in seeds.iter().cloned().chain(mutations) {
        let outcome = std::panic::catch_unwind(|| target(&data));
        assert!(outcome.is_ok(), "{name} fails on {:?} (text: {:?})", data, String::from_utf8_lossy(&data));
    }
}

#[test]
fn filters() {
    run("filter", entries::filter);
}

#[test]
fn queries() {
    run("query", entries::query);
}

#[test]
fn segments() {
    run("segment", entries::segment);
}

#[test]
fn payloads() {
    run("payload", entries::payload);
}

#[test]
fn shapes() {
    run("shape", entries::shape);
}

#[test]
fn formats() {
    run("format", entries::format);
}
