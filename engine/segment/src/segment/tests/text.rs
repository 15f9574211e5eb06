//! Terms and tokens of a segment, against the documents it was written from.

use super::*;

pub(super) fn check_text(segment: &SegmentReader, docs: &[&Doc]) {
    let mut postings = ByWord::new();
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    for (doc, expected) in docs.iter().enumerate() {
        let runs = expected.runs();
        for (field, run) in &runs {
            for token in run {
                if let Token::Word(word) = token {
                    postings.entry(word.clone()).or_default().entry(doc as u32).or_default().insert(*field);
                }
            }
        }
        let name = |ordinal: u32| match ordinal {
            GAP => Token::Gap,
            HOLE => Token::Hole,
            _ => Token::Word(String::from_utf8(segment.terms().term(ordinal)).unwrap()),
        };
        let column = segment.tokens().doc(doc as u32);
        let found: BTreeMap<FieldId, Vec<Token>> = column
            .fields()
            .map(|(field, run)| {
                let mut ordinals = Vec::new();
                run.decode(&mut ordinals);
                assert_eq!(ordinals.len(), run.len());
                (field, ordinals.into_iter().map(name).collect())
            })
            .collect();
        assert_eq!(found, runs, "tokens of document {doc}");
        column.decode(&mut fields, &mut tokens);
        assert_eq!(fields.iter().map(|f| f.0).collect::<Vec<_>>(), runs.keys().copied().collect::<Vec<_>>());
        assert_eq!(
            tokens.iter().map(|&t| name(t)).collect::<Vec<_>>(),
            runs.into_values().flatten().collect::<Vec<_>>()
        );
        assert!(column.field(60_000).is_none());
        // Each document is looked through for itself, so that a part of a large segment shows what all of it would.
        if doc < 200 || doc % 32 == 0 {
            check_sequences(segment, doc as u32, &fields, &tokens);
            check_distances(segment, doc as u32, &tokens);
        }
    }
    check_postings(segment, &postings);
    check_unions(segment, &postings);
}

/// By word, its documents with its fields.
type ByWord = BTreeMap<String, BTreeMap<u32, BTreeSet<FieldId>>>;

fn check_postings(segment: &SegmentReader, postings: &ByWord) {
    assert_eq!(segment.terms().len() as usize, postings.len());
    let some: DocSet = (0..segment.doc_count()).filter(|doc| doc % 3 == 0).collect();
    let all = DocSet::full(segment.doc_count());
    for (rank, (word, expected)) in postings.iter().enumerate() {
        let ordinal = FIRST_TERM + rank as u32;
        assert_eq!(segment.terms().ordinal(word.as_bytes()), Some(ordinal));
        let sets = segment.postings().field_sets();
        let mut found = BTreeMap::new();
        segment.postings().for_each(ordinal, |doc, code| {
            found.insert(doc, sets.fields(code).iter().copied().collect());
        });
        assert_eq!(&found, expected, "postings of {word}");
        assert_eq!(segment.postings().doc_freq(ordinal) as usize, expected.len());
        let docs = DocSet::from_sorted(expected.keys().copied().collect());
        assert_eq!(segment.postings().docs(ordinal), docs);
        assert_eq!(segment.postings().docs_among(ordinal, &some), docs.and(&some));
        assert_eq!(segment.postings().docs_among(ordinal, &all), docs);
        let mut filtered = BitsetBuilder::new(segment.doc_count());
        segment.postings().add_to_filtered(ordinal, &sets.allowed(|field| field == 1), &mut filtered);
        let expected = expected.iter().filter(|(_, fields)| fields.contains(&1)).map(|(&doc, _)| doc).collect();
        assert_eq!(filtered.finish(), expected);
    }
}

/// The documents of all words that begin alike.
fn check_unions(segment: &SegmentReader, postings: &ByWord) {
    for prefix in ["", "a", "ab", "b", "zz"] {
        let range = segment.terms().prefix_range(prefix.as_bytes());
        let mut union = BitsetBuilder::new(segment.doc_count());
        range.clone().for_each(|ordinal| segment.postings().add_to(ordinal, &mut union));
        let expected: BTreeSet<u32> = postings
            .iter()
            .filter(|(word, _)| word.starts_with(prefix))
            .flat_map(|(_, docs)| docs.keys().copied())
            .collect();
        let union = union.finish();
        assert_eq!(union, expected.into_iter().collect());
        if let Some(stored) = segment.postings().prefix_union(prefix.as_bytes()) {
            assert_eq!(stored.groups.docs(), union);
        }
    }
}

/// Compares the search for words in a row, in all fields and without the first one, with a look at every place.
fn check_sequences(segment: &SegmentReader, doc: u32, fields: &[(FieldId, u32)], tokens: &[u32]) {
    let column = segment.tokens();
    let first = fields.first().map(|field| field.0);
    for len in [2, 3, 5, 8] {
        // Some of these places are in two fields, and some words in a row are nowhere.
        let places = tokens.windows(len).step_by(7).map(<[u32]>::to_vec);
        let nowhere = tokens.windows(len).step_by(11).map(|words| words.iter().rev().copied().collect());
        for mut words in places.chain(nowhere).map(|words| words.into_iter().map(Some).collect::<Vec<_>>()) {
            if len == 3 {
                words[1] = None;
            }
            let matches = |have: &[u32]| have.iter().zip(&words).all(|(&h, w)| w.map_or(h != GAP, |w| w == h));
            let mut start = 0;
            let runs = fields
                .iter()
                .map(|&(field, end)| (field, &tokens[std::mem::replace(&mut start, end as usize)..end as usize]));
            let found: Vec<FieldId> =
                runs.filter(|(_, run)| run.windows(len).any(matches)).map(|(field, _)| field).collect();
            let sequence = Sequence::new(column, &words);
            let is_in = |searched: &dyn Fn(FieldId) -> bool| sequence.is_in(&column.doc(doc), searched);
            assert_eq!(is_in(&|_| true), !found.is_empty(), "{words:?} in {tokens:?}");
            assert_eq!(is_in(&|field| Some(field) != first), found.iter().any(|&field| Some(field) != first));
        }
    }
}

/// Compares the distances of some terms from a word with a look at every pair of places.
fn check_distances(segment: &SegmentReader, doc: u32, tokens: &[u32]) {
    let column = segment.tokens();
    for (at, &word) in tokens.iter().enumerate().step_by(9).filter(|(_, word)| **word != GAP) {
        for terms in [(word, 1), (tokens[at / 2], 1), (word.saturating_sub(3), 3), (word + 1, 40), (0, 0)] {
            let terms = terms.0..terms.0 + terms.1;
            let others = if terms.len() == 3 { vec![tokens[at / 3]] } else { Vec::new() };
            let is = |token: u32| terms.contains(&token) || others.contains(&token);
            let found_at = |is: &dyn Fn(u32) -> bool| -> Vec<usize> {
                tokens.iter().enumerate().filter(|(_, token)| is(**token)).map(|(place, _)| place).collect()
            };
            let (of_word, of_terms) = (found_at(&|token| token == word), found_at(&is));
            let nearest = Nearest::new(column, word, terms.clone(), &others);
            for bounds in [[1, 2], [3, 4], [4, 3], [9, 70]] {
                let mut expected = bounds;
                for &place in &of_word {
                    for &other in of_terms.iter().filter(|&&other| other != place) {
                        let side = usize::from(other > place);
                        expected[side] = expected[side].min(other.abs_diff(place));
                    }
                }
                let found = nearest.distances(&column.doc(doc), bounds);
                assert_eq!(found, expected, "{word} {terms:?} in {tokens:?}");
            }
        }
    }
}
