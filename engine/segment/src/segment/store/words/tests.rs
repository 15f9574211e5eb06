//! What is written comes back, whatever it is.

use super::super::pieces::Pieces;
use super::super::writer::Dictionary;
use super::*;
use proptest::prelude::*;

/// A model of these texts, which are long enough to keep some back.
fn trained(texts: &[String]) -> Vec<u8> {
    let lengths: Vec<usize> = texts.iter().map(String::len).collect();
    train(texts.concat().as_bytes(), &lengths).expect("there are samples")
}

fn sentences(count: usize) -> Vec<String> {
    let sentence = |i: usize| {
        let name = ["Ann", "Bob", "Zoë", "O'Hara"][i % 4];
        format!(
            r#""title":"The film of {name}, part {}","text":"It is a {} American film, directed by {name} Miller; rated {}.","price":{}.{:02}"#,
            i % 7,
            1900 + i % 90,
            i * 7919 % 100_000,
            i % 50,
            i % 100
        )
    };
    (0..count).map(sentence).collect()
}

fn model() -> &'static (Vec<u8>, WordEncoder, WordDecoder) {
    static MODEL: std::sync::LazyLock<(Vec<u8>, WordEncoder, WordDecoder)> = std::sync::LazyLock::new(|| {
        let dictionary = trained(&sentences(4000));
        let encoder = WordEncoder::new(&dictionary).unwrap();
        let decoder = WordDecoder::new(&dictionary, &Pieces::default()).unwrap();
        (dictionary, encoder, decoder)
    });
    &MODEL
}

#[track_caller]
fn check(text: &[u8]) -> usize {
    let (_, encoder, decoder) = model();
    let (mut codes, mut found) = (Vec::new(), b"before".to_vec());
    encoder.encode(text, &mut codes);
    decoder.decode(&codes, text.len(), &mut found).expect("it was written just now");
    assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&[b"before", text].concat()));
    if !text.is_empty() {
        assert_eq!(decoder.decode(&codes, text.len() - 1, &mut Vec::new()), None, "longer than it may be");
    }
    codes.len()
}

#[test]
fn sentences_are_short() {
    let texts = sentences(4200);
    let (bytes, packed) =
        texts[4000..].iter().fold((0, 0), |sum, text| (sum.0 + text.len(), sum.1 + check(text.as_bytes())));
    assert!(packed * 6 < bytes, "{packed} of {bytes}");
    assert_eq!(trained(&texts[..4000]), model().0, "the same samples, the same model");
}

#[test]
fn zstd_stays_where_it_packs_smaller() {
    let is_of_words = |documents: &[String]| {
        let lengths: Vec<usize> = documents.iter().map(String::len).collect();
        let dictionary =
            Dictionary::train(documents.concat().as_bytes(), &lengths).expect("there is something to learn");
        is_model(&dictionary.bytes)
    };
    let sentences: Vec<String> = sentences(4000).iter().map(|fields| format!("{{{fields}}}")).collect();
    assert!(is_of_words(&sentences));
    // A few long texts without words, again and again.
    let noise = |seed: u64| {
        let number = |i: u64| format!("{:x}", (seed + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
        (0..60).map(number).collect::<String>()
    };
    let noise: Vec<String> = (0..1500).map(|i| format!(r#"{{"id":{i},"noise":"{}"}}"#, noise(i % 40 * 1000))).collect();
    assert!(!is_of_words(&noise));
}

#[test]
fn texts_come_back() {
    let long = "x".repeat(500);
    let words = "word ".repeat(100);
    for text in [
        "",
        " ",
        "  ",
        "a",
        "a ",
        " a",
        "a b",
        "a  b",
        "a b ",
        "film",
        "film film",
        "film  film",
        "film1",
        "1film",
        "0",
        "00",
        "007",
        "12345678901234567",
        "123456789012345678",
        "00000000000000000000000000",
        "99999999999999999",
        "3.14",
        "-1e5",
        "Zoë",
        "日本語 日本語",
        "日本語日本語",
        "a\u{301}",
        "\t\n\r",
        "\"\\\"",
        "It is a",
        "It is a 1950 American",
        "is a film directed",
        "the\u{a0}end",
        "!!!!!!!!!!!!!!!!!!!!",
        "a-b_c",
        "🎬 film",
        &words,
        &long,
    ] {
        check(text.as_bytes());
    }
    for length in [62, 63, 64, 65, 126, 127] {
        for around in [["", ""], ["film ", ""], ["", " film"], ["film ", " film"], ["1", "1"]] {
            check([around[0], &long[..length], around[1]].concat().as_bytes());
        }
    }
}

#[test]
fn every_byte_comes_back() {
    // Codes stand for nothing without pieces.
    let all: Vec<u8> = (0..=255).collect();
    for text in [&all[..], &all[..128], &all[128..], &[0xf8], &[0xff, 0xff, 1, 2, 3]] {
        check(text);
    }
}

#[test]
fn a_damaged_model_is_refused_or_harmless() {
    let dictionary = &model().0;
    for cut in (0..dictionary.len()).step_by(41) {
        assert!(WordDecoder::new(&dictionary[..cut], &Pieces::default()).is_none(), "cut at {cut}");
        assert!(WordEncoder::new(&dictionary[..cut]).is_none());
    }
    let (mut codes, mut damaged) = (Vec::new(), dictionary.clone());
    model().1.encode(sentences(1)[0].as_bytes(), &mut codes);
    for at in (0..damaged.len()).step_by(17) {
        damaged[at] ^= 3;
        if let Some(decoder) = WordDecoder::new(&damaged, &Pieces::default()) {
            let _ = decoder.decode(&codes, 10_000, &mut Vec::new());
        }
        damaged[at] ^= 3;
    }
    assert!(is_model(dictionary));
    assert!(!is_model(b"other"));
}

proptest! {
    #[test]
    fn any_text_comes_back(text in "([a-zA-Zé]{1,5}|[0-9]{1,20}| |, |film|directed by|[ -~]|\\PC){0,40}") {
        check(text.as_bytes());
    }

    #[test]
    fn any_codes_are_survived(codes in prop::collection::vec(any::<u8>(), 0..200), limit in 0usize..2000) {
        let mut out = Vec::new();
        let decoded = model().2.decode(&codes, limit, &mut out);
        prop_assert!(decoded.is_none() || out.len() <= limit);
    }
}
