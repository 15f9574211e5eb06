//! The short way for plain Latin text: one table look-up a character instead of scripts, languages, automata and
//! decomposition. Its results are those of the general way; a property test compares the two.

use super::normalize::Folding;
use super::script::Script;
use super::separators::Separators;
use super::signs::ZERO_WIDTH_JOINER;
use super::{Gap, TokenKind};

/// First character that is not in the table: it covers Latin with its extensions, punctuation, currency, letter-like
/// symbols and number forms.
const TABLE_LEN: usize = 0x2200;
/// Most characters that the normal form of one character has in the table.
const NORMAL_CHARS_MAX: usize = 3;

/// Class of a character, which decides its treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Part of a word, as it is. Only for ASCII, so that a run of such bytes is a word of the text itself.
    Same,
    /// Part of a word as a small letter. Only for ASCII.
    Capital,
    /// Part of a word after replacement by the entry's characters; there may be none of them.
    Fold,
    Soft,
    Hard,
    /// Begins a separator of two characters; looked at closely.
    Starter,
    /// Not ASCII: the character decides, not the byte.
    Wide,
    /// Character of another script, or one whose normal form does not fit. It needs the general algorithm.
    Foreign,
}

struct Entry {
    class: Class,
    normal_count: u8,
    normal: [char; NORMAL_CHARS_MAX],
}

/// Class and normal form of each character below [`TABLE_LEN`] under the separators of one tokenizer.
pub(super) struct LatinTable {
    entries: Vec<Entry>,
    /// Class by first byte: the inner loop needs no decoding.
    bytes: [Class; 256],
    /// Settings made white space part of words.
    foreign_ascii: bool,
    starters: Vec<Starter>,
}

/// A separator of two characters such as full stop and space.
struct Starter {
    first: u8,
    second: u8,
    class: Class,
    /// The class of the first character when the second does not follow.
    alone: Class,
}

/// Next element of the text.
enum Step<'t> {
    End,
    Separator { bytes: usize, hard: bool },
    Part { bytes: usize, entry: &'t Entry },
}

impl From<TokenKind> for Class {
    fn from(kind: TokenKind) -> Class {
        match kind {
            TokenKind::HardSeparator => Class::Hard,
            TokenKind::SoftSeparator => Class::Soft,
            TokenKind::Word => Class::Fold,
        }
    }
}

impl Entry {
    fn new(c: char, separators: &Separators) -> Entry {
        let mut entry = Entry { class: Class::Foreign, normal_count: 0, normal: ['\0'; NORMAL_CHARS_MAX] };
        match separators.single(c) {
            // A sign that is a word of its own.
            Some(TokenKind::Word) => return entry,
            Some(kind) => {
                entry.class = kind.into();
                return entry;
            }
            None => {}
        }
        // What a joiner does depends on the character before it.
        if c == ZERO_WIDTH_JOINER {
            return entry;
        }
        if Script::of(c).is_some_and(|script| script != Script::Latin) {
            return entry;
        }
        let (mut normal, mut one) = (String::new(), [0; 4]);
        Folding::LATIN.word(c.encode_utf8(&mut one), &mut normal, None);
        // White space could be trimmed off the word's end, which is not this loop's business.
        if normal.chars().count() > NORMAL_CHARS_MAX || normal.contains(char::is_whitespace) {
            return entry;
        }
        for (to, from) in entry.normal.iter_mut().zip(normal.chars()) {
            *to = from;
            entry.normal_count += 1;
        }
        let is = |normal: char| c.is_ascii() && entry.normal_count == 1 && entry.normal[0] == normal;
        entry.class = match c {
            _ if is(c) => Class::Same,
            'A'..='Z' if is(c.to_ascii_lowercase()) => Class::Capital,
            _ => Class::Fold,
        };
        entry
    }

    fn normal(&self) -> &[char] {
        &self.normal[..usize::from(self.normal_count)]
    }
}

impl LatinTable {
    pub(super) fn new(separators: &Separators) -> LatinTable {
        let character = |code| char::from_u32(code).expect("the table ends before the surrogates");
        let mut entries: Vec<Entry> =
            (0..TABLE_LEN).map(|code| Entry::new(character(code as u32), separators)).collect();
        let mut starters = Vec::new();
        for pair in [". ", ", "] {
            let Some(kind) = separators.several(pair) else { continue };
            let [first, second] = [pair.as_bytes()[0], pair.as_bytes()[1]];
            let entry = &mut entries[usize::from(first)];
            starters.push(Starter { first, second, class: kind.into(), alone: entry.class });
            entry.class = Class::Starter;
        }
        let mut bytes = [Class::Wide; 256];
        for (byte, entry) in bytes.iter_mut().zip(&entries).take(128) {
            *byte = entry.class;
        }
        let foreign_ascii = bytes.contains(&Class::Foreign);
        LatinTable { entries, bytes, foreign_ascii, starters }
    }

    /// Reports whether the table covers every character of `text`.
    pub(super) fn covers(&self, text: &str) -> bool {
        let covered = |c: char| self.entries.get(c as usize).is_some_and(|entry| entry.class != Class::Foreign);
        (text.is_ascii() && !self.foreign_ascii) || text.chars().all(covered)
    }

    /// Calls `word` with each word of `text`, which the table covers, and the gap before it.
    pub(super) fn words(&self, text: &str, buffer: &mut String, word: &mut impl FnMut(&str, Gap)) {
        let (mut at, mut gap, mut first) = (0, Gap::Soft, true);
        let mut emit = |normal: &str, gap: &mut Gap| {
            if !normal.is_empty() {
                word(normal, if first { Gap::Soft } else { *gap });
                (*gap, first) = (Gap::Soft, false);
            }
        };
        loop {
            let start = at;
            let has_capitals;
            (at, has_capitals) = self.skip_letters(text, at);
            let mut step = self.step(text, at);
            if let Step::Part { .. } = step {
                // From the first replaced character on, the word is built in the buffer.
                buffer.clear();
                buffer.push_str(&text[start..at]);
                buffer.make_ascii_lowercase();
                while let Step::Part { bytes, entry } = step {
                    buffer.extend(entry.normal());
                    let from = at + bytes;
                    (at, _) = self.skip_letters(text, from);
                    let known = buffer.len();
                    buffer.push_str(&text[from..at]);
                    buffer[known..].make_ascii_lowercase();
                    step = self.step(text, at);
                }
                emit(buffer, &mut gap);
            } else if has_capitals {
                buffer.clear();
                buffer.push_str(&text[start..at]);
                buffer.make_ascii_lowercase();
                emit(buffer, &mut gap);
            } else {
                emit(&text[start..at], &mut gap);
            }
            match step {
                Step::Separator { bytes, hard } => {
                    at += bytes;
                    if hard {
                        gap = Gap::Hard;
                    }
                }
                Step::End | Step::Part { .. } => return,
            }
        }
    }

    /// The end of the run of [`Class::Same`] and [`Class::Capital`] bytes that begins at `at`, and whether there are any of
    /// the latter.
    #[inline]
    fn skip_letters(&self, text: &str, at: usize) -> (usize, bool) {
        let mut has_capitals = false;
        let rest = &text.as_bytes()[at..];
        let is_letter = |byte: &&u8| {
            let class = self.bytes[usize::from(**byte)];
            has_capitals |= class == Class::Capital;
            matches!(class, Class::Same | Class::Capital)
        };
        (at + rest.iter().take_while(is_letter).count(), has_capitals)
    }

    fn step(&self, text: &str, at: usize) -> Step<'_> {
        let Some(&byte) = text.as_bytes().get(at) else { return Step::End };
        let (entry, bytes) = if byte.is_ascii() {
            (&self.entries[usize::from(byte)], 1)
        } else {
            let c = text[at..].chars().next().expect("there is a byte");
            (&self.entries[c as usize], c.len_utf8())
        };
        let mut class = entry.class;
        if class == Class::Starter {
            let starter = self.starters.iter().find(|starter| starter.first == byte).expect("it made the class");
            if text.as_bytes().get(at + 1) == Some(&starter.second) {
                return Step::Separator { bytes: 2, hard: starter.class == Class::Hard };
            }
            class = starter.alone;
        }
        match class {
            Class::Soft => Step::Separator { bytes, hard: false },
            Class::Hard => Step::Separator { bytes, hard: true },
            Class::Same | Class::Capital | Class::Fold => Step::Part { bytes, entry },
            Class::Starter | Class::Wide | Class::Foreign => unreachable!("covers() refuses such a text"),
        }
    }
}
