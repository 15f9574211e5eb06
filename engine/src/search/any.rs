//! Searches for questions: any of the words is enough, and BM25 decides.

use hashbrown::HashMap;
use lamina_index::index::Snapshot;
use lamina_index::index::settings::{BoostRule, RankingRule};
use lamina_text::id::TermOrdinal;
use rayon::prelude::*;

use super::boosting::without_boosts;
use super::explain::Explainer;
use super::{
    Ending, Prepared, SearchError, SearchRequest, SearchResult, documents, finish, limits, matching, none_if_late,
    per_segment, segment_input,
};
use crate::query::parser::TERMS_MAX;
use crate::query::split::choose_splits;
use crate::query::{Node, QueryGraph, QueryTerm, SegmentQuery, TermKind};
use crate::rank::bm25::{Bm25Search, Statistics, is_doubtful, rank};
use crate::rank::context::SegmentInput;
use crate::rank::plan::Plan;

/// Searches for any of the words of `prepared`.
pub(super) fn search_any(
    snapshot: &Snapshot,
    request: &SearchRequest,
    prepared: Prepared<'_>,
) -> Result<SearchResult, SearchError> {
    let Prepared { mut parsed, options, rules, filtering, distinct, mut clock } = prepared;
    let statistics = Statistics::new(snapshot, options);
    parsed.is_cut |= keep_most_selective(snapshot, &statistics, &mut parsed.terms);
    clock.lap("parse", None);
    // Boosts are no rules: the score is multiplied by them.
    let plan = Plan::new(&without_boosts(rules), &request.sort, true, true);
    let filtering = filtering.with_sorts(&plan.sorts, snapshot)?;
    let boosts: Vec<&BoostRule> = rules.iter().filter_map(RankingRule::boost).collect();
    let mut varied = QueryGraph::new(parsed.terms.clone(), options);
    let plain = plain_graph(varied.clone());
    let plain_queries = queries(snapshot, &plain, options);
    let doubtful = doubtful(&plain, &plain_queries, &statistics);
    varied.nodes.retain(|node| !node.is_ngram() || is_written_together(node, &plain_queries));
    let is_varied = doubtful.contains(&true) || varied.nodes.len() > plain.nodes.len();
    varied.nodes.iter_mut().filter(|node| node.is_ngram() || !doubtful[node.first]).for_each(as_spelt);
    let graph = if is_varied { &varied } else { &plain };
    let mut queries = if is_varied { queries(snapshot, graph, options) } else { plain_queries };
    if is_varied {
        choose_splits(graph, &mut queries.iter_mut().collect::<Vec<_>>());
    }
    let mut segments: Vec<SegmentInput<'_>> = snapshot
        .segments
        .par_iter()
        .zip(queries)
        .map(|(view, query)| segment_input(snapshot, view, query, &filtering, &parsed.excluded, &plan))
        .collect();
    none_if_late(&filtering, &mut segments);
    clock.lap("match and filter", Some(documents(segments.iter().map(|segment| &segment.universe))));
    let search = Bm25Search {
        graph,
        plan: &plan,
        boosts: &boosts,
        statistics: &statistics,
        wanted: request.wanted(distinct.is_some()),
        // Who asks for a document wants its score, whatever it is.
        score_threshold: request.score_threshold.filter(|_| request.explain.is_none()),
        views: &snapshot.segments,
        max_impacts: request.search_on.is_none(),
        deadline: request.cutoff.map(|cutoff| request.received + cutoff),
    };
    let mut ranked = rank(&search, &segments);
    clock.lap("rank", Some(documents(&ranked.matching)));
    let matching_terms =
        request.matching_terms.then(|| matching::matching_terms(graph, segments.iter().map(|segment| &segment.query)));
    let explainer = request.explain.as_ref().map(|_| {
        let excluded = &parsed.excluded;
        (Explainer { snapshot, request, graph, excluded, segments: &segments }, ranked.report(&plan))
    });
    let limits = limits(parsed.is_cut, ranked.degraded || filtering.is_late());
    let matching = std::mem::take(&mut ranked.matching);
    finish(&ranked, request, Ending { distinct, matching, limits, matching_terms, explainer, clock })
}

/// Most words are spelt as they are meant: only of those that hardly any document holds, other forms are looked for.
fn doubtful(plain: &QueryGraph, queries: &[SegmentQuery<'_>], statistics: &Statistics) -> Vec<bool> {
    let is_doubtful = |node: usize| {
        let docs: u64 = queries.iter().map(|query| known_docs(query, node)).sum();
        plain.nodes[node].phrase.is_none() && is_doubtful(docs, statistics.documents())
    };
    (0..plain.nodes.len()).map(is_doubtful).collect()
}

/// The words alone, as they are spelt.
fn plain_graph(mut graph: QueryGraph) -> QueryGraph {
    graph.nodes.retain(|node| !node.is_ngram());
    graph.nodes.iter_mut().for_each(as_spelt);
    graph
}

/// Reduces the terms of a question to those that a search can look for. Repetitions of a word become one term that
/// counts as often. Of different words, those that can add most to a score are kept. Words that no document contains
/// are dropped first; phrases, and a word that is still being typed, are kept. Returns `true` if words were left out.
fn keep_most_selective(snapshot: &Snapshot, statistics: &Statistics, terms: &mut Vec<QueryTerm>) -> bool {
    if terms.len() > TERMS_MAX {
        join_repeated(terms);
    }
    if terms.len() <= TERMS_MAX {
        return false;
    }
    let docs = |text: &String| -> u64 {
        let readers = snapshot.segments.iter().map(|view| &view.reader);
        let found = readers.filter_map(|reader| reader.terms().ordinal(text.as_bytes()).map(|word| (reader, word)));
        found.map(|(reader, word)| u64::from(reader.postings().doc_freq(word))).sum()
    };
    let adds = |term: &QueryTerm| match &term.kind {
        TermKind::Word { text, prefix: false } => match docs(text) {
            0 => 0.0,
            docs => statistics.idf(docs) * f64::from(term.times),
        },
        _ => f64::INFINITY,
    };
    let mut ranks: Vec<(f64, usize)> = terms.iter().map(adds).zip(0..).collect();
    ranks.sort_by(|(one, one_place), (other, other_place)| other.total_cmp(one).then(one_place.cmp(other_place)));
    let mut kept = vec![false; terms.len()];
    ranks.iter().take(TERMS_MAX).for_each(|&(_, place)| kept[place] = true);
    let mut kept = kept.into_iter();
    terms.retain(|_| kept.next() == Some(true));
    true
}

/// Makes words that are repeated one each, at the place of the first.
fn join_repeated(terms: &mut Vec<QueryTerm>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut different: Vec<QueryTerm> = Vec::new();
    for term in terms.drain(..) {
        if let TermKind::Word { text, prefix: false } = &term.kind {
            if let Some(&place) = places.get(text) {
                different[place].times = different[place].times.saturating_add(term.times);
                continue;
            }
            places.insert(text.clone(), different.len());
        }
        different.push(term);
    }
    *terms = different;
}

/// Counts the documents that contain a word as it is spelt, plus the document frequency of each of its other forms.
fn known_docs(query: &SegmentQuery<'_>, node: usize) -> u64 {
    let freq = |&form: &TermOrdinal| u64::from(query.reader().postings().doc_freq(form));
    u64::from(query.live_len(query.docs(node, 0))) + query.expansions()[node].forms.iter().map(freq).sum::<u64>()
}

fn as_spelt(node: &mut Node) {
    node.budget = 0;
    node.can_split = false;
    // A concatenation is the whole of a word.
    node.prefix &= !node.is_ngram();
}

/// Reports whether adjacent words are meant as one word, because at least as many documents write them together as
/// contain all of them. So `data base` finds databases, and `a way` does not find what is far away. `queries`: queries
/// for a graph of one node per word.
fn is_written_together(joined: &Node, queries: &[SegmentQuery<'_>]) -> bool {
    let (mut together, mut apart) = (0, 0);
    for query in queries {
        if let Some(word) = query.reader().terms().ordinal(joined.text.as_bytes()) {
            together += u64::from(query.live_len(&query.term_docs(word)));
        }
    }
    if together == 0 {
        return !joined.synonyms.is_empty();
    }
    for query in queries {
        let mut docs = query.docs(joined.first, 0).clone();
        (joined.first + 1..joined.first + joined.len).for_each(|word| docs.and_assign(query.docs(word, 0)));
        apart += u64::from(query.live_len(&docs));
    }
    together >= apart
}

fn queries<'a>(
    snapshot: &'a Snapshot,
    graph: &'a QueryGraph,
    options: &'a crate::query::QueryOptions,
) -> Vec<SegmentQuery<'a>> {
    per_segment(snapshot, |view| SegmentQuery::new(view.cached(), view.deleted_set(), graph, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str, place: u16, prefix: bool) -> QueryTerm {
        QueryTerm {
            kind: TermKind::Word { text: text.to_owned(), prefix },
            first_position: place,
            last_position: place,
            is_required: false,
            stop_words: 0,
            dropped_before: 0,
            times: 1,
        }
    }

    #[test]
    fn what_a_question_repeats_is_one_word_that_counts_as_often() {
        let texts = ["red", "fox", "red", "red", "sea", "fox"];
        let mut terms: Vec<QueryTerm> = (0..).zip(texts).map(|(place, text)| word(text, place, false)).collect();
        // It is still being typed, and may become another one.
        terms.push(word("red", 6, true));
        join_repeated(&mut terms);
        let shown: Vec<(u16, u16)> = terms.iter().map(|term| (term.first_position, term.times)).collect();
        assert_eq!(shown, [(0, 3), (1, 2), (4, 1), (6, 1)]);
    }
}
