//! Looks up beforehand what the first query with a word would wait for.
//!
//! The terms near a word and the documents of the best two words that it may be read as are found once per segment and
//! then kept. People write the frequent words of a text in their queries more often than any others, so those of a large
//! segment are looked up when it is there to stay, or the first search meets it, behind the searches.

use std::sync::{Arc, Weak};

use super::candidates::SegmentQuery;
use super::graph::QueryGraph;
use super::joined::beginnings;
use super::options::QueryOptions;
use super::parser::{QueryTerm, TermKind};
use super::split::choose_splits;
use crate::background::{give_way, stay_behind};
use crate::segment::SegmentReader;

/// Words looked up in a segment, where its caches have room for them: nine tenths of the words of a text, where there are
/// 88,000 different ones.
const WORDS: usize = 8192;
/// Of these, words that are looked up as the last one of a query too, which may be unfinished.
const LAST_WORDS: usize = 1024;
/// The files of a segment are entered into the tables of the process when they are no larger: they are in memory mostly,
/// and where they are not, others hardly have to leave for them.
const POPULATED_BYTES_MAX: usize = 256 << 20;
/// Smaller segments answer the first query as fast as the next.
const DOCS_MIN: u32 = 1 << 14;

/// Begins with the segments that nobody has begun with, and tells whether there are any. `options`: of searches in all searchable attributes. Cost:
/// 0.35 s of a thread of low priority for 200,000 documents, once per segment.
pub(crate) fn begin<'a>(readers: impl Iterator<Item = &'a Arc<SegmentReader>>, options: &QueryOptions) -> bool {
    let cold = readers.filter(|reader| reader.doc_count() >= DOCS_MIN && reader.begin_warm_up());
    let cold: Vec<Weak<SegmentReader>> = cold.map(Arc::downgrade).collect();
    if cold.is_empty() {
        return false;
    }
    let options = options.clone();
    // A pool of one: whatever a look-up does on all threads stays on this one.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "warm up".to_owned());
    match pool.start_handler(|_| stay_behind()).build() {
        Ok(pool) => pool.spawn(move || cold.iter().for_each(|reader| warm(reader, &options))),
        Err(error) => tracing::debug!(%error, "the first queries find nothing looked up"),
    }
    true
}

/// Ends early when nobody else has the segment any more, and when further words would push out more frequent ones.
fn warm(segment: &Weak<SegmentReader>, options: &QueryOptions) {
    let begin = |reader: Arc<SegmentReader>| {
        reader.populate(POPULATED_BYTES_MAX);
        reader.tokens().frequent_terms(WORDS)
    };
    let Some(words) = segment.upgrade().map(begin) else { return };
    for (place, word) in words.into_iter().enumerate() {
        give_way();
        let Some(reader) = segment.upgrade().filter(|reader| !reader.has_full_caches()) else { return };
        let Ok(text) = String::from_utf8(reader.terms().term(word)) else { continue };
        let kinds: &[bool] = if place < LAST_WORDS { &[false, true] } else { &[false] };
        for &prefix in kinds {
            let kind = TermKind::Word { text: text.clone(), prefix };
            let graph = QueryGraph::new(vec![QueryTerm::alone(kind)], options);
            let mut query = SegmentQuery::new(&reader, None, &graph, options);
            choose_splits(&graph, &mut [&mut query]);
        }
        // Of words that accept typos they are known by now.
        beginnings(&reader, &text);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::id::{Gap, SegmentId};
    use crate::oracle::Corpus;
    use crate::segment::{Cut, SegmentWriter, SegmentWriterOptions, TypoKey};
    use crate::storage::MemoryDirectory;

    /// A segment of so many documents that all say the same.
    fn segment(documents: u32) -> Arc<SegmentReader> {
        let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
        for id in 0..documents {
            writer.begin_document(u64::from(id), &id.to_string(), b"{}");
            writer.word(0, "sunflower", Gap::Soft);
            writer.end_document();
        }
        let directory = MemoryDirectory::new();
        let meta = writer.finish(&directory, SegmentId(1)).expect("memory takes it");
        Arc::new(SegmentReader::open(&directory, &meta).expect("it is whole"))
    }

    #[test]
    fn large_segments_are_begun_with_and_small_ones_are_not() {
        let segments = [segment(DOCS_MIN), segment(DOCS_MIN - 1)];
        let corpus = Corpus::new(serde_json::json!({}), &[vec![serde_json::json!({ "id": 1 })]], &[]);
        let resolved = crate::query::resolve::ResolvedSettings::of(&corpus.snapshot.settings);
        let options = crate::query::resolve::resolve(&corpus.snapshot, &resolved, None).expect("nothing is named");
        begin(segments.iter(), &options);
        assert_eq!(segments.each_ref().map(|segment| segment.begin_warm_up()), [false, true]);
        let patience = Instant::now() + Duration::from_secs(60);
        while !segments[0].cut_cache().contains("sunflower") {
            assert!(Instant::now() < patience, "nobody works");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn words_are_looked_up_with_their_typos_and_splits() {
        let documents: Vec<_> = ["sunflower sunflowers", "sun flower", "a sun flower there"]
            .iter()
            .chain([&"sunflower"; 40])
            .zip(1..)
            .map(|(text, id)| serde_json::json!({ "id": id, "text": text }))
            .collect();
        let corpus = Corpus::new(serde_json::json!({}), &[documents], &[]);
        let snapshot = &corpus.snapshot;
        let reader = &snapshot.segments[0].reader;
        let resolved = crate::query::resolve::ResolvedSettings::of(&snapshot.settings);
        let options = crate::query::resolve::resolve(snapshot, &resolved, None).expect("nothing is named");
        assert!(reader.begin_warm_up() && !reader.begin_warm_up(), "only one begins");
        warm(&Arc::downgrade(reader), &options);
        let word = |text: &str| reader.terms().ordinal(text.as_bytes()).expect("it is in a document");
        let key = TypoKey { word: "sunflower".into(), prefix: false, budget: 2 };
        let near = reader.typo_cache().get_or_find(key, || panic!("it was looked up"));
        assert_eq!(*near, [vec![word("sunflowers")], Vec::new()]);
        let pair = [word("sun"), word("flower")];
        let cuts = reader.cut_cache().get_or_find("sunflower".into(), || panic!("it was cut"));
        assert_eq!(*cuts, [Cut { at: 3, words: pair, docs_max: 2 }]);
        let docs = reader.pair_cache().get_or_find(pair, || panic!("it was counted"));
        assert_eq!(docs.to_vec(), [1, 2]);
        assert!(reader.beginning_cache().contains("sunflower"));
        warm(&Weak::new(), &options);
    }
}
