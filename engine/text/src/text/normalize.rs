//! Normalisation of words and facet strings. Every step works on one character at a time, so a word's characters
//! can be traced back to the original.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

use super::script::{Script, runs};
use super::segment::language_of;
use super::signs::is_invisible;
use super::{FACET_BYTES_MAX, Language, ideographs, letters};

/// The steps that a script and language ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folding {
    script: Script,
    swedish: bool,
    ideographs: bool,
    kana: bool,
}

impl Folding {
    /// Chinese and Japanese are folded alike, whatever the language is said to be: a short query in ideographs looks Chinese
    /// while its document looks Japanese, and who names a language for the one does not always for the other.
    pub(super) fn new(script: Script, language: Option<Language>) -> Folding {
        Folding {
            script,
            swedish: script == Script::Latin && language == Some(Language::Swe),
            ideographs: script == Script::Cj,
            kana: script == Script::Cj,
        }
    }

    pub(super) const LATIN: Folding = Folding { script: Script::Latin, swedish: false, ideographs: false, kana: false };

    /// Reports whether case is folded.
    fn has_case(&self) -> bool {
        matches!(self.script, Script::Latin | Script::Cyrillic | Script::Greek | Script::Georgian | Script::Armenian)
    }

    fn drops_marks(&self) -> bool {
        matches!(self.script, Script::Latin | Script::Greek | Script::Arabic | Script::Hebrew | Script::Thai)
    }

    /// Appends the normal form of `word` to `out`, and to `map` the bytes of each original character and of its normal form.
    /// Nothing is trimmed.
    pub(super) fn word(&self, word: &str, out: &mut String, mut map: Option<&mut Vec<(u8, u8)>>) {
        let mut chars = word.chars().peekable();
        while let Some(c) = chars.next() {
            let before = out.len();
            let composed = self.swedish.then(|| recompose(c, chars.peek().copied())).flatten();
            match composed {
                Some((letter, _)) => self.fold(letter, out),
                None => decompose_compatible(c, |part| {
                    if !part.is_control() || part.is_whitespace() {
                        self.fold(part, out);
                    }
                }),
            }
            let written = out.len() - before;
            if let Some(map) = map.as_deref_mut() {
                // No character decomposes to more than 18, so both lengths fit a byte.
                map.push((c.len_utf8() as u8, u8::try_from(written).unwrap_or(u8::MAX)));
            }
            if let Some((_, true)) = composed {
                let mark = chars.next().expect("the letter was composed with the next character");
                if let Some(map) = map.as_deref_mut() {
                    map.push((mark.len_utf8() as u8, 0));
                }
            }
        }
    }

    /// Folds one decomposed character.
    fn fold(&self, c: char, out: &mut String) {
        if c.is_ascii() {
            // In a script without case these come from symbols such as the square MHz only.
            out.push(c.to_ascii_lowercase());
            return;
        }
        if let Some(digit) = letters::digit(c) {
            out.push(digit);
            return;
        }
        if self.has_case() {
            for lower in c.to_lowercase() {
                self.fold_letter(lower, out);
            }
        } else {
            self.fold_letter(c, out);
        }
    }

    /// Folds a letter after it was lower-cased.
    fn fold_letter(&self, c: char, out: &mut String) {
        if self.script == Script::Latin
            && let Some(typed) = letters::latin(c)
        {
            out.push_str(typed);
            return;
        }
        match (self.script, c) {
            (Script::Cj, '\u{2e80}'..='\u{303f}' | '\u{3041}'..='\u{f8ff}') => out.push(self.fold_cj(c)),
            // None of these are letters of Greek, Cyrillic or Armenian.
            _ if !matches!(c, '\u{370}'..'\u{61c}') && (is_invisible(c) || letters::is_untyped(c)) => {}
            (Script::Latin, '’' | '‘' | '‛') => out.push('\''),
            // Of the Catalan ŀ.
            (Script::Latin, '·') => {}
            (Script::Cyrillic, _) if letters::drops_cyrillic_mark(out, c) => {}
            (Script::Cyrillic, _) => out.push(letters::cyrillic(c)),
            (Script::Greek, 'ς') => out.push('σ'),
            (Script::Arabic, 'ـ') => {}
            (Script::Arabic, 'أ' | 'إ' | 'آ' | 'ٱ') => out.push('ا'),
            (Script::Arabic, 'ى' | 'ی') => out.push('ي'),
            (Script::Arabic, 'ک') => out.push('ك'),
            (Script::Arabic, 'ة' | 'ہ' | 'ھ' | 'ە') => out.push('ه'),
            (Script::Cj, _) => out.push(self.fold_cj(c)),
            _ if self.drops_marks() && is_nonspacing_mark(c) => {}
            _ => out.push(c),
        }
    }

    fn fold_cj(&self, c: char) -> char {
        match c {
            // Katakana and its iteration marks lie 96 places above hiragana.
            'ァ'..='ヶ' | 'ヽ' | 'ヾ' if self.kana => char::from_u32(u32::from(c) - 0x60).unwrap_or(c),
            _ if self.ideographs => ideographs::fold(c),
            _ => c,
        }
    }
}

/// Swedish å, ä and ö are letters: kept whole, and put together when written with a separate mark. Answers the letter
/// and whether `next` is its mark.
fn recompose(c: char, next: Option<char>) -> Option<(char, bool)> {
    match (c, next) {
        ('å' | 'ä' | 'ö' | 'Å' | 'Ä' | 'Ö', _) => Some((c, false)),
        // ANGSTROM SIGN is canonically the letter.
        ('\u{212b}', _) => Some(('Å', false)),
        ('a', Some('\u{30a}')) => Some(('å', true)),
        ('A', Some('\u{30a}')) => Some(('Å', true)),
        ('a', Some('\u{308}')) => Some(('ä', true)),
        ('A', Some('\u{308}')) => Some(('Ä', true)),
        ('o', Some('\u{308}')) => Some(('ö', true)),
        ('O', Some('\u{308}')) => Some(('Ö', true)),
        _ => None,
    }
}

/// Accents and vowel signs (general category Mn), sorted. The crate that knows the category gives all marks; of
/// these, a word of Thai loses the non-spacing ones.
static NONSPACING_MARKS: LazyLock<Vec<char>> = LazyLock::new(|| {
    let is_nonspacing = |c: &char| {
        let token = charabia::Token {
            lemma: Cow::Owned(c.to_string()),
            script: charabia::Script::Thai,
            kind: charabia::TokenKind::Word,
            ..Default::default()
        };
        let folded = charabia::normalizer::LOSSY_NORMALIZERS.iter().fold(token, |token, normalizer| {
            if normalizer.should_normalize(&token) { normalizer.normalize(token, &Default::default()) } else { token }
        });
        folded.lemma.is_empty()
    };
    ('\u{300}'..='\u{2ffff}').filter(|c| is_combining_mark(*c)).filter(is_nonspacing).collect()
});

fn is_nonspacing_mark(c: char) -> bool {
    is_combining_mark(c) && NONSPACING_MARKS.binary_search(&c).is_ok()
}

/// The normalised form of `word` taken as one token: what `disableOnWords` and facet search compare with. Each
/// letter is folded as its script asks; no language is detected. Trimmed; may be empty.
pub fn normalize_word(word: &str) -> String {
    normalize_word_in(word, &[])
}

/// Works like [`normalize_word`], for text in one of `languages`, or in any language if there are none.
pub fn normalize_word_in(word: &str, languages: &[Language]) -> String {
    let mut out = String::with_capacity(word.len());
    let mut from = 0;
    runs(word, |end, script| {
        let run = &word[from..end];
        let language = if languages.is_empty() { None } else { language_of(run, script, languages) };
        Folding::new(script, language).word(run, &mut out, None);
        from = end;
    });
    let trimmed = out.trim();
    if trimmed.len() == out.len() { out } else { trimmed.to_owned() }
}

/// The form under which facet strings are compared: trimmed, compatibility-decomposed, lowercase, accents kept, at
/// most [`FACET_BYTES_MAX`] bytes. Borrows when `value` is already in that form.
pub fn normalize_facet(value: &str) -> Cow<'_, str> {
    let value = value.trim();
    if value.is_ascii() {
        let value = &value[..value.len().min(FACET_BYTES_MAX)];
        let has_upper = value.bytes().any(|byte| byte.is_ascii_uppercase());
        return if has_upper { Cow::Owned(value.to_ascii_lowercase()) } else { Cow::Borrowed(value) };
    }
    // A long value is cut before the work, too: a character keeps at least a quarter of its bytes.
    let head = cut_at(value, 4 * FACET_BYTES_MAX);
    let mut folded = head.nfkd().collect::<String>().to_lowercase();
    folded.truncate(cut_at(&folded, FACET_BYTES_MAX).len());
    Cow::Owned(folded)
}

/// The start of `text`, at most `bytes_max` long and ending between characters.
fn cut_at(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words() {
        for (word, expected) in [
            ("", ""),
            ("The", "the"),
            ("Ångström", "angstrom"),
            ("É", "e"),
            ("e\u{301}", "e"),
            ("İstanbul", "istanbul"),
            ("ılık", "ilik"),
            ("ﬁn", "fin"),
            ("Ａb²", "ab2"),
            ("Œuvre æther", "oeuvre aether"),
            ("Đà ðe", "da de"),
            ("it’s", "it's"),
            ("3°F", "3°f"),
            ("ё", "е"),
            ("Й", "и\u{306}"),
            ("ΟΔΟΣ ς", "οδοσ σ"),
            ("أحمدـ", "احمد"),
            ("مدرسة", "مدرسه"),
            ("שָׁלוֹם", "שלום"),
            ("ง่าย", "งาย"),
            ("カタカナ", "かたかな"),
            ("ｶﾞ", "か\u{3099}"),
            ("スーパー", "すーは\u{309a}ー"),
            ("a\u{7}b", "ab"),
            (" \u{a0}x ", "x"),
            ("ՀայասՏան", "հայաստան"),
            ("ایران کتاب", "ايران كتاب"),
            ("葛\u{e0100}城 \u{2764}\u{fe0f}", "葛城 \u{2764}"),
            ("ശ്രീ\u{200d}", "ശ്രീ"),
        ] {
            assert_eq!(normalize_word(word), expected, "{word:?}");
        }
    }

    #[test]
    fn chinese_variants_meet() {
        assert_eq!(normalize_word("尊嚴"), normalize_word("尊严"));
    }

    #[test]
    fn declared_languages_choose_the_steps() {
        let fold = |word: &str, script, language| {
            let mut out = String::new();
            Folding::new(script, Some(language)).word(word, &mut out, None);
            out
        };
        assert_eq!(fold("Ångström fa\u{308}r é", Script::Latin, Language::Swe), "ångström fär e");
        let alone = fold("\u{212b}", Script::Latin, Language::Swe);
        assert_eq!(alone, "å", "ANGSTROM SIGN at the end of a word");
        assert_eq!(fold("\u{212b}ngstro\u{308}m", Script::Latin, Language::Swe), "ångström", "and before a letter");
        let both = normalize_word("尊嚴") + "かな";
        assert_eq!(fold("尊嚴カナ", Script::Cj, Language::Jpn), both);
        assert_eq!(fold("尊严カナ", Script::Cj, Language::Cmn), both);
        assert_eq!(fold("كتابي ۱۲", Script::Arabic, Language::Pes), "كتابي 12");
    }

    #[test]
    fn maps_trace_characters_back() {
        let (mut out, mut map) = (String::new(), Vec::new());
        Folding::LATIN.word("ﬁÉœe\u{301}\u{7}ẞłʻ", &mut out, Some(&mut map));
        assert_eq!(out, "fieoeessl");
        assert_eq!(map, [(3, 2), (2, 1), (2, 2), (1, 1), (2, 0), (1, 0), (3, 2), (2, 1), (2, 0)]);
    }

    #[test]
    fn facets() {
        for (value, expected) in [
            ("", ""),
            ("  ", ""),
            (" Drama ", "drama"),
            ("Éclair", "e\u{301}clair"),
            ("ＡＢ\u{a0}", "ab"),
            ("ΟΔΟΣ", "οδος"),
        ] {
            assert_eq!(normalize_facet(value), expected, "{value:?}");
        }
        assert!(matches!(normalize_facet("drama"), Cow::Borrowed("drama")));
        assert_eq!(normalize_facet(&"x".repeat(1000)).len(), FACET_BYTES_MAX);
        assert_eq!(normalize_facet(&format!("a{}", "日".repeat(1000))).len(), 466, "cut between characters");
        assert_eq!(normalize_facet(&"𝐀".repeat(1000)).len(), FACET_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn maps_cover_both_forms(word in ".{0,40}", language in 0..4usize) {
            let mut from = 0;
            let language = [None, Some(Language::Swe), Some(Language::Jpn), Some(Language::Pes)][language];
            runs(&word, |end, script| {
                let (mut out, mut map) = (String::new(), Vec::new());
                Folding::new(script, language).word(&word[from..end], &mut out, Some(&mut map));
                assert_eq!(map.iter().map(|&(original, _)| usize::from(original)).sum::<usize>(), end - from);
                assert_eq!(map.iter().map(|&(_, normal)| usize::from(normal)).sum::<usize>(), out.len());
                from = end;
            });
        }

        #[test]
        fn facets_are_bounded(value in "\\PC{0,300}") {
            let folded = normalize_facet(&value);
            prop_assert!(folded.len() <= FACET_BYTES_MAX);
        }
    }
}
