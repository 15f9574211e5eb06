//! The dictionary words of the settings, found in a text whether it writes them in capitals or not.

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashSet;

use super::TokenKind;
use super::known_words::KnownWords;

/// Words that are one wherever they stand.
#[derive(Debug)]
pub(super) struct Dictionary(KnownWords);

/// A text in lower case, character by character, and where its characters were.
pub(super) struct LowerCase<'t> {
    text: Cow<'t, str>,
    /// Per byte of the lower case, and one for its end, the byte of the original: where lengths differ.
    places: Option<Vec<usize>>,
}

fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        // Sigma has another form at the end of words.
        (Some('ς'), None) => 'σ',
        (Some(one), None) => one,
        // Letters that become two (İ) are themselves.
        _ => c,
    }
}

impl<'t> LowerCase<'t> {
    pub(super) fn of(text: &'t str) -> LowerCase<'t> {
        if text.is_ascii() {
            let has_upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
            let text = if has_upper { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
            return LowerCase { text, places: None };
        }
        let lowered: String = text.chars().map(lower).collect();
        let same_lengths = text.chars().all(|c| lower(c).len_utf8() == c.len_utf8());
        let places = (!same_lengths).then(|| {
            let each = text.char_indices().flat_map(|(at, c)| std::iter::repeat_n(at, lower(c).len_utf8()));
            each.chain([text.len()]).collect()
        });
        LowerCase { text: Cow::Owned(lowered), places }
    }

    fn original(&self, place: usize) -> usize {
        self.places.as_ref().map_or(place, |places| places[place])
    }

    /// The place here of the character at `original`.
    fn place(&self, original: usize) -> usize {
        self.places.as_ref().map_or(original, |places| places.partition_point(|place| *place < original))
    }
}

impl Dictionary {
    /// `None` without any word that is not empty.
    pub(super) fn new(words: &[String]) -> Option<Dictionary> {
        let lower: HashSet<String> =
            words.iter().filter(|word| !word.is_empty()).map(|word| LowerCase::of(word).text.into_owned()).collect();
        KnownWords::new(lower.iter().map(|word| (word.as_str(), TokenKind::Word)).collect()).map(Dictionary)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.0.are_in(&LowerCase::of(text).text)
    }

    /// The first word that begins at `from`, a byte of the original, or behind it; the longest there.
    pub(super) fn first(&self, text: &LowerCase<'_>, from: usize) -> Option<Range<usize>> {
        let (found, _) = self.0.first(&text.text, text.place(from))?;
        Some(text.original(found.start)..text.original(found.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case() {
        let words = ["J. R. R.", "ÉCLAIR", "ΟΔΟΣ", "ⱥb"].map(str::to_owned);
        let dictionary = Dictionary::new(&words).unwrap();
        let all = |text: &str| -> Vec<String> {
            let lower = LowerCase::of(text);
            let (mut from, mut found) = (0, Vec::new());
            while let Some(range) = dictionary.first(&lower, from) {
                from = range.end;
                found.push(text[range].to_owned());
            }
            assert_eq!(dictionary.are_in(text), !found.is_empty());
            found
        };
        assert_eq!(all("by j. r. R. Tolkien"), ["j. r. R."]);
        assert_eq!(all("Éclair, éclair und ECLAIR"), ["Éclair", "éclair"]);
        assert_eq!(all("οδος"), ["οδος"]);
        assert_eq!(all("İK ȺB ⱥB ẞ éclair"), ["ȺB", "ⱥB", "éclair"], "letters of other lengths in the other case");
        assert!(Dictionary::new(&[String::new()]).is_none());
    }
}
