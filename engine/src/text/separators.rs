//! Where words end: the effective list of separators and dictionary words, and the search for them in a text.

use std::fmt;
use std::sync::LazyLock;

use charabia::separators::{CONTEXT_SEPARATORS, DEFAULT_SEPARATORS};
use hashbrown::{HashMap, HashSet};

use super::known_words::KnownWords;
use super::{TextOptions, TokenKind};

/// Control characters that separate lines and pages; the protocol's default list leaves them out. No-break spaces and
/// the no-break hyphen are *not* separators, as in the protocol: words that they join count as one.
const MORE_SOFT: &[&str] = &["\u{b}", "\u{c}", "\u{85}"];
/// Full-width and half-width forms of sentence marks: they end a sentence like the marks they stand for.
const MORE_HARD: &[&str] = &["！", "？", "；", "．", "，", "：", "。", "、", "｡", "､"];

type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

static HARD: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| CONTEXT_SEPARATORS.iter().chain(MORE_HARD).copied().collect());

/// Separators and dictionary words, matched leftmost-longest on the original text.
pub(super) struct Separators {
    /// ASCII characters that begin no default separator: most of any text, and told without hashing.
    plain: [bool; 128],
    /// Separators of one character.
    single: FastMap<char, TokenKind>,
    /// The default separators of several characters, by their first; few, so they are tried one by one.
    several: FastMap<char, Vec<(&'static str, TokenKind)>>,
    /// Separators of several characters and dictionary words from the settings. `None` without any.
    custom: Option<KnownWords>,
}

/// A part of a text: a separator, a dictionary word (`known`), or text that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: TokenKind,
    /// A dictionary word: it is not cut further.
    pub(super) known: bool,
}

impl fmt::Debug for Separators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let custom = self.custom.as_ref().map_or(0, KnownWords::len);
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
        let mut separators =
            Separators { plain: [true; 128], single: FastMap::default(), several: FastMap::default(), custom: None };
        for &separator in DEFAULT_SEPARATORS.iter().chain(MORE_SOFT).chain(MORE_HARD) {
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
        let dictionary: HashSet<&str> =
            options.dictionary.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let mut words: Vec<(&str, TokenKind)> = dictionary.iter().map(|word| (*word, TokenKind::Word)).collect();
        for separator in &options.separators {
            if separator.is_empty() || removed.contains(&**separator) || dictionary.contains(&**separator) {
                continue;
            }
            match only_char(separator) {
                Some(c) => drop(separators.single.insert(c, kind_of(separator))),
                None => words.push((separator, kind_of(separator))),
            }
        }
        separators.custom = KnownWords::new(words);
        for &c in separators.single.keys().chain(separators.several.keys()) {
            if let Some(plain) = separators.plain.get_mut(c as usize) {
                *plain = false;
            }
        }
        separators
    }

    pub(super) fn single(&self, c: char) -> Option<TokenKind> {
        self.single.get(&c).copied()
    }

    /// The kind of the default separator of several characters `text`, unless the settings removed it.
    pub(super) fn several(&self, text: &str) -> Option<TokenKind> {
        let first = text.chars().next()?;
        self.several.get(&first)?.iter().find(|(separator, _)| *separator == text).map(|(_, kind)| *kind)
    }

    /// Whether a dictionary word or a custom separator of several characters stands somewhere in `text`.
    pub(super) fn has_custom(&self, text: &str) -> bool {
        self.custom.as_ref().is_some_and(|custom| custom.are_in(text))
    }

    /// Cuts `text` into spans that cover it. Spans that are neither separator nor dictionary word never touch.
    pub(super) fn spans(&self, text: &str, mut span: impl FnMut(Span)) {
        let find = |from: usize| {
            let (range, kind) = self.custom.as_ref()?.first(text, from)?;
            Some(Span { start: range.start, end: range.end, kind, known: kind == TokenKind::Word })
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
        if c.is_ascii() && self.plain[c as usize] {
            return custom;
        }
        let single = self.single(c).map(|kind| Span { start: at, end: at + c.len_utf8(), kind, known: false });
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
        for c in "=<>|~$^€°©".chars() {
            let word = format!("a{c}b");
            assert_eq!(cut(&default, &word), [(word.as_str(), 'w')]);
        }
        assert_eq!(cut(&default, "។ល។")[..], [("។ល។", 'h')]);
    }

    #[test]
    fn settings_add_and_remove_separators() {
        assert_eq!(cut(&options(&[], &["#"], &[]), "C# a"), [("C#", 'w'), (" ", 's'), ("a", 'w')]);
        assert_eq!(
            cut(&options(&["|", "<br>", "!"], &[], &[]), "a|b<br>c<b!"),
            [("a", 'w'), ("|", 's'), ("b", 'w'), ("<br>", 's'), ("c<b", 'w'), ("!", 'h')]
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
            [
                ("J. R. R.", 'd'),
                (" ", 's'),
                ("Tolkien", 'w'),
                (" ", 's'),
                ("&", 'd'),
                (" ", 's'),
                ("j", 'w'),
                (". ", 'h'),
                ("r", 'w'),
                (".", 's')
            ]
        );
        let overlapping = options(&[" b"], &[], &[]);
        assert_eq!(cut(&overlapping, "a. bc bd"), [("a", 'w'), (". ", 'h'), ("bc", 'w'), (" b", 's'), ("d", 'w')]);
    }
}
