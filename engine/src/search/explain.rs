//! Why a document is a hit, or is not, and what it took to find out. Nothing here runs unless it is asked for.

use std::time::{Duration, Instant};

use hashbrown::HashMap;
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_text::filter::Filter;
use lamina_text::id::{FieldId, GAP, TermOrdinal};

use super::filtering::time_limit;
use super::{SearchError, SearchRequest};
use crate::condition::{PreparedFilter, TimeLimit};
use crate::query::expand::Expansion;
use crate::query::options::NOT_SEARCHED;
use crate::query::{Excluded, Node, QueryGraph, SegmentQuery, TermKind};
use crate::rank::context::SegmentInput;
use crate::rank::merge::RankedList;
use crate::rank::{RuleCandidates, ScoreDetail, global_score};

/// Positions of a match that are said: the first ones. A long text has millions.
const POSITIONS_MAX: usize = 100;
/// Words of a document that are looked at, with the gaps between them.
const TOKENS_MAX: usize = 100_000;

/// Explanations that a request wants besides its hits.
#[derive(Clone, Debug, Default)]
pub struct Explain {
    /// The primary key of a document: why it is a hit, or is not.
    pub document: Option<String>,
    /// A filter that documents must pass to be spoken of at all. It is a part of the request's filter too.
    pub imposed: Option<Filter>,
}

/// Explanation of a search.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// The words and phrases of the query, as they are looked for.
    pub words: Vec<String>,
    pub stages: Vec<Stage>,
    pub rules: Vec<RuleCandidates>,
    /// Matches of the query words in each hit.
    pub matches: HashMap<DocumentAddress, Vec<WordMatches>>,
    /// The document that was asked for.
    pub document: Option<DocumentExplanation>,
}

/// A step of a search.
#[derive(Clone, Debug)]
pub struct Stage {
    pub name: &'static str,
    pub took: Duration,
    /// Number of documents that the step left, for steps that have some.
    pub documents: Option<u64>,
}

/// Matches of a word or phrase of the query in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMatches {
    pub word: String,
    /// Empty when it is not there.
    pub matches: Vec<TermMatch>,
}

/// A word or words of a document that stand for a word of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermMatch {
    pub field: String,
    pub term: String,
    pub kind: MatchKind,
    /// In the field, the first ones; a hard separator counts for seven.
    pub positions: Vec<u32>,
}

/// Way in which a document matches a query word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKind {
    Exact,
    Phrase,
    Prefix,
    Synonym,
    /// Another form of the word: one with the same stem.
    Stem,
    OneTypo,
    TwoTypos,
    /// Match as two words.
    Split,
    /// Together with the words after it, as one.
    Concatenation,
}

/// Reason for which a document is a hit or is not.
#[derive(Clone, Debug)]
pub struct DocumentExplanation {
    pub id: String,
    pub standing: Standing,
    pub words: Vec<WordMatches>,
    /// Score, if the document was ranked.
    pub score: Option<f64>,
    pub details: Vec<ScoreDetail>,
    /// In searches by vectors, when it is among what they find.
    pub nearness: Option<Nearness>,
}

/// Position of a document in the list by vector similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// To the query; `None` without a vector.
    pub similarity: Option<f32>,
    /// So many are before it; `None` when the threshold or the distinct attribute leave it out.
    pub place: Option<u64>,
}

impl DocumentExplanation {
    fn new(id: &str, standing: Standing) -> DocumentExplanation {
        let (words, details) = (Vec::new(), Vec::new());
        DocumentExplanation { id: id.to_owned(), standing, words, score: None, details, nearness: None }
    }
}

/// Explains the standing of the requested document in a search by vectors. `found`: its standing and details, if it is
/// a candidate.
pub(super) fn explain_semantic(
    snapshot: &Snapshot,
    request: &SearchRequest,
    id: &str,
    found: Option<(Standing, Vec<ScoreDetail>, Option<f32>)>,
) -> Result<DocumentExplanation, SearchError> {
    let address = match seen(snapshot, request, id)? {
        Ok(address) => address,
        Err(standing) => return Ok(DocumentExplanation::new(id, standing)),
    };
    let Some((standing, details, similarity)) = found else {
        let parts = failing_parts(snapshot, request, address)?;
        return Ok(DocumentExplanation::new(id, Standing::Filtered { parts }));
    };
    let place = if let Standing::Hit { place } = standing { Some(place) } else { None };
    let mut explained = DocumentExplanation::new(id, standing);
    explained.nearness = Some(Nearness { similarity, place });
    explained.score = Some(global_score(&details));
    explained.details = details;
    Ok(explained)
}

/// Returns the address of a document, if the caller may know about it.
fn seen(
    snapshot: &Snapshot,
    request: &SearchRequest,
    id: &str,
) -> Result<Result<DocumentAddress, Standing>, SearchError> {
    let imposed = request.explain.as_ref().and_then(|explain| explain.imposed.as_ref());
    let Some(address) = snapshot.find(id) else {
        let was_there = |view: &lamina_index::index::SegmentView| view.reader.keys().get(id.as_bytes()).is_some();
        // What a caller may not see is not known to have been there.
        let was_seen = imposed.is_none() && snapshot.segments.iter().any(was_there);
        return Ok(Err(if was_seen { Standing::Deleted } else { Standing::Unknown }));
    };
    if let Some(imposed) = imposed
        && passes(snapshot, imposed, address, time_limit(request))? != Some(true)
    {
        return Ok(Err(Standing::Unknown));
    }
    Ok(Ok(address))
}

/// Reports whether a document passes; `None` if the time is up before that is known.
fn passes(
    snapshot: &Snapshot,
    filter: &Filter,
    address: DocumentAddress,
    limit: TimeLimit<'_>,
) -> Result<Option<bool>, SearchError> {
    let prepared = PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields)?;
    let passing = prepared.evaluate(&snapshot.segments[address.segment as usize], limit);
    Ok(passing.ok().map(|passing| passing.contains(address.doc)))
}

/// The smallest parts of the request's filter that a document does not pass, as far as there is time to find them.
fn failing_parts(
    snapshot: &Snapshot,
    request: &SearchRequest,
    address: DocumentAddress,
) -> Result<Vec<String>, SearchError> {
    let mut parts = Vec::new();
    if let Some(filter) = &request.filter {
        failing(snapshot, filter, address, time_limit(request), &mut parts)?;
    }
    Ok(parts)
}

/// Collects the parts of a conjunction that the document does not pass, each on its own.
fn failing(
    snapshot: &Snapshot,
    filter: &Filter,
    address: DocumentAddress,
    limit: TimeLimit<'_>,
    out: &mut Vec<String>,
) -> Result<(), SearchError> {
    match filter {
        Filter::And(parts) => parts.iter().try_for_each(|part| failing(snapshot, part, address, limit, out)),
        part => {
            if passes(snapshot, part, address, limit)? == Some(false) {
                out.push(part.to_string());
            }
            Ok(())
        }
    }
}

/// The first reason that keeps a document from being a hit.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// No document has this id, or none that the caller may see.
    Unknown,
    Deleted,
    /// Parts of the filter that it does not pass.
    Filtered {
        parts: Vec<String>,
    },
    /// Words that the query excludes and the document contains.
    Excluded {
        words: Vec<String>,
    },
    /// The document lacks words that the matching strategy asks for.
    MissingWords {
        words: Vec<String>,
    },
    BelowThreshold,
    /// A better hit has the same value of the distinct attribute.
    NotDistinct,
    /// The document matches, but the time budget ended before it was ranked.
    NotRanked,
    /// The document is a hit: so many are before it.
    Hit {
        place: u64,
    },
}

/// Times the steps of a search.
pub(super) struct Clock {
    last: Instant,
    pub(super) stages: Vec<Stage>,
}

impl Clock {
    pub(super) fn start() -> Clock {
        Clock { last: Instant::now(), stages: Vec::new() }
    }

    /// Ends a step.
    pub(super) fn lap(&mut self, name: &'static str, documents: Option<u64>) {
        let now = Instant::now();
        self.stages.push(Stage { name, took: now - self.last, documents });
        self.last = now;
    }
}

/// Everything an explanation is made from, once a search by words has run.
pub(super) struct Explainer<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) request: &'a SearchRequest,
    pub(super) graph: &'a QueryGraph,
    pub(super) excluded: &'a [Excluded],
    pub(super) segments: &'a [SegmentInput<'a>],
}

impl Explainer<'_> {
    /// `hits`: where they are; `sets`: documents that match, and those of them that `distinct` and the threshold leave.
    pub(super) fn explain(
        &self,
        ranked: &impl RankedList,
        hits: &[DocumentAddress],
        sets: [&[DocSet]; 2],
        stages: Vec<Stage>,
        rules: Vec<RuleCandidates>,
    ) -> Result<Explanation, SearchError> {
        let asked = self.request.explain.as_ref().and_then(|explain| explain.document.as_ref());
        Ok(Explanation {
            words: self.graph.terms.iter().map(|term| text(&term.kind)).collect(),
            stages,
            rules,
            matches: hits.iter().map(|&address| (address, self.matches(address))).collect(),
            document: asked.map(|id| self.document(id, ranked, sets)).transpose()?,
        })
    }

    fn document(
        &self,
        id: &str,
        ranked: &impl RankedList,
        [matching, candidates]: [&[DocSet]; 2],
    ) -> Result<DocumentExplanation, SearchError> {
        let address = match seen(self.snapshot, self.request, id)? {
            Ok(address) => address,
            Err(standing) => return Ok(DocumentExplanation::new(id, standing)),
        };
        let mut explained = DocumentExplanation::new(id, Standing::Unknown);
        let segment = address.segment as usize;
        explained.words = self.matches(address);
        let entry = ranked.entries()[segment].iter().find(|entry| entry.doc == address.doc);
        if let Some(entry) = entry {
            explained.details = ranked.details(segment, entry);
            explained.score = Some(global_score(&explained.details));
        }
        explained.standing = if !self.segments[segment].universe.contains(address.doc) {
            self.outside(address)?
        } else if !matching[segment].contains(address.doc) {
            let missing = explained.words.iter().filter(|word| word.matches.is_empty());
            Standing::MissingWords { words: missing.map(|word| word.word.clone()).collect() }
        } else if candidates[segment].contains(address.doc) {
            entry.map_or(Standing::NotRanked, |entry| {
                let all = ranked.entries().iter().enumerate();
                let before = all.flat_map(|(s, entries)| entries.iter().map(move |e| (s, e)));
                let is_hit = |(s, e): &(usize, &crate::rank::top_k::Entry)| candidates[*s].contains(e.doc);
                let is_better =
                    |e: &(usize, &crate::rank::top_k::Entry)| ranked.order().compare(*e, (segment, entry)).is_lt();
                Standing::Hit { place: before.filter(is_better).filter(is_hit).count() as u64 }
            })
        } else if explained.score.zip(self.request.score_threshold).is_some_and(|(score, least)| score < least) {
            Standing::BelowThreshold
        } else {
            Standing::NotDistinct
        };
        Ok(explained)
    }

    /// Returns the reason for which a document cannot be a hit, whatever its words: the filter, or excluded words.
    fn outside(&self, address: DocumentAddress) -> Result<Standing, SearchError> {
        let parts = failing_parts(self.snapshot, self.request, address)?;
        if !parts.is_empty() {
            return Ok(Standing::Filtered { parts });
        }
        let query = &self.segments[address.segment as usize].query;
        let held = self.excluded.iter().filter(|excluded| query.excluded(excluded).contains(address.doc));
        let text = |excluded: &Excluded| match excluded {
            Excluded::Word(word) => word.clone(),
            Excluded::Phrase(words) => phrase(words),
        };
        Ok(Standing::Excluded { words: held.map(text).collect() })
    }

    /// Finds the matches of the query words in a document. Cost: one look at its tokens.
    fn matches(&self, address: DocumentAddress) -> Vec<WordMatches> {
        let query = &self.segments[address.segment as usize].query;
        let (mut fields, mut tokens) = (Vec::new(), Vec::new());
        query.reader().tokens().doc(address.doc).decode(&mut fields, &mut tokens);
        let mut words: Vec<WordMatches> =
            self.graph.terms.iter().map(|term| WordMatches { word: text(&term.kind), matches: Vec::new() }).collect();
        let mut start = 0;
        for &(field, end) in &fields {
            let end = (end as usize).min(TOKENS_MAX);
            let run = &tokens[start.min(end)..end];
            start = end;
            if query.options().weight(field) != NOT_SEARCHED {
                self.matches_in(query, field, run, &mut words);
            }
        }
        words
    }

    fn matches_in(&self, query: &SegmentQuery<'_>, field: FieldId, run: &[TermOrdinal], words: &mut [WordMatches]) {
        let field_name = self.snapshot.fields.name(field).unwrap_or_default();
        let has_typos = query.options().typos_reach(field);
        let has_forms = query.options().forms_reach(field);
        for (node, expansion) in self.graph.nodes.iter().zip(query.expansions()) {
            let mut add = |kind: MatchKind, found: &[TermOrdinal], position: u32| {
                let kind = if node.is_ngram() { MatchKind::Concatenation } else { kind };
                let found = TermMatch {
                    field: field_name.to_owned(),
                    term: spelt(query, found),
                    kind,
                    positions: vec![position],
                };
                words[node.first..node.first + node.len].iter_mut().for_each(|word| word.add(&found));
            };
            let split = expansion.split.map(|pair| pair.map(Some));
            let sequences = sequences(node, expansion, split.as_ref());
            let mut position = u32::MAX;
            for (at, &token) in run.iter().enumerate() {
                if token == GAP {
                    position = position.wrapping_add(7);
                    continue;
                }
                position = position.wrapping_add(1);
                if let Some(kind) = kind_of(query, expansion, [has_typos, has_forms], token) {
                    add(kind, &[token], position);
                }
                for (kind, words) in &sequences {
                    let Some(found) = run.get(at..at + words.len()) else { continue };
                    let same = |(&token, word): (&TermOrdinal, &Option<TermOrdinal>)| {
                        word.map_or(token != GAP, |word| token == word)
                    };
                    if !words.is_empty() && found.iter().zip(*words).all(same) {
                        add(*kind, found, position);
                    }
                }
            }
        }
    }
}

impl WordMatches {
    /// Adds the position of a match, which may be known from another place.
    fn add(&mut self, found: &TermMatch) {
        let is_same = |m: &&mut TermMatch| m.field == found.field && m.term == found.term && m.kind == found.kind;
        match self.matches.iter_mut().find(is_same) {
            Some(known) if known.positions.len() >= POSITIONS_MAX => {}
            Some(known) => known.positions.extend(&found.positions),
            None => self.matches.push(found.clone()),
        }
    }
}

/// Words of a document as text.
fn spelt(query: &SegmentQuery<'_>, words: &[TermOrdinal]) -> String {
    let terms = query.reader().terms();
    let words: Vec<String> = words.iter().map(|&word| String::from_utf8_lossy(&terms.term(word)).into()).collect();
    words.join(" ")
}

/// Returns the way in which a word of a document alone matches a query word, if it does. The flags say whether
/// misspelt words count, and whether other forms do.
fn kind_of(
    query: &SegmentQuery<'_>,
    of: &Expansion,
    [has_typos, has_forms]: [bool; 2],
    token: TermOrdinal,
) -> Option<MatchKind> {
    if of.exact == Some(token) {
        Some(MatchKind::Exact)
    } else if has_forms && of.forms.binary_search(&token).is_ok() {
        Some(MatchKind::Stem)
    } else if of.prefix.contains(&token) && query.stop().binary_search(&token).is_err() {
        Some(MatchKind::Prefix)
    } else if has_typos && of.one_typo.contains(&token) {
        Some(MatchKind::OneTypo)
    } else if has_typos && of.two_typos.contains(&token) {
        Some(MatchKind::TwoTypos)
    } else {
        None
    }
}

/// Words one after the other; without an ordinal, any word.
type Sequence<'a> = &'a [Option<TermOrdinal>];

/// The words that stand for one of the query together.
fn sequences<'a>(
    node: &Node,
    of: &'a Expansion,
    split: Option<&'a [Option<TermOrdinal>; 2]>,
) -> Vec<(MatchKind, Sequence<'a>)> {
    // A phrase with forms has all that it stands for there.
    let kind = if node.phrase.is_some() { MatchKind::Phrase } else { MatchKind::Synonym };
    let synonyms = of.synonyms.iter().map(|words| (kind, words.as_slice()));
    let phrase = of.phrase.iter().map(|words| (MatchKind::Phrase, words.as_slice()));
    let split = split.map(|pair| (MatchKind::Split, pair.as_slice()));
    synonyms.chain(phrase).chain(split).collect()
}

fn phrase(words: &[String]) -> String {
    format!("\"{}\"", words.join(" "))
}

fn text(kind: &TermKind) -> String {
    match kind {
        TermKind::Word { text, .. } => text.clone(),
        TermKind::Phrase(words) => phrase(words),
    }
}
