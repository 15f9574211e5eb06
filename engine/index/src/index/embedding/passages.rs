//! The passages of a document: its text cut into pieces, of which each gets a vector.

use std::cell::OnceCell;
use std::hash::{BuildHasher, RandomState};
use std::iter::Peekable;
use std::ops::Range;
use std::sync::LazyLock;

use lamina_segment::document::VECTORS_MAX;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::super::settings::{DEFAULT_TEMPLATE_BYTES_MAX, EmbedderSettings};
use super::cut;
use super::error::TemplateError;
use super::template::{RenderFailure, TextTemplate};

/// Passages of a document, at most: what lies behind them has no vector.
pub const PASSAGES_MAX: usize = VECTORS_MAX;
/// Longest passage, in tokens.
pub const PASSAGE_TOKENS_MAX: u64 = 8192;
/// Length of a passage when the settings name none, in tokens.
pub const PASSAGE_TOKENS: u64 = 200;
/// A passage ends with a paragraph if it has more than one in so many of the most tokens.
const PARAGRAPH_DIVISOR: usize = 8;
/// Tokens on each side of the end of a sentence that are compared to see whether the subject changes.
const COMPARED_TOKENS: usize = 50;
/// Words that say something of the subject, on each side at least.
const COMPARED_MIN: usize = 5;
/// The subject changes where the words on both sides have at most this cosine.
const CHANGE_COSINE_MAX: f64 = 0.1;
/// Number of kinds of words that are distinguished.
const STEMS: usize = 4096;
/// Characters by which words are compared: their ends are mostly endings.
const STEM_CHARS: usize = 6;
/// Shorter words say little of the subject.
const STEM_CHARS_MIN: usize = 4;
/// A longer word counts as several tokens.
const TOKEN_BYTES: usize = 16;
/// Text of `{{ passages }}`: the head of each passage ends before it. No document knows it.
static MARK: LazyLock<String> = LazyLock::new(|| format!("\0{:020}\0", RandomState::new().hash_one(())));

/// `chunks` of an embedder: how texts are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Tokens of a passage, at most: words, or characters of scripts without spaces.
    pub tokens_max: usize,
    /// Tokens at the end of a passage that the next one may begin with.
    pub overlap: usize,
    /// True if passages end where paragraphs and sentences end, as far as these are short enough.
    pub by_sentence: bool,
}

/// Makes the passages of documents.
#[derive(Debug)]
pub struct PassageTemplate {
    template: TextTemplate,
    /// Longest text, in bytes, without the mark.
    bytes_max: usize,
    chunks: Option<Chunks>,
}

impl PassageTemplate {
    /// The template of an embedder without fragments.
    ///
    /// # Errors
    /// The errors of [`TextTemplate::new`].
    pub fn new(settings: &EmbedderSettings) -> Result<PassageTemplate, TemplateError> {
        let (bytes_max, chunks) = (settings.template_bytes_max, settings.chunks);
        let template = match chunks {
            Some(_) => TextTemplate::new(&settings.template, bytes_max.saturating_add(MARK.len()))?.marked(&MARK),
            None => TextTemplate::new(&settings.template, bytes_max)?,
        };
        Ok(PassageTemplate { template, bytes_max, chunks })
    }

    /// The passages of a document; without `chunks`, its text is one.
    ///
    /// # Errors
    /// The errors of [`TextTemplate::render`].
    pub fn render(&self, document: &[u8], is_searchable: &dyn Fn(&str) -> bool) -> Result<Passages, RenderFailure> {
        Ok(Passages::new(self.template.render(document, is_searchable)?, self.bytes_max, self.chunks))
    }
}

/// A text of a document, and where its passages are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passages {
    /// Text that each passage is embedded with.
    head: String,
    /// Text that was cut.
    pub text: String,
    /// Passages, in bytes of the text.
    pub ranges: Vec<Range<usize>>,
}

impl Passages {
    /// Divides a rendered text of `bytes_max` bytes and a mark. Without `chunks` it is one passage.
    fn new(mut text: String, bytes_max: usize, chunks: Option<Chunks>) -> Passages {
        let mut head = String::new();
        if let Some(at) = text.find(&*MARK) {
            let mut rest = text[at + MARK.len()..].replace(&*MARK, "");
            // Of a second mark, a part may be left at the end.
            if let Some(end) = rest.rfind('\0').filter(|end| MARK.starts_with(&rest[*end..])) {
                rest.truncate(end);
            }
            text.truncate(cut(&text[..at], DEFAULT_TEMPLATE_BYTES_MAX).len());
            head = std::mem::replace(&mut text, rest);
        } else {
            text.truncate(cut(&text, bytes_max).len());
        }
        let ranges = chunks.map_or_else(|| whole(&text), |chunks| chunks.cut(&text));
        Passages { head, text, ranges }
    }

    /// The text to embed of each passage.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.ranges.iter().map(|range| format!("{}{}", self.head, &self.text[range.clone()]))
    }
}

/// The hash of the texts of a document. That of a text that is one passage does not depend on `chunks`.
pub(in super::super) fn texts_hash(texts: &[String]) -> u64 {
    xxh3_64(texts.join("\0").as_bytes())
}

/// A word, or a part of one.
struct Token {
    bytes: Range<usize>,
    ends: End,
}

/// Unit of text that ends behind a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum End {
    Word,
    Sentence,
    Paragraph,
}

impl Chunks {
    /// Reads the field of a configuration, which was checked.
    pub(in super::super) fn read(field: &Value) -> Option<Chunks> {
        let fields = field.as_object()?;
        let number = |name: &str| fields.get(name).and_then(Value::as_u64).map(|number| number.min(PASSAGE_TOKENS_MAX));
        let tokens_max = number("maxTokens").unwrap_or(PASSAGE_TOKENS).max(1) as usize;
        let overlap = number("overlap").map_or(tokens_max / 10, |overlap| overlap as usize);
        let by_sentence = fields.get("by").and_then(Value::as_str) != Some("word");
        Some(Chunks { tokens_max, overlap: overlap.min(tokens_max - 1), by_sentence })
    }

    /// The passages of `text`, at least one. Costs a look at each character up to the end of the last passage.
    fn cut(self, text: &str) -> Vec<Range<usize>> {
        let tokens: Vec<Token> = tokens(text).take(PASSAGES_MAX * self.tokens_max).collect();
        let stems: OnceCell<Vec<Option<u16>>> = OnceCell::new();
        // Authors know best where a subject ends, if they part their texts at all.
        let paragraphs = tokens.iter().filter(|token| token.ends == End::Paragraph).count();
        let has_paragraphs = paragraphs * self.tokens_max >= tokens.len();
        // Of a long text, passages that end early would leave the end out. Such a text may grow without other passages at its beginning.
        let least = (tokens.len() / PASSAGES_MAX).next_power_of_two().max(self.tokens_max / PARAGRAPH_DIVISOR);
        let (mut passages, mut first, mut done) = (Vec::new(), 0, 0);
        while done < tokens.len() && passages.len() < PASSAGES_MAX {
            let full = (first + self.tokens_max).min(tokens.len());
            let is_end = |last: &usize| tokens[*last].ends >= End::Sentence;
            let late = done.max(first + least)..full;
            let paragraph = || late.clone().find(|last| tokens[*last].ends == End::Paragraph);
            let change = || {
                if has_paragraphs {
                    return None;
                }
                let stems = stems.get_or_init(|| tokens.iter().map(|token| stem(&text[token.bytes.clone()])).collect());
                let ends = late.clone().filter(|last| is_end(last) && last + 1 < tokens.len());
                first_change(ends.map(|last| (last, likeness(stems, last + 1))).peekable())
            };
            let sentence = || (done..full).rev().find(is_end).filter(|_| full < tokens.len());
            // What begins a subject of its own stays as it is when what is before it changes.
            let apart = if self.by_sentence { paragraph().or_else(change) } else { None };
            let last = apart.or_else(|| sentence().filter(|_| self.by_sentence));
            done = last.map_or(full, |last| last + 1);
            passages.push(tokens[first].bytes.start..tokens[done - 1].bytes.end);
            let earliest = done.saturating_sub(self.overlap).max(first + 1);
            first = match self.by_sentence {
                true if apart.is_some() || tokens[done - 1].ends == End::Paragraph => done,
                true => (earliest..done).find(|start| is_end(&(start - 1))).unwrap_or(done),
                false => earliest,
            };
        }
        // With the space around it, it is what it would be without `chunks`.
        if passages.len() > 1 { passages } else { whole(text) }
    }
}

/// Finds the first end of a sentence, with its likeness, at which the subject changes more than at the next one.
fn first_change(mut ends: Peekable<impl Iterator<Item = (usize, f64)>>) -> Option<usize> {
    while let Some((last, likeness)) = ends.next() {
        if likeness <= CHANGE_COSINE_MAX && ends.peek().is_none_or(|(_, next)| likeness <= *next) {
            return Some(last);
        }
    }
    None
}

/// Returns the cosine of the words before a token and of those from it on, 1 where there are few. Topics end where it is
/// low: M. Hearst, TextTiling, 1997.
fn likeness(stems: &[Option<u16>], at: usize) -> f64 {
    let before = &stems[at.saturating_sub(COMPARED_TOKENS)..at];
    let behind = &stems[at..stems.len().min(at + COMPARED_TOKENS)];
    if [before, behind].iter().any(|side| side.iter().flatten().count() < COMPARED_MIN) {
        return 1.0;
    }
    let counts = |side: &[Option<u16>]| {
        let mut counts = [0u8; STEMS];
        side.iter().flatten().for_each(|stem| counts[usize::from(*stem)] += 1);
        counts
    };
    let product = |side: &[Option<u16>], counts: &[u8; STEMS]| -> f64 {
        side.iter().flatten().map(|stem| f64::from(counts[usize::from(*stem)])).sum()
    };
    let (counts_before, counts_behind) = (counts(before), counts(behind));
    product(before, &counts_behind) / (product(before, &counts_before) * product(behind, &counts_behind)).sqrt()
}

/// Returns the kind of a word by its beginning; `None` for one that says little.
fn stem(word: &str) -> Option<u16> {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    let says_little = letters.clone().take(STEM_CHARS_MIN).count() < STEM_CHARS_MIN && !word.starts_with(is_sign);
    let beginning: String = letters.take(STEM_CHARS).flat_map(char::to_lowercase).collect();
    (!says_little).then(|| (xxh3_64(beginning.as_bytes()) % STEMS as u64) as u16)
}

/// The only passage of a text.
fn whole(text: &str) -> Vec<Range<usize>> {
    std::iter::once(0..text.len()).collect()
}

/// The tokens of a text, in order.
fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|c: char| !c.is_whitespace())?;
        let (mut end, mut ends) = (start, false);
        for c in text[start..].chars() {
            // What closes a sentence belongs to it, and to the token before it.
            let is_mark = !c.is_alphanumeric() && !c.is_whitespace();
            if end > start && !is_mark && (c.is_whitespace() || is_sign(c) || end - start >= TOKEN_BYTES) {
                break;
            }
            ends = matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？') || ends && is_mark;
            end += c.len_utf8();
            if is_sign(c) || end - start >= 4 * TOKEN_BYTES {
                break;
            }
        }
        at = end;
        let behind = text[end..].chars().take_while(|c| c.is_whitespace());
        let (mut is_apart, mut lines) = (text[start..end].contains(['。', '！', '？']), 0);
        behind.for_each(|c| (is_apart, lines) = (true, lines + usize::from(c == '\n')));
        let ends = match (ends && is_apart, lines) {
            (true, 1..) | (_, 2..) => End::Paragraph,
            (true, 0) => End::Sentence,
            _ => End::Word,
        };
        Some(Token { bytes: start..end, ends })
    })
}

/// Reports whether a character is a word of its own: scripts without spaces between words.
fn is_sign(c: char) -> bool {
    c.is_alphabetic()
        && matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(tokens_max: usize, overlap: usize, by_sentence: bool) -> Chunks {
        Chunks { tokens_max, overlap, by_sentence }
    }

    fn passages(text: &str, chunks: Chunks) -> Vec<&str> {
        chunks.cut(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn passages_end_where_sentences_do() {
        let text = "One two three. Four \"five.\" Six seven\n\nEight, 9.5 ten eleven? Twelve.";
        let whole = ["One two three. Four \"five.\"", "Six seven", "Eight, 9.5 ten eleven? Twelve."];
        assert_eq!(passages(text, chunks(5, 0, true)), whole);
        let overlapping = [
            "One two three. Four \"five.\"",
            "Four \"five.\" Six seven",
            "Six seven\n\nEight, 9.5",
            "ten eleven? Twelve.",
        ];
        assert_eq!(passages(text, chunks(5, 2, true))[..2], overlapping[..2]);
        assert_eq!(passages(text, chunks(100, 2, true)), [text]);
        // A line that ends with a sentence is a paragraph, unless it is very short.
        assert_eq!(passages("a b.\nc d.\ne\nf.", chunks(5, 2, true)), ["a b.", "c d.", "e\nf."]);
        let lines = "a b.\nc d e.\nf g h i j k l m n o p q r";
        assert_eq!(passages(lines, chunks(16, 2, true)), ["a b.\nc d e.", "f g h i j k l m n o p q r"]);
        assert_eq!(passages("a b.\nc d e f g. h i j k l.", chunks(8, 2, true)), ["a b.", "c d e f g.", "h i j k l."]);
        // A sentence that is too long is cut between words.
        assert_eq!(passages("a b c d e. f", chunks(2, 1, true)), ["a b", "c d", "e. f"]);
        assert_eq!(passages("猫は寝る。犬は走る。", chunks(5, 0, true)), ["猫は寝る。", "犬は走る。"]);
    }

    #[test]
    fn passages_end_where_the_subject_changes() {
        let ships = "A sailing vessel crosses the stormy ocean. The captain of the vessel fears the ocean. ";
        let bread = "Bakers knead flour with water. The flour of bakers becomes bread.";
        let both = format!("{ships}{bread}");
        assert_eq!(passages(&both, chunks(40, 0, true)), [ships.trim_end(), bread], "though all of it would fit");
        assert_eq!(passages(ships, chunks(40, 0, true)), [ships]);
        assert_eq!(passages(&both, chunks(40, 0, false)), [both.as_str()]);
        assert_eq!(likeness(&[None, Some(1)], 1), 1.0, "nothing is known of one side");
        assert_eq!(stem("Sailings,"), stem("\"sailin"));
        assert_eq!((stem("the"), stem("猫").is_some()), (None, true));
    }

    #[test]
    fn words_overlap() {
        assert_eq!(passages("a b  c d e", chunks(3, 1, false)), ["a b  c", "c d e"]);
        assert_eq!(passages("a b c d", chunks(3, 2, false)), ["a b c", "b c d"]);
        assert_eq!(passages(" \n ", chunks(1, 0, false)), [" \n "]);
        assert_eq!(passages("", chunks(1, 0, true)), [""]);
        assert_eq!(passages(&"x".repeat(40), chunks(1, 0, false)).len(), 3);
    }

    #[test]
    fn no_text_has_more_passages_than_a_document_may() {
        for text in ["x".repeat(10 << 20), "a. ".repeat(3 << 20), "-".repeat(1 << 20), "字".repeat(1 << 20)] {
            for chunks in [chunks(1, 0, true), chunks(2, 1, true), chunks(200, 199, false), chunks(8192, 20, true)] {
                let ranges = chunks.cut(&text);
                assert!((1..=PASSAGES_MAX).contains(&ranges.len()), "{}", ranges.len());
                assert!(ranges.iter().is_sorted_by(|one, next| one.start < next.start));
                assert!(ranges.iter().is_sorted_by(|one, next| one.end < next.end));
            }
        }
    }

    #[test]
    fn each_passage_has_what_stands_before_the_mark() {
        let mark = MARK.as_str();
        let text = format!("Title: {mark}One two. Three four.");
        let cut = Passages::new(text, 100, Some(chunks(2, 0, true)));
        assert_eq!(cut.texts().collect::<Vec<_>>(), ["Title: One two.", "Title: Three four."]);
        assert_eq!(cut.ranges, [0..8, 9..20], "in the text behind it");
        let long = Passages::new(format!("{}{mark}a", "x".repeat(1 << 20)), 2 << 20, Some(chunks(2, 0, true)));
        assert_eq!(long.texts().next().map(|text| text.len()), Some(DEFAULT_TEMPLATE_BYTES_MAX + 1));
        for end in 1..mark.len() {
            let twice = Passages::new(format!("Title: {mark}One.{}", &mark[..end]), 11, Some(chunks(2, 0, true)));
            assert_eq!(twice.texts().collect::<Vec<_>>(), ["Title: One."]);
            let before = Passages::new(format!("Title: {}", &mark[..end]), 7, Some(chunks(2, 0, true)));
            assert_eq!(before.texts().collect::<Vec<_>>(), ["Title: "]);
        }
    }
}
