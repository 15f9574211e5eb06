//! Where words end: the effective list of separators and dictionary words, and the search for them in a text.

use std::fmt;
use std::sync::LazyLock;

use charabia::separators::{CONTEXT_SEPARATORS, DEFAULT_SEPARATORS};
use hashbrown::{HashMap, HashSet};

use super::dictionary::{Dictionary, LowerCase};
use super::known_words::KnownWords;
use super::signs::{Sign, ZERO_WIDTH_JOINER, sign, takes_joiners};
use super::{TextOptions, TokenKind};

/// Full-width and half-width forms of sentence marks: they end a sentence like the marks they stand for.
const MORE_HARD: &[&str] = &["！", "？", "；", "．", "，", "：", "。", "、", "｡", "､"];

type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

static HARD: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| CONTEXT_SEPARATORS.iter().chain(MORE_HARD).copied().collect());

/// Separators and dictionary words, matched leftmost-longest on the original text.
pub(super) struct Separators {
    /// ASCII characters that begin no default separator: most of any text, and found without hashing.
    plain: [bool; 128],
    /// Separators of one character: those of the lists, and the ASCII signs.
    single: FastMap<char, TokenKind>,
    /// True if the settings make letters, or other characters that are not signs, separators.
    has_letters: bool,
    /// Characters that the settings make part of words.
    joining: HashSet<char, foldhash::fast::RandomState>,
    /// The default separators of several characters, by their first; few, so they are tried one by one.
    several: FastMap<char, Vec<(&'static str, TokenKind)>>,
    /// Separators of several characters from the settings. `None` without any.
    custom: Option<KnownWords>,
    dictionary: Option<Dictionary>,
}

/// A part of a text: a separator, a word that is known to be one (`known`), or text that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
    /// A dictionary word, or a sign that is a word: it is not cut further.
    pub(super) known: bool,
}

impl fmt::Debug for Separators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let custom =
            self.custom.as_ref().map_or(0, KnownWords::len) + self.dictionary.as_ref().map_or(0, Dictionary::len);
        f.debug_struct("Separators")
            .field("single", &self.single.len())
            .field("custom", &custom)
            .finish_non_exhaustive()
    }
}

fn kind_of(separator: &str) -> TokenKind {
    if HARD.contains(separator) { TokenKind::HardSeparator } else { TokenKind::SoftSeparator }
}

fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

impl Separators {
    pub(super) fn new(options: &TextOptions) -> Separators {
        let removed: HashSet<&str> = options.non_separators.iter().map(String::as_str).collect();
        let mut separators = Separators {
            plain: [true; 128],
            single: FastMap::default(),
            has_letters: false,
            joining: removed.iter().filter_map(|separator| only_char(separator)).collect(),
            several: FastMap::default(),
            custom: None,
            dictionary: Dictionary::new(&options.dictionary),
        };
        for c in ('\0'..='\x7f').filter(|c| sign(*c).is_some() && !separators.joining.contains(c)) {
            separators.single.insert(c, TokenKind::SoftSeparator);
        }
        for &separator in DEFAULT_SEPARATORS.iter().chain(MORE_HARD) {
            if removed.contains(separator) {
                continue;
            }
            match only_char(separator) {
                Some(c) => drop(separators.single.insert(c, kind_of(separator))),
                None => {
                    let first = separator.chars().next().expect("no default separator is empty");
                    separators.several.entry(first).or_default().push((separator, kind_of(separator)));
                }
            }
        }
        let mut several = HashSet::new();
        for separator in &options.separators {
            if separator.is_empty() || removed.contains(&**separator) {
                continue;
            }
            match only_char(separator) {
                Some(c) => drop(separators.single.insert(c, kind_of(separator))),
                None => drop(several.insert(separator.as_str())),
            }
        }
        separators.custom = KnownWords::new(several.iter().map(|separator| (*separator, kind_of(separator))).collect());
        let first = separators.single.keys().chain(separators.several.keys());
        separators.has_letters = first.clone().any(|c| sign(*c).is_none());
        for &c in first {
            if let Some(plain) = separators.plain.get_mut(c as usize) {
                *plain = false;
            }
        }
        separators
    }

    /// Returns the kind of `c` independent of its context: a separator of some kind, or a sign that is a word. Returns
    /// `None` for parts of words, and for [`ZERO_WIDTH_JOINER`].
    pub(super) fn single(&self, c: char) -> Option<TokenKind> {
        let listed = self.single.get(&c).copied();
        if listed.is_some() || c.is_ascii() {
            return listed;
        }
        let by_category = match sign(c)? {
            Sign::Parts => TokenKind::SoftSeparator,
            Sign::IsWord => TokenKind::Word,
        };
        (!self.joining.contains(&c)).then_some(by_category)
    }

    /// Returns the effect of the joiner at `at` on the words beside it.
    fn joiner(&self, text: &str, at: usize) -> Option<TokenKind> {
        let listed = self.single.get(&ZERO_WIDTH_JOINER).copied();
        let joins =
            || self.joining.contains(&ZERO_WIDTH_JOINER) || text[..at].chars().next_back().is_some_and(takes_joiners);
        listed.or_else(|| (!joins()).then_some(TokenKind::SoftSeparator))
    }

    /// The kind of the default separator of several characters `text`, unless the settings removed it.
    pub(super) fn several(&self, text: &str) -> Option<TokenKind> {
        let first = text.chars().next()?;
        self.several.get(&first)?.iter().find(|(separator, _)| *separator == text).map(|(_, kind)| *kind)
    }

    /// Reports whether a dictionary word or a custom separator of several characters occurs anywhere in `text`.
    pub(super) fn has_custom(&self, text: &str) -> bool {
        self.custom.as_ref().is_some_and(|custom| custom.are_in(text))
            || self.dictionary.as_ref().is_some_and(|dictionary| dictionary.are_in(text))
    }

    /// Cuts `text` into spans that cover it. Spans that are neither separator nor known word never touch.
    pub(super) fn spans(&self, text: &str, mut span: impl FnMut(Span)) {
        let lower = self.dictionary.as_ref().map(|_| LowerCase::of(text));
        let find = |from: usize| {
            let word = self.dictionary.as_ref().zip(lower.as_ref()).and_then(|(words, text)| words.first(text, from));
            let word =
                word.map(|range| Span { start: range.start, end: range.end, kind: TokenKind::Word, known: true });
            let separator = self.custom.as_ref().and_then(|custom| custom.first(text, from));
            let separator =
                separator.map(|(range, kind)| Span { start: range.start, end: range.end, kind, known: false });
            // The first one, the longer of two, a word rather than a separator.
            word.into_iter().chain(separator).min_by_key(|span| (span.start, std::cmp::Reverse(span.end)))
        };
        let mut next_custom = find(0);
        let (mut at, mut plain_from) = (0, 0);
        while let Some(c) = text[at..].chars().next() {
            // A default separator can swallow the start of the match that was found; look again behind it.
            if next_custom.is_some_and(|found| found.start < at) {
                next_custom = find(at);
            }
            let custom = next_custom.filter(|found| found.start == at);
            let longest = self.longest(text, at, c, custom);
            let Some(found) = longest else {
                at += c.len_utf8();
                continue;
            };
            if plain_from < at {
                span(Span { start: plain_from, end: at, kind: TokenKind::Word, known: false });
            }
            span(found);
            at = found.end;
            plain_from = at;
        }
        if plain_from < at {
            span(Span { start: plain_from, end: at, kind: TokenKind::Word, known: false });
        }
    }

    /// The longest match at `at`, where `c` stands; `custom` wins a tie, for a dictionary word may be a separator.
    fn longest(&self, text: &str, at: usize, c: char, custom: Option<Span>) -> Option<Span> {
        let is_plain = match self.plain.get(c as usize) {
            Some(plain) => *plain,
            None => !self.has_letters && c != ZERO_WIDTH_JOINER && sign(c).is_none(),
        };
        if is_plain {
            return custom;
        }
        let kind = if c == ZERO_WIDTH_JOINER { self.joiner(text, at) } else { self.single(c) };
        let known = kind == Some(TokenKind::Word);
        let single = kind.map(|kind| Span { start: at, end: at + c.len_utf8(), kind, known });
        let several = self.several.get(&c).map_or(&[][..], Vec::as_slice).iter();
        let several = several
            .filter(|(separator, _)| text[at..].starts_with(separator))
            .map(|&(separator, kind)| Span { start: at, end: at + separator.len(), kind, known: false });
        let defaults = single.into_iter().chain(several);
        defaults.fold(custom, |longest, found| longest.filter(|longest| longest.end >= found.end).or(Some(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut<'t>(options: &TextOptions, text: &'t str) -> Vec<(&'t str, char)> {
        let mut found = Vec::new();
        Separators::new(options).spans(text, |span| {
            let mark = match span.kind {
                TokenKind::Word if span.known => 'd',
                TokenKind::Word => 'w',
                TokenKind::SoftSeparator => 's',
                TokenKind::HardSeparator => 'h',
            };
            found.push((&text[span.start..span.end], mark));
        });
        assert_eq!(found.iter().map(|(part, _)| *part).collect::<String>(), text, "spans cover the text");
        found
    }

    fn options(separators: &[&str], non_separators: &[&str], dictionary: &[&str]) -> TextOptions {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        TextOptions {
            separators: owned(separators),
            non_separators: owned(non_separators),
            dictionary: owned(dictionary),
        }
    }

    #[test]
    fn default_separators() {
        let default = TextOptions::default();
        assert_eq!(cut(&default, ""), []);
        assert_eq!(cut(&default, "a. b.c"), [("a", 'w'), (". ", 'h'), ("b", 'w'), (".", 's'), ("c", 'w')]);
        assert_eq!(
            cut(&default, "a,\nb, c."),
            [("a", 'w'), (",", 's'), ("\n", 's'), ("b", 'w'), (", ", 'h'), ("c", 'w'), (".", 's')]
        );
        for (hard, text) in
            [(true, "!?;¡¿…‼⁇\0§¶。、！？；．，：،؛؟۔।॥։՜՝՞።፣፤፥፦፧፨។៕៖៚๚๛།"), (false, " \n\t-_'’\"()/:@#&*+\u{200c}`")]
        {
            for c in text.chars() {
                let mark = if hard { 'h' } else { 's' };
                assert_eq!(cut(&default, &format!("a{c}")), [("a", 'w'), (c.to_string().as_str(), mark)], "{c:?}");
            }
        }
        for c in "=<>|~$^€°©™❤\u{a0}\u{2011}\u{200b}\u{feff}\u{2028}\u{202e}\u{7}".chars() {
            let word = format!("a{c}b");
            assert_eq!(cut(&default, &word), [("a", 'w'), (&word[1..=c.len_utf8()], 's'), ("b", 'w')], "{c:?}");
        }
        assert_eq!(cut(&default, "។ល។")[..], [("។ល។", 'h')]);
    }

    /// Every character there is, between letters of two scripts.
    #[test]
    fn all_that_is_no_part_of_words_parts_them() {
        use icu_properties::CodePointMapData;
        use icu_properties::props::GeneralCategory::*;
        let separators = Separators::new(&TextOptions::default());
        assert!(!separators.has_letters, "letters are passed over fast");
        let categories = CodePointMapData::new();
        for c in ('\0'..=char::MAX).filter(|c| !matches!(c, '\u{200d}' | '.' | ',')) {
            let parts = match categories.get(c) {
                MathSymbol | CurrencySymbol | ModifierSymbol | ConnectorPunctuation | DashPunctuation => true,
                OpenPunctuation | ClosePunctuation | InitialPunctuation | FinalPunctuation | OtherPunctuation => true,
                SpaceSeparator | LineSeparator | ParagraphSeparator | Control | Format => true,
                OtherSymbol => !c.is_alphabetic(),
                _ => continue,
            };
            assert_eq!(separators.single(c).is_some(), parts, "{c:?} {:x}", u32::from(c));
        }
        for letter in ["a", "日", "ก", "ж", "ب"] {
            let text = format!("{letter}😀{letter}\u{200b}{letter}㎏{letter}");
            let kinds: String = cut(&TextOptions::default(), &text).iter().map(|(_, kind)| *kind).collect();
            assert_eq!(kinds, "wswswdw");
        }
    }

    #[test]
    fn a_joiner_stays_in_scripts_that_write_it() {
        let default = TextOptions::default();
        assert_eq!(cut(&default, "ශ්\u{200d}රී"), [("ශ්\u{200d}රී", 'w')]);
        assert_eq!(cut(&default, "می\u{200d}خ"), [("می\u{200d}خ", 'w')]);
        assert_eq!(cut(&default, "a\u{200d}b"), [("a", 'w'), ("\u{200d}", 's'), ("b", 'w')]);
        assert_eq!(cut(&options(&[], &["\u{200d}"], &[]), "a\u{200d}b"), [("a\u{200d}b", 'w')]);
        assert_eq!(cut(&options(&["\u{200d}"], &[], &[]), "ක්\u{200d}ර").len(), 3);
    }

    #[test]
    fn settings_add_and_remove_separators() {
        assert_eq!(
            cut(&options(&[], &["€", "❤", "="], &[]), "5€ I❤ a=b"),
            [("5€", 'w'), (" ", 's'), ("I❤", 'w'), (" ", 's'), ("a=b", 'w')]
        );
        assert_eq!(cut(&options(&[], &["#"], &[]), "C# a"), [("C#", 'w'), (" ", 's'), ("a", 'w')]);
        assert_eq!(
            cut(&options(&["|", "<br>", "!"], &[], &[]), "a|b<br>c<b!"),
            [("a", 'w'), ("|", 's'), ("b", 'w'), ("<br>", 's'), ("c", 'w'), ("<", 's'), ("b", 'w'), ("!", 'h')]
        );
        assert_eq!(cut(&options(&[], &[". ", "."], &[]), "a. b"), [("a.", 'w'), (" ", 's'), ("b", 'w')]);
        assert_eq!(cut(&options(&[], &["."], &[]), "a.b. c"), [("a.b", 'w'), (". ", 'h'), ("c", 'w')]);
        assert_eq!(
            cut(&options(&["", "|"], &["|", ""], &[""]), "a|b"),
            [("a|b", 'w')],
            "removal wins, empty is ignored"
        );
    }

    #[test]
    fn dictionary_words_are_found_leftmost_longest() {
        let names = options(&[], &[], &["J. R.", "J. R. R.", "&"]);
        assert_eq!(
            cut(&names, "J. R. R. Tolkien & j. r."),
            [("J. R. R.", 'd'), (" ", 's'), ("Tolkien", 'w'), (" ", 's'), ("&", 'd'), (" ", 's'), ("j. r.", 'd')]
        );
        let overlapping = options(&[" b"], &[], &[]);
        assert_eq!(cut(&overlapping, "a. bc bd"), [("a", 'w'), (". ", 'h'), ("bc", 'w'), (" b", 's'), ("d", 'w')]);
    }
}
