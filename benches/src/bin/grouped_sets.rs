//! A model of grouped sets: the documents of frequent words, grouped by field set and zone when a segment is written, and a query
//! as a walk over combinations of groups, cheapest first. Nothing of it is in the format: sets are made from the lists of a real
//! index before the clock runs.
//!
//! `cargo run --release -p lamina-benches --bin grouped_sets -- folder queries.tsv`
//!
//! Each line of the list is a kind, a tab and words. Printed are the bytes of lists and of grouped sets of all frequent words, and
//! for each kind, in microseconds of one thread over all segments, the mean of: `search`, a whole search of today without typos;
//! `numbers`, the part of it that writes a number for each document and selects the best; `walk`, the same by grouped sets.
//! `read` is the number of documents whose tokens either would read: those of the groups that are taken until there are 20.

use std::collections::{BTreeMap, BinaryHeap};
use std::path::PathBuf;
use std::time::Instant;

use lamina_engine::bits::DocSet;
use lamina_engine::id::{DocId, TermOrdinal};
use lamina_engine::index::{Index, IndexOptions, Snapshot};
use lamina_engine::search::{MatchingStrategy, SearchRequest, search};
use lamina_engine::segment::{SegmentReader, ZONE_COUNT, ZONE_STARTS};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Documents that are wanted.
const WANTED: u32 = 20;
/// A word with one document in this many, and at least so many, is frequent.
const FREQUENT: (u32, u32) = (64, 1024);
/// A set with one document in this many is kept as bits.
const DENSE_SHARE: usize = 16;
const RUNS: usize = 3;

/// Least costs of a document: that of `attributeRank` above that of `wordPosition`.
type Cost = u16;
const POSITION_BITS: u32 = 6;

/// Documents of a word by their cost, cheapest first.
struct Grouped {
    groups: Vec<(Cost, DocSet)>,
    docs: DocSet,
}

/// By field set code and zone.
fn table(reader: &SegmentReader, weight: impl Fn(u16) -> u16, place: u32) -> Vec<[Cost; ZONE_COUNT]> {
    let sets = reader.postings().field_sets();
    let position = |zone: usize| match ZONE_STARTS[zone].saturating_sub(place) {
        0 => 0,
        1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let row = |code| {
        let rank = sets.fields(code).iter().map(|&field| weight(field)).min().unwrap_or(0);
        std::array::from_fn(|zone| rank << POSITION_BITS | position(zone))
    };
    (0..sets.len() as u32).map(row).collect()
}

fn grouped(reader: &SegmentReader, word: TermOrdinal, table: &[[Cost; ZONE_COUNT]]) -> Grouped {
    let mut by_cost: BTreeMap<Cost, Vec<DocId>> = BTreeMap::new();
    reader.postings().for_each_with_zone(word, |doc, code, zone| {
        by_cost.entry(table[code as usize][usize::from(zone)]).or_default().push(doc);
    });
    let dense = |docs: Vec<DocId>| {
        let is_dense = docs.len() * DENSE_SHARE >= reader.doc_count() as usize;
        let set = DocSet::from_sorted(docs);
        if is_dense { set.into_bitset(reader.doc_count()) } else { set }
    };
    let groups = by_cost.into_iter().map(|(cost, docs)| (cost, dense(docs))).collect();
    Grouped { groups, docs: reader.postings().docs(word) }
}

/// Walks combinations of one group of each word, cheapest first. Returns the number of all documents with all words, and how many
/// are taken until there are enough.
fn walk(words: &[Grouped]) -> (u32, u32) {
    let all = match words {
        [only] => only.docs.len(),
        [first, second] => first.docs.and_len(&second.docs),
        [first, rest @ ..] => rest.iter().fold(first.docs.clone(), |all, word| all.and(&word.docs)).len(),
        [] => 0,
    };
    let wanted = WANTED.min(all);
    let cost = |places: &[usize]| -> Cost { places.iter().zip(words).map(|(&at, word)| word.groups[at].0).sum() };
    let start = vec![0; words.len()];
    let mut heap = BinaryHeap::from([std::cmp::Reverse((cost(&start), start))]);
    let mut taken = 0;
    while taken < wanted
        && let Some(std::cmp::Reverse((_, places))) = heap.pop()
    {
        let mut sets: Vec<&DocSet> = places.iter().zip(words).map(|(&at, word)| &word.groups[at].1).collect();
        sets.sort_by_key(|set| set.len());
        taken += match *sets {
            [only] => only.len(),
            [first, second] => first.and(second).len(),
            _ => sets[1..].iter().fold(sets[0].clone(), |docs, set| docs.and(set)).len(),
        };
        // Each combination is reached by one way: the last word that has moved, or a later one, moves on.
        let from = places.iter().rposition(|&at| at > 0).unwrap_or(0);
        for word in from..places.len() {
            let mut next = places.clone();
            next[word] += 1;
            if next[word] < words[word].groups.len() {
                heap.push(std::cmp::Reverse((cost(&next), next)));
            }
        }
    }
    (all, taken)
}

/// What a search does today: a number for each document, then those with the least.
fn numbers(reader: &SegmentReader, words: &[(TermOrdinal, Vec<[Cost; ZONE_COUNT]>)], slots: &mut Vec<u16>) -> u32 {
    let postings = reader.postings();
    let mut all = postings.docs(words[0].0);
    words[1..].iter().for_each(|word| all.and_assign(&postings.docs(word.0)));
    slots.clear();
    slots.resize(reader.doc_count() as usize, 0);
    for (word, table) in words {
        postings.for_each_number(*word, table, slots, |slot, cost| *slot += cost);
    }
    let mut counts = vec![0u32; 1 << 12];
    all.for_each(|doc| counts[usize::from(slots[doc as usize]) & 0xfff] += 1);
    let mut taken = 0;
    for count in counts {
        taken += count;
        if taken >= WANTED {
            break;
        }
    }
    taken
}

/// Bytes of a list of documents alone: packed blocks of 128, or bits.
fn list_bytes(docs: &[DocId], doc_count: u32) -> usize {
    let blocks = docs.chunks(128).map(|block| {
        let widest = block.windows(2).map(|pair| pair[1] - pair[0] - 1).max().unwrap_or(0);
        10 + block.len() * (u32::BITS - widest.leading_zeros()) as usize / 8
    });
    blocks.sum::<usize>().min(doc_count as usize / 8)
}

fn print_sizes(snapshot: &Snapshot) {
    let (mut words, mut postings_count, mut today, mut sets, mut groups_count) = (0u64, 0u64, 0, 0, 0u64);
    for view in &snapshot.segments {
        let (reader, doc_count) = (&view.reader, view.reader.doc_count());
        let at_least = (doc_count / FREQUENT.0).max(FREQUENT.1);
        for word in reader.terms().ordinals().filter(|&word| reader.postings().doc_freq(word) >= at_least) {
            let (mut docs, mut codes, mut list) = (Vec::new(), Vec::new(), Vec::new());
            let mut groups: BTreeMap<(u32, u8), Vec<DocId>> = BTreeMap::new();
            reader.postings().for_each_with_zone(word, |doc, code, zone| {
                docs.push(doc);
                codes.push(code);
                groups.entry((code, zone)).or_default().push(doc);
            });
            lamina_engine::segment::Postings::encode_list(&docs, &codes, doc_count, &mut list);
            // Zones take two bits; small segments have them already.
            today += list.len() + docs.len() / 4;
            let largest = groups.values().map(Vec::len).max().unwrap_or(0);
            let others = groups.values().filter(|docs| docs.len() < largest);
            // As a set that is used from the map, the documents are bits from one in 16 on.
            let dense = docs.len() * DENSE_SHARE >= doc_count as usize;
            sets += if dense { doc_count as usize / 8 } else { list_bytes(&docs, doc_count) };
            sets += others.map(|docs| list_bytes(docs, doc_count) + 6).sum::<usize>();
            (words, postings_count) = (words + 1, postings_count + docs.len() as u64);
            groups_count += groups.len() as u64;
        }
    }
    println!(
        "{words} frequent words, {postings_count} postings, {groups_count} groups: lists {:.1} MB, grouped sets {:.1} MB",
        today as f64 / 1e6,
        sets as f64 / 1e6
    );
}

#[derive(Default)]
struct Sums {
    count: u32,
    micros: [f64; 3],
    read: [u64; 2],
}

/// Mean microseconds of the best of some runs.
fn best(mut run: impl FnMut()) -> f64 {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e6
    });
    times.fold(f64::MAX, f64::min)
}

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, list] = arguments.as_slice() else { return Err("usage: grouped_sets folder queries.tsv".into()) };
    let index = Index::open(folder, IndexOptions { background_merges: false, ..IndexOptions::default() })?;
    let snapshot = index.snapshot();
    println!("{} documents, {} segments", snapshot.document_count(), snapshot.segments.len());
    print_sizes(&snapshot);
    let searchable = ["title", "brand", "author", "category", "description", "sku"];
    let weight = |field: u16| {
        let name = snapshot.fields.name(field).unwrap_or_default();
        searchable.iter().position(|known| *known == name).unwrap_or(searchable.len()) as u16
    };
    let mut kinds: BTreeMap<String, Sums> = BTreeMap::new();
    let mut slots = Vec::new();
    for (kind, text) in std::fs::read_to_string(list)?.lines().filter_map(|line| line.split_once('\t')) {
        let texts: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let sums = kinds.entry(kind.to_owned()).or_default();
        sums.count += 1;
        // The space behind it makes its last word a whole one.
        let query = format!("{} ", texts.join(" "));
        let request = || SearchRequest {
            query: Some(query.clone()),
            matching: MatchingStrategy::All,
            ..SearchRequest::default()
        };
        sums.micros[0] += best(|| drop(std::hint::black_box(search(&snapshot, &request()))));
        for view in &snapshot.segments {
            let ordinals: Option<Vec<TermOrdinal>> =
                texts.iter().map(|word| view.reader.terms().ordinal(word.as_bytes())).collect();
            let Some(ordinals) = ordinals else { continue };
            let tables: Vec<_> =
                (0..).zip(ordinals).map(|(place, word)| (word, table(&view.reader, weight, place))).collect();
            let sets: Vec<Grouped> = tables.iter().map(|(word, table)| grouped(&view.reader, *word, table)).collect();
            let (mut by_numbers, mut by_sets) = (0, 0);
            sums.micros[1] += best(|| by_numbers = numbers(&view.reader, &tables, &mut slots));
            sums.micros[2] += best(|| by_sets = walk(&sets).1);
            sums.read[0] += u64::from(by_numbers);
            sums.read[1] += u64::from(by_sets);
        }
    }
    for (kind, Sums { count, micros: [search, numbers, walk], read }) in kinds {
        let mean = |sum: f64| sum / f64::from(count);
        println!(
            "{kind:<12} {count:>4} queries: search {:>9.1} numbers {:>9.1} walk {:>8.1}, read {:>9.0} and {:>9.0}",
            mean(search),
            mean(numbers),
            mean(walk),
            mean(read[0] as f64),
            mean(read[1] as f64)
        );
    }
    Ok(())
}
