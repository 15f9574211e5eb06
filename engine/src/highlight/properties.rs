//! Whatever the text and the query: tags surround parts of the original, crops keep as many words as they may.

use lamina_text::text::{TextOptions, Tokenizer};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PRE: &str = "\u{1}";
const POST: &str = "\u{2}";
const MARKER: &str = "\u{3}";

fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "red",
        "Red",
        "redder",
        "green",
        "blue",
        "Éclair",
        "e\u{301}clair",
        "東京",
        "寿司",
        "12",
        "c++",
        " ",
        ", ",
        ". ",
        "-",
        "_",
        "\n",
        "🐻",
        "ﬁ",
        "İ",
    ]);
    prop_oneof![4 => vec(piece, 0..20).prop_map(|pieces| pieces.concat()), 1 => "\\PC{0,30}"]
}

fn terms() -> impl Strategy<Value = MatchingTerms> {
    let word = prop::sample::select(vec!["red", "gren", "green", "blue", "eclair", "12", "c", "fi", "i", "寿司"]);
    vec((word.clone(), 0u8..4, 0u16..6, vec(prop::option::of(word), 0..3)), 0..6).prop_map(|forms| {
        let mut terms = MatchingTerms::default();
        for (word, kind, place, following) in forms {
            match kind {
                0 => terms.add_word(word, place..=place),
                1 => terms.add_prefix(word, place..=place + 1),
                2 => terms.add_misspelt_prefix(word, 3, place..=place),
                _ => {
                    let following = following.into_iter().map(|word| word.map(str::to_owned));
                    terms.add_sequence([Some(word.to_owned())].into_iter().chain(following).collect(), place..=place);
                }
            }
        }
        terms
    })
}

/// `_formatted` and `_matchesPosition` of a document with one text.
fn format(text: &str, terms: &MatchingTerms, crop_length: usize) -> (String, Value) {
    let projection = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: false };
    let options = FormatOptions {
        highlight: Selection::All,
        crop: CropSelection::new(&["*"], crop_length),
        pre_tag: PRE.to_owned(),
        post_tag: POST.to_owned(),
        crop_marker: MARKER.to_owned(),
        with_positions: true,
    };
    let formatter = Formatter {
        projection: &projection,
        options: &options,
        terms,
        tokenizer: &Tokenizer::new(&TextOptions::default()),
        languages: &|_| Vec::new(),
        may_take: &|_| true,
    };
    let formatted = formatter.format(json!({ "t": text }).to_string().as_bytes()).unwrap();
    let read = |bytes: Option<Vec<u8>>| serde_json::from_slice::<Value>(&bytes.unwrap()).unwrap();
    let document = read(formatted.document);
    (document["t"].as_str().unwrap().to_owned(), read(formatted.positions)["t"].clone())
}

fn without_marks(text: &str) -> String {
    text.replace(['\u{1}', '\u{2}', '\u{3}'], "")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn tags_surround_what_positions_name(text in text(), terms in terms()) {
        prop_assume!(!text.contains(['\u{1}', '\u{2}', '\u{3}']));
        let (marked, positions) = format(&text, &terms, 0);
        prop_assert_eq!(without_marks(&marked), text.clone());
        let mut expected = String::new();
        let mut at = 0;
        for position in positions.as_array().map_or(&[][..], Vec::as_slice) {
            let start = position["start"].as_u64().unwrap() as usize;
            let end = start + position["length"].as_u64().unwrap() as usize;
            prop_assert!(at <= start);
            prop_assert!(start < end);
            prop_assert!(end <= text.len());
            expected += &format!("{}{PRE}{}{POST}", &text[at..start], &text[start..end]);
            at = end;
        }
        expected += &text[at..];
        prop_assert_eq!(marked, expected);
    }

    #[test]
    fn crops_keep_as_many_words_as_they_may(text in text(), terms in terms(), length in 1usize..8) {
        prop_assume!(!text.contains(['\u{1}', '\u{2}', '\u{3}']));
        let words = |text: &str| {
            let tokens = Tokenizer::new(&TextOptions::default()).tokens(text, &[]);
            tokens.iter().filter(|token| token.is_word()).map(|token| token.range.clone()).collect::<Vec<_>>()
        };
        let (cropped, positions) = format(&text, &terms, length);
        let shown = without_marks(&cropped);
        let start = if cropped.starts_with(MARKER) {
            // Where the window is follows from what was cut off before it.
            (0..text.len()).filter(|&at| text.is_char_boundary(at) && text[at..].starts_with(&shown)).collect()
        } else {
            vec![0]
        };
        prop_assert!(text.contains(&shown));
        prop_assert_eq!(cropped.ends_with(MARKER) || cropped.starts_with(MARKER), shown != text);
        let all = words(&text);
        let inside = |start: usize| {
            all.iter().filter(|word| start <= word.start && word.end <= start + shown.len()).count()
        };
        let kept: Vec<usize> = start.into_iter().map(inside).collect();
        prop_assert!(kept.contains(&all.len().min(length)), "{kept:?} words of {} kept: {cropped:?}", all.len());
        // What is cut out around matches shows one of them.
        prop_assert!(positions.is_null() || cropped.contains(PRE), "{cropped:?}");
    }
}
