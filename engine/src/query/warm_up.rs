//! Looks up beforehand what the first query with a word would wait for.
//!
//! The terms near a word and the documents of the best two words that it may be read as are found once per segment and
//! then kept. People write the frequent words of a text in their queries more often than any others, so those of a large
//! segment are looked up when it is there to stay, or the first search meets it, behind the searches.

use std::sync::{Arc, Weak};

use lamina_index::caches::{CachedSegment, SegmentCaches};
use lamina_index::runtime::Urgency;
use lamina_segment::segment::SegmentReader;

use super::candidates::SegmentQuery;
use super::graph::QueryGraph;
use super::joined::beginnings;
use super::options::QueryOptions;
use super::parser::{QueryTerm, TermKind};
use super::split::choose_splits;

/// Words looked up in a segment, where its caches have room for them: nine tenths of the words of a text, where there are
/// 88,000 different ones.
const WORDS: usize = 8192;
/// Number of these words that are also looked up as the last word of a query, which may be incomplete.
const LAST_WORDS: usize = 1024;
/// The files of a segment are entered into the tables of the process when they are no larger: they are in memory mostly,
/// and where they are not, others hardly have to leave for them.
const POPULATED_BYTES_MAX: usize = 256 << 20;
/// Smaller segments answer the first query as fast as the next.
const DOCS_MIN: u32 = 1 << 14;

/// Begins with the segments that were not begun with, and answers whether there are any. `options`: of searches in all
/// searchable attributes. Cost: 0.35 s of a thread of low priority for 200,000 documents, once per segment.
pub(crate) fn begin<'a>(segments: impl Iterator<Item = SharedSegment<'a>>, options: &QueryOptions) -> bool {
    let is_cold = |(reader, caches): &SharedSegment<'_>| reader.doc_count() >= DOCS_MIN && caches.begin_warm_up();
    let cold: Vec<SharedSegment<'_>> = segments.filter(is_cold).collect();
    let Some((_, caches)) = cold.first() else { return false };
    let runtime = Arc::clone(caches.runtime());
    let segments: Vec<WeakSegment> = cold.into_iter().map(WeakSegment::of).collect();
    let options = options.clone();
    runtime.spawn(Urgency::Sometime, move || segments.iter().for_each(|segment| warm(segment, &options)));
    true
}

/// A segment that a snapshot has.
type SharedSegment<'a> = (&'a Arc<SegmentReader>, &'a Arc<SegmentCaches>);

/// A segment as long as a snapshot has it.
struct WeakSegment {
    reader: Weak<SegmentReader>,
    caches: Weak<SegmentCaches>,
}

impl WeakSegment {
    fn of((reader, caches): SharedSegment<'_>) -> WeakSegment {
        WeakSegment { reader: Arc::downgrade(reader), caches: Arc::downgrade(caches) }
    }

    fn upgrade(&self) -> Option<(Arc<SegmentReader>, Arc<SegmentCaches>)> {
        Some((self.reader.upgrade()?, self.caches.upgrade()?))
    }
}

/// Ends early when no snapshot has the segment any more, and when further words would push out more frequent ones.
fn warm(segment: &WeakSegment, options: &QueryOptions) {
    let begin = |(reader, caches): (Arc<SegmentReader>, Arc<SegmentCaches>)| {
        reader.populate(POPULATED_BYTES_MAX);
        (reader.tokens().frequent_terms(WORDS), Arc::clone(caches.runtime()))
    };
    let Some((words, runtime)) = segment.upgrade().map(begin) else { return };
    for (place, word) in words.into_iter().enumerate() {
        runtime.give_way();
        let Some((reader, caches)) = segment.upgrade().filter(|(_, caches)| !caches.are_full()) else { return };
        let segment = CachedSegment { reader: &reader, caches: &caches };
        let Ok(text) = String::from_utf8(reader.terms().term(word)) else { continue };
        let kinds: &[bool] = if place < LAST_WORDS { &[false, true] } else { &[false] };
        for &prefix in kinds {
            let kind = TermKind::Word { text: text.clone(), prefix };
            let graph = QueryGraph::new(vec![QueryTerm::alone(kind)], options);
            let mut query = SegmentQuery::new(segment, None, &graph, options);
            choose_splits(&graph, &mut [&mut query]);
        }
        // Of words that accept typos they are known by now.
        beginnings(segment, &text);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use lamina_index::caches::{Cut, TypoKey};
    use lamina_index::runtime::Runtime;
    use lamina_segment::segment::{SegmentWriter, SegmentWriterOptions};
    use lamina_segment::storage::MemoryDirectory;
    use lamina_text::id::{Gap, SegmentId};

    use super::*;
    use crate::oracle::Corpus;

    /// A segment of so many documents that all say the same.
    fn segment(documents: u32) -> (Arc<SegmentReader>, Arc<SegmentCaches>) {
        let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
        for id in 0..documents {
            writer.begin_document(u64::from(id), &id.to_string(), b"{}");
            writer.word(0, "sunflower", Gap::Soft);
            writer.end_document();
        }
        let directory = MemoryDirectory::new();
        let meta = writer.finish(&directory, SegmentId(1)).expect("memory takes it");
        let reader = SegmentReader::open(&directory, &meta).expect("it is whole");
        (Arc::new(reader), Arc::new(SegmentCaches::new(documents, Runtime::new())))
    }

    #[test]
    fn large_segments_are_begun_with_and_small_ones_are_not() {
        let corpus = Corpus::new(serde_json::json!({}), &[vec![serde_json::json!({ "id": 1 })]], &[]);
        let options = crate::query::resolve::resolve(&corpus.snapshot, None).expect("no attribute is named");
        let segments = [segment(DOCS_MIN), segment(DOCS_MIN - 1)];
        begin(segments.iter().map(|(reader, caches)| (reader, caches)), &options);
        assert_eq!(segments.each_ref().map(|(_, caches)| caches.begin_warm_up()), [false, true]);
        let patience = Instant::now() + Duration::from_secs(60);
        while !segments[0].1.cuts.contains("sunflower") {
            assert!(Instant::now() < patience, "no thread works");
            // Between looks.
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
        let CachedSegment { reader, caches } = snapshot.segments[0].cached();
        let options = crate::query::resolve::resolve(snapshot, None).expect("no attribute is named");
        assert!(caches.begin_warm_up(), "only one begins");
        assert!(!caches.begin_warm_up(), "only one begins");
        let view = &snapshot.segments[0];
        warm(&WeakSegment::of((&view.reader, &view.caches)), &options);
        let word = |text: &str| reader.terms().ordinal(text.as_bytes()).expect("it is in a document");
        let key = TypoKey { word: "sunflower".into(), prefix: false, budget: 2 };
        let near = caches.typos.get_or_find(key, || panic!("it was looked up"));
        assert_eq!(*near, [vec![word("sunflowers")], Vec::new()]);
        let pair = [word("sun"), word("flower")];
        let cuts = caches.cuts.get_or_find("sunflower".into(), || panic!("it was cut"));
        assert_eq!(*cuts, [Cut { at: 3, words: pair, docs_max: 2 }]);
        let docs = caches.pairs.get_or_find(pair, || panic!("it was counted"));
        assert_eq!(docs.to_vec(), [1, 2]);
        assert!(caches.beginnings.contains("sunflower"));
        warm(&WeakSegment { reader: Weak::new(), caches: Weak::new() }, &options);
    }
}
