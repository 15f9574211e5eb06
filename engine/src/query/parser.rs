//! Cuts the text of a query into terms: words, phrases, and what must not be there.

use hashbrown::HashSet;
use lamina_index::index::embedding::cut;
use lamina_text::text::{Language, Token, TokenKind, Tokenizer};

/// Terms beyond this count are ignored: a bound on the work of one query, far above what people type.
pub const TERMS_MAX: usize = 100;
/// Terms of a question that are read; of the different ones among these, the [`TERMS_MAX`] with the highest weight count.
pub(crate) const QUESTION_TERMS_MAX: usize = 1000;
/// Excluded words and phrases beyond this count are ignored.
pub(crate) const EXCLUDED_MAX: usize = 500;
/// Maximum length of a query in bytes. A longer query is cut off; the terms that count take far less.
pub const QUERY_BYTES_MAX: usize = 32 << 10;
/// A hard separator (end of a sentence, comma) moves the next word this much further.
const HARD_SEPARATOR_STEP: u16 = 7;

/// One thing that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A normalised word; `prefix`: words that start with it match too.
    Word { text: String, prefix: bool },
    /// Words that must follow each other, stop words among them.
    Phrase(Vec<String>),
}

/// A term and the positions of the query it covers, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTerm {
    pub kind: TermKind,
    pub first_position: u16,
    pub last_position: u16,
    /// A phrase that a document must hold, whatever the strategy: `+"…"`.
    pub is_required: bool,
    /// Stop words of the phrase that it is.
    pub stop_words: u16,
    /// Stop words that were dropped right before it.
    pub dropped_before: u16,
    /// Number of times that the term counts, at least one. The parser keeps repetitions separate; a long question joins
    /// them.
    pub times: u16,
}

impl QueryTerm {
    /// The only one of a query.
    pub(super) fn alone(kind: TermKind) -> QueryTerm {
        QueryTerm {
            kind,
            first_position: 0,
            last_position: 0,
            is_required: false,
            stop_words: 0,
            dropped_before: 0,
            times: 1,
        }
    }

    /// Words of the query that this term stands for.
    pub(crate) fn word_count(&self) -> u32 {
        match &self.kind {
            TermKind::Word { .. } => 1,
            TermKind::Phrase(words) => words.len() as u32,
        }
    }

    pub(crate) fn is_phrase(&self) -> bool {
        matches!(self.kind, TermKind::Phrase(_))
    }
}

/// Word or phrase that excludes the documents that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excluded {
    Word(String),
    Phrase(Vec<String>),
}

/// The terms of a query in reading order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    pub terms: Vec<QueryTerm>,
    pub excluded: Vec<Excluded>,
    /// There were more terms than asked for, [`EXCLUDED_MAX`] excluded ones or [`QUERY_BYTES_MAX`] bytes; the rest is left
    /// out.
    pub is_cut: bool,
}

#[derive(Default)]
struct PhraseBuilder {
    words: Vec<String>,
    first_position: u16,
    last_position: u16,
    stop_words: u16,
    negative: bool,
    is_required: bool,
}

impl PhraseBuilder {
    fn push(&mut self, word: String, position: u16, is_stop_word: bool) {
        if self.words.is_empty() {
            self.first_position = position;
        }
        self.stop_words += u16::from(is_stop_word);
        self.last_position = position;
        self.words.push(word);
    }

    fn finish(self, out: &mut ParsedQuery) {
        if self.words.is_empty() {
            return;
        }
        if self.negative && usize::from(self.stop_words) == self.words.len() {
            // As an excluded stop word, it excludes nothing: nearly all documents would go.
        } else if self.negative {
            out.excluded.push(Excluded::Phrase(self.words));
        } else {
            out.terms.push(QueryTerm {
                kind: TermKind::Phrase(self.words),
                first_position: self.first_position,
                last_position: self.last_position,
                is_required: self.is_required,
                stop_words: self.stop_words,
                dropped_before: 0,
                times: 1,
            });
        }
    }
}

/// Options for cutting the text of a query into terms.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions<'a> {
    pub languages: &'a [Language],
    /// In normal form.
    pub stop_words: &'a HashSet<String>,
    pub prefix_search: bool,
    /// The `s` of `people's` is no word.
    pub possessives: bool,
    /// Further terms are left out.
    pub terms_max: usize,
}

/// Reports whether a token is the `s` of a possessive.
fn is_possessive(text: &str, tokens: &[Token<'_>], index: usize) -> bool {
    let Some([owner, apostrophe, s]) = index.checked_sub(2).and_then(|first| tokens.get(first..=index)) else {
        return false;
    };
    owner.kind == TokenKind::Word && s.text == "s" && ["'", "\u{2019}"].contains(&&text[apostrophe.range.clone()])
}

/// Parses `text`, or as much of it as counts. Cost: linear in its length.
///
/// * `"…"` is a phrase, to the end when unclosed; a hard separator inside starts another phrase.
/// * `+"…"` is a phrase that is required where others are not.
/// * `-word`, `-"…"` exclude, at the start of the text or after white space.
/// * The last word is a prefix when `prefix_search` is set and nothing follows it.
/// * Stop words (in normal form) are dropped, but for the last word and inside phrases.
/// * The `s` of a possessive is dropped when `possessives` is set.
pub fn parse_query(text: &str, tokenizer: &Tokenizer, options: &ParseOptions<'_>) -> ParsedQuery {
    let ParseOptions { languages, stop_words, prefix_search, possessives, terms_max } = *options;
    let (text, rest) = text.split_at(cut(text, QUERY_BYTES_MAX).len());
    let tokens = tokenizer.tokens(text, languages);
    let mut parser = Parser::new();
    parser.out.is_cut = rest.contains(|c: char| !c.is_whitespace());
    for (index, token) in tokens.iter().enumerate() {
        if parser.out.terms.len() >= terms_max {
            parser.out.is_cut |=
                tokens[index..].iter().any(|rest| rest.kind == TokenKind::Word && !rest.text.is_empty());
            break;
        }
        match token.kind {
            TokenKind::Word if token.text.is_empty() => {}
            TokenKind::Word => {
                let is_stop_word = !stop_words.is_empty() && stop_words.contains(token.text.as_ref());
                let is_last = index + 1 == tokens.len() && rest.is_empty();
                let prefix = is_last && prefix_search;
                let is_s = possessives && is_possessive(text, &tokens, index);
                parser.word(&token.text, [is_stop_word, is_s], is_last, prefix);
            }
            TokenKind::HardSeparator | TokenKind::SoftSeparator => {
                let is_hard = token.kind == TokenKind::HardSeparator;
                parser.separator(&text[token.range.clone()], is_hard);
            }
        }
    }
    parser.finish()
}

/// Parser state: the effect of the text read so far on the rest.
struct Parser {
    out: ParsedQuery,
    /// Phrase that is open.
    phrase: Option<PhraseBuilder>,
    after_space: bool,
    /// True if `-` stands before the next term; for `is_required`, if `+` does.
    negative: bool,
    is_required: bool,
    /// Stop words since the last term.
    dropped: u16,
    /// Position of the last word.
    position: u16,
}

impl Parser {
    fn new() -> Parser {
        Parser {
            out: ParsedQuery::default(),
            phrase: None,
            after_space: true,
            negative: false,
            is_required: false,
            dropped: 0,
            // The first word lands on position 0 through wrapping.
            position: u16::MAX,
        }
    }

    /// `is_s`: of a possessive, so no word outside of a phrase.
    fn word(&mut self, text: &str, [is_stop_word, is_s]: [bool; 2], is_last: bool, prefix: bool) {
        self.position = self.position.wrapping_add(1);
        if let Some(phrase) = &mut self.phrase {
            phrase.push(text.to_owned(), self.position, is_stop_word);
            self.dropped = 0;
        } else if self.negative {
            self.out.excluded.push(Excluded::Word(text.to_owned()));
            self.negative = false;
        } else if !is_s && (is_last || !is_stop_word) {
            self.out.terms.push(QueryTerm {
                kind: TermKind::Word { text: text.to_owned(), prefix },
                first_position: self.position,
                last_position: self.position,
                is_required: false,
                stop_words: 0,
                dropped_before: std::mem::take(&mut self.dropped),
                times: 1,
            });
        } else {
            self.dropped += 1;
        }
        (self.after_space, self.is_required) = (false, false);
    }

    fn separator(&mut self, separator: &str, is_hard: bool) {
        if is_hard {
            self.position = self.position.wrapping_add(HARD_SEPARATOR_STEP);
            if let Some(open) = self.phrase.take() {
                let (negative, is_required) = (open.negative, open.is_required);
                open.finish(&mut self.out);
                self.phrase = Some(PhraseBuilder { negative, is_required, ..PhraseBuilder::default() });
            }
        }
        for c in separator.chars() {
            if c == '"' {
                self.quote();
            } else {
                self.negative = self.phrase.is_none() && c == '-' && self.after_space;
                self.is_required = self.phrase.is_none() && c == '+' && self.after_space;
            }
            self.after_space = c.is_whitespace();
        }
    }

    /// Ends a phrase, or begins one.
    fn quote(&mut self) {
        let (negative, is_required) = (self.negative, self.is_required);
        match self.phrase.take() {
            Some(open) => open.finish(&mut self.out),
            None => self.phrase = Some(PhraseBuilder { negative, is_required, ..PhraseBuilder::default() }),
        }
        (self.negative, self.is_required) = (false, false);
    }

    fn finish(mut self) -> ParsedQuery {
        if let Some(open) = self.phrase {
            open.finish(&mut self.out);
        }
        self.out.is_cut |= self.out.excluded.len() > EXCLUDED_MAX;
        self.out.excluded.truncate(EXCLUDED_MAX);
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_with(text: &str, stop_words: &HashSet<String>) -> ParsedQuery {
        let options =
            ParseOptions { languages: &[], stop_words, prefix_search: true, possessives: true, terms_max: TERMS_MAX };
        parse_query(text, &Tokenizer::default(), &options)
    }

    #[test]
    fn possessives_are_the_word_before_them() {
        let words = |text: &str| -> Vec<(String, u16)> {
            let word = |term: QueryTerm| match term.kind {
                TermKind::Word { text, .. } => (text, term.first_position),
                TermKind::Phrase(words) => (words.join("-"), term.first_position),
            };
            parse(text).terms.into_iter().map(word).collect()
        };
        assert_eq!(words("people's choice"), [("people".to_owned(), 0), ("choice".to_owned(), 2)]);
        assert_eq!(words("the dog\u{2019}s"), [("the".to_owned(), 0), ("dog".to_owned(), 1)]);
        assert_eq!(
            words("s dogs ' s it's"),
            [("s", 0), ("dogs", 1), ("s", 2), ("it", 3)].map(|(w, p)| (w.to_owned(), p))
        );
        assert_eq!(words("\"dog's bed\""), [("dog-s-bed".to_owned(), 0)], "phrases are what is written");
        assert_eq!(parse("cat -dog's").excluded, [Excluded::Word("dog".to_owned())]);
        assert_eq!(parse("cat -dog's").terms.len(), 1);
    }

    fn parse(text: &str) -> ParsedQuery {
        parse_with(text, &HashSet::new())
    }

    #[test]
    fn stop_words_stand_for_themselves_in_phrases_only() {
        let stop_words: HashSet<String> = ["the", "of"].map(str::to_owned).into();
        let parse = |text: &str| parse_with(text, &stop_words);
        let found = parse("The soup \"OF the day\" now");
        let shown: Vec<_> =
            found.terms.iter().map(|term| (term.first_position, term.stop_words, term.word_count())).collect();
        assert_eq!(shown, [(1, 0, 1), (2, 2, 3), (5, 0, 1)]);
        let TermKind::Phrase(words) = &found.terms[1].kind else { panic!("a phrase") };
        assert_eq!(words, &["of", "the", "day"]);
        assert_eq!(parse("\"of the\"").terms.len(), 1, "they are a phrase like any other");
        assert!(parse("bird -\"of the\"").excluded.is_empty(), "but exclude nothing");
        assert_eq!(parse("bird -\"of the day\"").excluded.len(), 1);
        assert_eq!(parse("bird the").terms.len(), 2, "the last word may be half typed");
    }

    #[test]
    fn a_plus_before_a_phrase_insists_on_it() {
        let required = |text: &str| parse(text).terms.iter().map(|term| term.is_required).collect::<Vec<_>>();
        assert_eq!(required("red +\"river stone\" \"sea fox\""), [false, true, false]);
        assert_eq!(required("c+\"river stone\" + \"sea fox\" +red"), [false, false, false, false]);
        assert_eq!(required("+\"river stone. Sea fox\""), [true, true], "each of its sentences");
    }

    #[test]
    fn megabytes_of_text_are_cut_and_that_is_said() {
        // One phrase, and so one term: its words count by no other bound.
        let long = parse(&format!("\"{}", "word ".repeat(1_000_000)));
        let TermKind::Phrase(words) = &long.terms[0].kind else { panic!("a phrase") };
        assert!(long.is_cut, "{}", words.len());
        assert_eq!(long.terms.len(), 1, "{}", words.len());
        assert!(words.len() <= QUERY_BYTES_MAX / 5 + 1, "{}", words.len());
        let excluding = parse(&"-word ".repeat(1_000_000));
        assert!(excluding.is_cut);
        assert_eq!(excluding.excluded.len(), EXCLUDED_MAX);
        let one = parse(&"é".repeat(1_000_000));
        assert!(one.is_cut, "within a character");
        assert!(!one.terms.iter().any(|term| matches!(term.kind, TermKind::Word { prefix: true, .. })), "not the end");
        let spaces = parse(&format!("word{}", " ".repeat(1_000_000)));
        assert!(!spaces.is_cut, "nothing was left out");
    }
}
