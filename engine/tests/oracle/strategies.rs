//! Random documents, queries and rules.

use super::*;

pub(super) fn words(list: &'static [&'static str], len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(proptest::sample::select(list).prop_map(str::to_owned), len)
}

/// A document of words of `list`, its texts shorter than `lens`.
pub(super) fn doc(list: &'static [&'static str], lens: [usize; FIELDS.len()]) -> impl Strategy<Value = Doc> {
    let texts = lens.map(|len| words(list, 0..len));
    (texts, prop_oneof![0u32..4, 0u32..1_000], proptest::bool::weighted(0.1)).prop_map(|(texts, number, deleted)| Doc {
        texts,
        number,
        deleted,
    })
}

pub(super) fn query(
    list: &'static [&'static str],
    words_max: usize,
    limit: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Query> {
    let without = prop::option::weighted(0.2, prop::sample::select(list).prop_map(str::to_owned));
    let query = (words(list, 1..words_max + 1), any::<bool>(), any::<bool>(), without, limit);
    query.prop_map(|(words, prefix, all, without, limit)| {
        // Behind it no word is the last one.
        let prefix = prefix && without.is_none();
        Query { words, prefix, all, without, limit }
    })
}

/// Draws these synonyms, or none.
pub(super) fn synonyms(list: &'static [Synonym]) -> impl Strategy<Value = &'static [Synonym]> {
    any::<bool>().prop_map(move |some| if some { list } else { &[] })
}

/// Mostly `words` and `typo` before some others: every bound is used in all places among the rules, and is the last one
/// that decides in some.
pub(super) fn rules() -> impl Strategy<Value = Vec<Rule>> {
    const OTHERS: [Rule; 5] = [Rule::Proximity, Rule::AttributeRank, Rule::WordPosition, Rule::Exactness, Rule::Number];
    let others = || (Just(OTHERS.to_vec()).prop_shuffle(), 1..=OTHERS.len());
    let chosen = others().prop_map(|(others, count)| {
        [Rule::Words, Rule::Typo].into_iter().chain(others.into_iter().take(count)).collect::<Vec<_>>()
    });
    // Near words with a typo against far ones without: several readings would be equally good.
    let mixed = Just([Rule::Words, Rule::Typo, Rule::Attribute, Rule::Exactness, Rule::Number]).prop_shuffle();
    let mixed = (mixed, 1usize..5).prop_map(|(rules, after)| {
        let mut rules = rules.to_vec();
        let typo = rules.iter().position(|&rule| rule == Rule::Typo).expect("is one of them");
        rules.insert((typo + after).min(rules.len()), Rule::Proximity);
        rules
    });
    prop_oneof![
        6 => chosen,
        1 => mixed,
        1 => Just(DEFAULT_RULES.to_vec()),
    ]
}

/// Thousands of documents, most of them copies of a few, so that many match; and some of which there are only one or
/// two, so that the best hits are different ones. Some texts are what others begin with.
pub(super) fn large_corpus() -> impl Strategy<Value = Corpus> {
    large_corpus_of(5_000..13_000)
}

/// Works like [`large_corpus`], with a given number of documents.
pub(super) fn large_corpus_of(total: std::ops::Range<usize>) -> impl Strategy<Value = Corpus> {
    /// Shares what the others leave.
    const FILLS: usize = 0;
    let rare = (doc(RARER_WORDS, [4, 8, 24]), prop_oneof![3 => 1usize..4, 1 => 30usize..200]);
    // Pairs that too many documents have are not listed, so fillers are many and short.
    let filler = (doc(SHARED_WORDS, [4, 6, 10]), Just(FILLS));
    let docs = proptest::collection::vec(prop_oneof![rare, filler], 16..32);
    let beginnings = proptest::collection::vec((any::<Pick>(), any::<Pick>(), 0..FIELDS.len(), 1usize..4), 1..8);
    (docs, beginnings, total, synonyms(SHARED_SYNONYMS)).prop_map(|(docs, beginnings, total, synonyms)| {
        let (mut docs, mut copies): (Vec<Doc>, Vec<usize>) = docs.into_iter().unzip();
        let begin = |(of, with, field, len): (Pick, Pick, usize, usize)| {
            let words: Vec<String> = docs[of.index(docs.len())].texts[field].iter().take(len).cloned().collect();
            let with = with.index(docs.len());
            docs[with].texts[field].clone_from(&words);
            words
        };
        let beginnings = beginnings.into_iter().map(begin).collect();
        copies[0] = FILLS;
        docs[0].deleted = false;
        let left = total - copies.iter().sum::<usize>();
        let fill = left / copies.iter().filter(|&&count| count == FILLS).count();
        copies.iter_mut().filter(|count| **count == FILLS).for_each(|count| *count = fill);
        Corpus { docs, copies, synonyms, beginnings }
    })
}

/// Thousands of documents that have the words of one query, as a whole text, at its start, or somewhere; and the query,
/// of words with and without synonyms.
pub(super) fn corpus_of_a_query() -> impl Strategy<Value = (Corpus, Vec<String>)> {
    const WITH_SYNONYMS: &[&str] = &["sea", "king"];
    const OTHERS: &[&str] = &["the", "of", "sun", "a", "to", "house"];
    let query = (words(WITH_SYNONYMS, 1..3), words(OTHERS, 1..3)).prop_map(|(some, others)| [some, others].concat());
    let many = prop_oneof![1usize..4, 300usize..1_200];
    let docs = proptest::collection::vec((doc(SHARED_WORDS, [4, 6, 10]), 0..5, many), 6..14);
    (query.prop_shuffle(), docs).prop_map(|(query, docs)| {
        let with_query = |(mut doc, place, copies): (Doc, i32, usize)| {
            let field = usize::from(place > 2);
            let own = std::mem::take(&mut doc.texts[field]);
            doc.texts[field] = match place {
                0 | 3 => query.clone(),
                1 | 4 => [query.clone(), own].concat(),
                _ => [own, query.clone()].concat(),
            };
            (doc, copies)
        };
        let (docs, copies) = docs.into_iter().map(with_query).unzip();
        (Corpus { docs, copies, synonyms: SHARED_SYNONYMS, beginnings: Vec::new() }, query)
    })
}

/// A query of random words, or of those that a text is and others begin with.
pub(super) fn query_of_corpus() -> impl Strategy<Value = (Query, Option<Pick>)> {
    (query(SHARED_QUERY_WORDS, 3, prop_oneof![1usize..40, 1usize..600]), proptest::option::of(any::<Pick>()))
}

pub(super) fn resolved((mut query, beginning): (Query, Option<Pick>), corpus: &Corpus) -> Query {
    let words = beginning.map(|pick| pick.get(&corpus.beginnings)).filter(|words| !words.is_empty());
    words.into_iter().for_each(|words| query.words.clone_from(words));
    query
}
