use lamina_text::text::{TextOptions, Tokenizer};

use super::*;

fn shown(document: &str, displayed: &[&str], retrieved: &[&str]) -> String {
    let projection =
        Projection { displayed: Selection::new(displayed), retrieved: Selection::new(retrieved), with_vectors: false };
    let mut out = Vec::new();
    projection.write(document.as_bytes(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn whole_documents_pass_through_untouched() {
    let document = r#"{ "b": 1.50, "a" : [1 , 2] }"#;
    assert_eq!(shown(document, &["*"], &["*"]), document);
}

#[test]
fn attributes_are_selected_by_both_lists() {
    let document = r#"{"id":1,"title":"x","a":{"b":1,"c":2}}"#;
    assert_eq!(shown(document, &["*"], &["title", "nope"]), r#"{"title":"x"}"#);
    assert_eq!(shown(document, &["title", "id"], &["*"]), r#"{"id":1,"title":"x"}"#);
    assert_eq!(shown(document, &["id"], &["title"]), "{}");
    assert_eq!(shown(document, &["a.b", "id"], &["a"]), r#"{"a":{"b":1}}"#);
    assert_eq!(shown(document, &["a.b"], &["a.c"]), r#"{"a":{}}"#);
    assert_eq!(shown(document, &["*"], &[]), "{}");
    assert_eq!(shown(document, &[], &["*"]), "{}");
    assert_eq!(shown(document, &["*"], &["a"]), r#"{"a":{"b":1,"c":2}}"#);
    assert_eq!(shown(document, &["*"], &["title.x"]), "{}");
}

#[test]
fn dotted_selectors_go_through_arrays_and_literal_keys() {
    assert_eq!(shown(r#"{"a":[{"b":1,"c":2},{"c":3},4,[{"b":5}]]}"#, &["*"], &["a.b"]), r#"{"a":[{"b":1},[{"b":5}]]}"#);
    assert_eq!(shown(r#"{"a.b":1,"a":{"b":{"c":2}}}"#, &["*"], &["a.b"]), r#"{"a.b":1,"a":{"b":{"c":2}}}"#);
    // What holds nothing of it is still there; of elements only those that hold something, and arrays.
    assert_eq!(shown(r#"{"a":{"c":1},"x":1}"#, &["*"], &["a.b", "x.b"]), r#"{"a":{}}"#);
    assert_eq!(shown(r#"{"a":[{"c":1},null,2,[null]]}"#, &["*"], &["a.b"]), r#"{"a":[[]]}"#);
    assert_eq!(shown(r#"{"a":[],"b":{},"c":null}"#, &["*"], &["a.b", "b.b", "c.b"]), r#"{"a":[],"b":{},"c":null}"#);
    assert_eq!(shown(r#"{"k\"\u00e9":1,"x":2}"#, &["*"], &["k\"é"]), r#"{"k\"é":1}"#);
}

#[test]
fn vectors_are_shown_on_request_only() {
    let document = r#"{"id":1,"_vectors":{"e":[1]}}"#;
    assert_eq!(shown(document, &["*"], &["*"]), r#"{"id":1}"#);
    assert_eq!(shown(document, &["*"], &["_vectors"]), "{}");
    let projection = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: true };
    let mut out = Vec::new();
    projection.write(document.as_bytes(), &mut out).unwrap();
    assert_eq!(out, document.as_bytes());
}

#[test]
fn fields_are_appended_to_objects() {
    let mut object = b"{ \"a\":1 } ".to_vec();
    append_field(&mut object, "_geoDistance", b"12");
    assert_eq!(object, br#"{ "a":1,"_geoDistance":12}"#);
    let mut empty = b"{}".to_vec();
    append_field(&mut empty, "x", b"null");
    assert_eq!(empty, br#"{"x":null}"#);
}

#[test]
fn damaged_documents_are_errors() {
    let projection = Projection { displayed: Selection::All, retrieved: Selection::Nothing, with_vectors: false };
    for damaged in [&b"{\"a\":"[..], b"[1]", b"\xff"] {
        assert!(projection.write(damaged, &mut Vec::new()).is_err());
    }
}

/// The terms that a query of plain words stands for: each word, pairs of neighbours written as one, the last word a
/// prefix.
fn terms(query: &str) -> MatchingTerms {
    let words: Vec<&str> = query.split(' ').collect();
    let mut terms = MatchingTerms::default();
    for (place, word) in (0u16..).zip(&words) {
        if usize::from(place) + 1 == words.len() {
            terms.add_prefix(word, place..=place);
        } else {
            terms.add_word(word, place..=place);
        }
        if let Some(next) = words.get(usize::from(place) + 1) {
            let joined = format!("{word}{next}");
            if usize::from(place) + 2 == words.len() {
                terms.add_prefix(&joined, place..=place + 1);
            } else {
                terms.add_word(&joined, place..=place + 1);
            }
        }
    }
    terms
}

fn phrase(text: &str) -> MatchingTerms {
    let words: Vec<Option<String>> = text.split(' ').map(|word| (word != "*").then(|| word.to_owned())).collect();
    let last = words.len() as u16 - 1;
    let mut terms = MatchingTerms::default();
    terms.add_sequence(words, 0..=last);
    terms
}

/// Everything that a test may ask of [`Formatter`].
struct Asked<'a> {
    terms: MatchingTerms,
    retrieved: &'a [&'a str],
    displayed: &'a [&'a str],
    highlight: &'a [&'a str],
    crop: &'a [&'a str],
    crop_length: usize,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Asked {
            terms: MatchingTerms::default(),
            retrieved: &["*"],
            displayed: &["*"],
            highlight: &["*"],
            crop: &[],
            crop_length: 10,
        }
    }
}

/// `_formatted` and `_matchesPosition` of `document`.
fn formatted(document: &str, asked: Asked<'_>) -> (String, String) {
    let projection = Projection {
        displayed: Selection::new(asked.displayed),
        retrieved: Selection::new(asked.retrieved),
        with_vectors: false,
    };
    let options = FormatOptions {
        highlight: Selection::new(asked.highlight),
        crop: CropSelection::new(asked.crop, asked.crop_length),
        with_positions: true,
        ..FormatOptions::default()
    };
    let formatter = Formatter {
        projection: &projection,
        options: &options,
        terms: &asked.terms,
        tokenizer: &Tokenizer::new(&TextOptions::default()),
        languages: &|_| Vec::new(),
        may_take: &|_| true,
    };
    let formatted = formatter.format(document.as_bytes()).unwrap();
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default()).unwrap();
    (text(formatted.document), text(formatted.positions))
}

/// `text` cropped to `length` words and highlighted.
#[track_caller]
fn check_crop(text: &str, terms: MatchingTerms, length: usize, expected: &str) {
    let document = serde_json::json!({ "t": text }).to_string();
    let asked = Asked { terms, crop: &["t"], crop_length: length, ..Asked::default() };
    assert_eq!(formatted(&document, asked).0, serde_json::json!({ "t": expected }).to_string());
}

#[track_caller]
fn check_highlight(text: &str, terms: MatchingTerms, expected: &str) {
    check_crop(text, terms, 0, expected);
}

#[test]
fn words_prefixes_and_concatenations_are_tagged() {
    check_highlight("the quick fox, Quicker", terms("quick fox"), "the <em>quick</em> <em>fox</em>, Quicker");
    check_highlight("Brownish foxes", terms("brown fox"), "Brownish <em>fox</em>es");
    check_highlight("camelCaseWord snake_case", terms("camel case"), "<em>camelCase</em>Word snake_<em>case</em>");
    check_highlight("don't stop", terms("don t"), "<em>don</em>'<em>t</em> stop");
    check_highlight("red car", terms("red car"), "<em>red</em> <em>car</em>");
    check_highlight("", terms("red"), "");
}

#[test]
fn heads_are_cut_between_whole_characters_of_the_original() {
    check_highlight("Westfália", terms("westfal"), "<em>Westfál</em>ia");
    check_highlight("Westfália", terms("westf"), "<em>Westf</em>ália");
    // The accent is a character of its own and stays with its letter.
    check_highlight("Westfa\u{301}lia", terms("westfa"), "<em>Westfa\u{301}</em>lia");
    check_highlight("crème brûlée", terms("creme brulee"), "<em>crème</em> <em>brûlée</em>");
}

#[test]
fn misspelt_prefixes_mark_as_many_characters_as_the_query_has() {
    let mut typo = MatchingTerms::default();
    typo.add_misspelt_prefix("westfalia", 5, 0..=0);
    check_highlight("Westfalia", typo, "<em>Westf</em>alia");
    let mut short = MatchingTerms::default();
    short.add_misspelt_prefix("fox", 9, 0..=0);
    check_highlight("foxes", short, "<em>fox</em>es");
    // The query word itself and a typo of it that is shorter.
    let mut both = terms("party");
    both.add_misspelt_prefix("part", 5, 0..=0);
    check_highlight("partying in part", both, "<em>party</em>ing in <em>part</em>");
}

#[test]
fn sequences_are_one_match_and_win() {
    check_highlight("Hello, World! world hello", phrase("hello world"), "<em>Hello, World</em>! world hello");
    check_highlight("a sun flower oil", phrase("sun flower"), "a <em>sun flower</em> oil");
    check_highlight("red red red", phrase("red red"), "<em>red red</em> red");
    check_highlight("brown the fox brown fox", phrase("brown * fox"), "<em>brown the fox</em> brown fox");
    let mut both = phrase("brown fox");
    both.add_word("brown", 5..=5);
    check_highlight("brown brown fox", both, "<em>brown</em> <em>brown fox</em>");
}

#[test]
fn documents_keep_their_shape() {
    let document =
        r#"{"id":14,"x":1.50,"ok":true,"no":null,"e":{},"l":[],"tags":["Red","blue"],"a":{"b":"red","c":"red"}}"#;
    let (all, positions) = formatted(document, Asked { terms: terms("red"), ..Asked::default() });
    assert_eq!(
        all,
        r#"{"id":"14","x":"1.5","ok":true,"no":null,"e":{},"l":[],"tags":["<em>Red</em>","blue"],"a":{"b":"<em>red</em>","c":"<em>red</em>"}}"#
    );
    assert_eq!(
        positions,
        r#"{"a.b":[{"start":0,"length":3}],"a.c":[{"start":0,"length":3}],"tags":[{"start":0,"length":3,"indices":[0]}]}"#
    );
    let (some, _) =
        formatted(document, Asked { terms: terms("red"), retrieved: &["id"], highlight: &["a.b"], ..Asked::default() });
    assert_eq!(some, r#"{"id":"14","a":{"b":"<em>red</em>"}}"#);
    let nothing_below = Asked { retrieved: &["no.x", "e.x", "l.x", "a.x", "id.x"], ..Asked::default() };
    let (emptied, _) = formatted(document, Asked { highlight: &["tags.x"], ..nothing_below });
    assert_eq!(emptied, r#"{"no":null,"e":{},"l":[],"tags":[],"a":{}}"#);
    let (hidden, positions) = formatted(
        document,
        Asked { terms: terms("red"), displayed: &["tags"], retrieved: &["id"], highlight: &["a"], ..Asked::default() },
    );
    assert_eq!((hidden.as_str(), positions.as_str()), ("{}", r#"{"tags":[{"start":0,"length":3,"indices":[0]}]}"#));
}

#[test]
fn numbers_are_matched_as_text() {
    let (document, positions) =
        formatted(r#"{"n":12,"list":[[1],[2,12]]}"#, Asked { terms: terms("12"), ..Asked::default() });
    assert_eq!(document, r#"{"n":"<em>12</em>","list":[["1"],["2","<em>12</em>"]]}"#);
    assert_eq!(positions, r#"{"list":[{"start":0,"length":2,"indices":[1,1]}],"n":[{"start":0,"length":2}]}"#);
}

#[test]
fn numbers_are_shown_as_they_are_read() {
    let document = r#"{"a":1.50,"b":1E3,"c":-0,"d":1e-07,"e":1.0,"f":18446744073709551616}"#;
    let as_read = r#"{"a":"1.5","b":"1000.0","c":"0","d":"1e-7","e":"1.0","f":"18446744073709551616"}"#;
    assert_eq!(formatted(document, Asked { terms: terms("red"), ..Asked::default() }).0, as_read);
}

#[test]
fn crop_lengths_may_differ_by_attribute() {
    let document = r#"{"a":"one two three","b":"one two three","c":{"d":"one two three"}}"#;
    let asked = |crop| Asked { highlight: &[], crop, crop_length: 2, ..Asked::default() };
    assert_eq!(
        formatted(document, asked(&["*", "b:1", "c.d:0"])).0,
        r#"{"a":"one two…","b":"one…","c":{"d":"one two three"}}"#
    );
    assert_eq!(
        formatted(document, asked(&["a:x", "c"])).0,
        r#"{"a":"one two…","b":"one two three","c":{"d":"one two…"}}"#
    );
    // A later entry of the same name wins, and `*` over all before it.
    assert_eq!(
        formatted(document, asked(&["a:1", "b:1", "*", "b:2", "b:0"])).0,
        r#"{"a":"one two…","b":"one two three","c":{"d":"one two…"}}"#
    );
}

#[test]
fn crop_windows() {
    let long = "A quick brown fox can not jump 32 feet, right? Brr, it is cold!";
    check_crop(long, MatchingTerms::default(), 10, "A quick brown fox can not jump 32 feet, right…");
    let split = "void void split the world void void.";
    check_crop(split, phrase("split the world"), 3, "…<em>split the world</em>…");
    check_crop(split, phrase("split the world"), 2, "…<em>split the</em>…");
    check_crop(split, phrase("split the world"), 1, "…<em>split</em>…");
    check_crop(split, phrase("split the world"), 0, "void void <em>split the world</em> void void.");
    check_crop("Le Petit Prince", terms("prince"), 2, "…Petit <em>Prince</em>");
    check_crop("Le Petit Prince", terms("prince"), 20, "Le Petit <em>Prince</em>");

    let brown = "brownish foxes are quicker";
    check_crop(brown, terms("quick brown fox"), 3, "brownish <em>fox</em>es are…");
    check_crop(brown, terms("brown fox quick"), 3, "…foxes are <em>quick</em>er");
    check_crop("the quick brown fox", terms("quick brown fox"), 3, "…<em>quick</em> <em>brown</em> <em>fox</em>");
    let walk = "a quick and rather long walk before the brown sleepy old fox";
    check_crop(walk, terms("quick brown fox"), 3, "a <em>quick</em> and…");
    check_crop(walk, terms("fox"), 3, "…sleepy old <em>fox</em>");
    // The words themselves are shown rather than what begins like them, or is a typo or another form of them.
    let foxes = "foxes are here and there in the woods but one fox came home";
    check_crop(foxes, terms("fox"), 3, "…one <em>fox</em> came…");
    let mut houses = MatchingTerms::default();
    houses.add_word("houses", 0..=0);
    houses.add_other_word("housing", 0..=0);
    check_crop("housing of the poor in red houses", houses, 2, "…red <em>houses</em>");
    let symbols = "don't stop-believing AT&T C++ node.js v1.2.3";
    check_crop(symbols, terms("c"), 3, "…AT&T <em>C</em>+…");
    check_crop(symbols, terms("at t"), 3, "…believing <em>AT</em>&<em>T</em>…");
    check_crop(symbols, terms("stop believing"), 3, "…t <em>stop</em>-<em>believing</em>…");
    check_crop(symbols, terms("node js"), 3, "…C++ <em>node</em>.<em>js</em>…");
    // Each pair of neighbours that a window can grow over.
    let separated = "One. Two! Three? red; four, five";
    check_crop(separated, terms("red"), 1, "…<em>red</em>…");
    check_crop(separated, terms("red"), 2, "…Three? <em>red</em>…");
    check_crop(separated, terms("red"), 3, "… Three? <em>red</em>; four…");
    check_crop(separated, terms("red"), 4, "…Two! Three? <em>red</em>; four…");
    check_crop(separated, terms("red"), 5, "…Two! Three? <em>red</em>; four, five");
    check_crop(separated, terms("red"), 6, "One. Two! Three? <em>red</em>; four, five");
    // Of equals the first; beyond seven words, distances are equal.
    check_crop("x red y z red x", terms("red"), 2, "x <em>red</em>…");
    let far = "red a b c d e f g h green x x x x x x x x x x x x red i j k l m n green";
    check_crop(far, terms("red green"), 10, "<em>red</em> a b c d e f g h <em>green</em>…");
    let nearer = far.replace("red i j k l m n", "red i j k l m");
    check_crop(&nearer, terms("red green"), 10, "…x x x <em>red</em> i j k l m <em>green</em>");
    check_crop(
        "camelCaseWord snake_case_word kebab-case-word",
        terms("kebab case"),
        3,
        "…word <em>kebab</em>-<em>case</em>…",
    );
}

#[test]
fn nothing_is_formatted_unless_asked_for() {
    let projection = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: false };
    let formatter = Formatter {
        projection: &projection,
        options: &FormatOptions::default(),
        terms: &terms("red"),
        tokenizer: &Tokenizer::new(&TextOptions::default()),
        languages: &|_| Vec::new(),
        may_take: &|_| true,
    };
    assert_eq!(formatter.format(br#"{"a":"red"}"#).unwrap(), Formatted::default());
}

#[test]
fn deep_documents_are_walked() {
    // Deeper than documents are accepted.
    let depth = 200;
    let deep = "{\"a\":".repeat(depth) + "\"red\"" + &"}".repeat(depth);
    let path = vec!["a"; depth].join(".");
    assert_eq!(shown(&deep, &["*"], &[&path]), deep);
    let empty = "{\"a\":".repeat(depth - 1) + "{}" + &"}".repeat(depth - 1);
    assert_eq!(shown(&deep, &["*"], &[&format!("{path}.a")]), empty);
    let (marked, _) = formatted(&deep, Asked { terms: terms("red"), ..Asked::default() });
    assert_eq!(marked, deep.replace("red", "<em>red</em>"));
}
