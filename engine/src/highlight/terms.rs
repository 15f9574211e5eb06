//! The words and word sequences that count as matches of a query.

use std::ops::RangeInclusive;

use hashbrown::HashMap;

/// The words of the query that a form stands for, by their position in the query, both ends included.
pub type Covers = RangeInclusive<u16>;

/// Every form in which the words of a query may occur in a text. All words are normalised as the tokenizer does.
///
/// Sequences win over single words, single words over prefixes; among equals the form that covers more words of the
/// query wins, then, of prefixes, the query word itself, then the shortest.
#[derive(Clone, Debug, Default)]
pub struct MatchingTerms {
    sequences: Vec<Sequence>,
    /// First word of a sequence to places in `sequences`.
    by_first_word: HashMap<String, Vec<usize>>,
    /// Places of the sequences that start with any word.
    starting_anywhere: Vec<usize>,
    words: HashMap<String, Word>,
    prefixes: HashMap<String, Prefix>,
}

#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// At least two; `None` stands for any one word.
    pub(super) words: Vec<Option<String>>,
    pub(super) covers: Covers,
}

#[derive(Clone, Debug)]
struct Word {
    covers: Covers,
    /// The query has it as it is.
    is_own: bool,
}

#[derive(Clone, Debug)]
struct Prefix {
    is_misspelt: bool,
    /// Characters of the form that are shown as matched.
    head_chars: usize,
    covers: Covers,
}

impl Prefix {
    /// Returns the precedence of the form. If a word begins with several forms, the one with the highest precedence is
    /// used.
    fn precedence(&self) -> (usize, bool) {
        (self.covers.len(), !self.is_misspelt)
    }
}

impl MatchingTerms {
    /// A whole word as the query has it, or several query words written as one.
    pub fn add_word(&mut self, word: &str, covers: Covers) {
        self.insert_word(word, Word { covers, is_own: true });
    }

    /// A whole word that stands for one of the query: a typo or another form of it.
    pub fn add_other_word(&mut self, word: &str, covers: Covers) {
        self.insert_word(word, Word { covers, is_own: false });
    }

    fn insert_word(&mut self, word: &str, new: Word) {
        let known = self.words.entry_ref(word).or_insert_with(|| new.clone());
        known.is_own |= new.is_own;
        if new.covers.len() > known.covers.len() {
            known.covers = new.covers;
        }
    }

    /// A query word that words may start with. Of the matching word only its head is shown as matched: as many
    /// characters as the query word has.
    pub fn add_prefix(&mut self, word: &str, covers: Covers) {
        let head_chars = word.chars().count();
        self.insert_prefix(word, Prefix { is_misspelt: false, head_chars, covers });
    }

    /// A misspelt form of a query word of `query_chars` characters that words may start with. As many characters are
    /// shown as matched, or the whole form if it is shorter.
    pub(crate) fn add_misspelt_prefix(&mut self, form: &str, query_chars: usize, covers: Covers) {
        let head_chars = form.chars().count().min(query_chars);
        self.insert_prefix(form, Prefix { is_misspelt: true, head_chars, covers });
    }

    fn insert_prefix(&mut self, form: &str, prefix: Prefix) {
        if form.is_empty() {
            return;
        }
        let known = self.prefixes.entry_ref(form).or_insert_with(|| prefix.clone());
        if prefix.precedence() > known.precedence() {
            *known = prefix;
        }
    }

    /// Words that must follow each other: a phrase, a split word, a synonym of several words. `None` is any one word.
    pub(crate) fn add_sequence(&mut self, words: Vec<Option<String>>, covers: Covers) {
        match &words[..] {
            [] | [None] => {}
            [Some(word)] => self.add_word(word, covers),
            [first, ..] => {
                let starting = match first {
                    Some(word) => self.by_first_word.entry_ref(word.as_str()).or_default(),
                    None => &mut self.starting_anywhere,
                };
                starting.push(self.sequences.len());
                self.sequences.push(Sequence { words, covers });
            }
        }
    }

    /// Reports whether no text can match.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty() && self.words.is_empty() && self.prefixes.is_empty()
    }

    /// Sequences that start with `word`, in the order they were added.
    pub(super) fn sequences_at(&self, word: &str) -> impl Iterator<Item = &Sequence> {
        let starting = self.by_first_word.get(word).map_or(&[][..], Vec::as_slice);
        starting.iter().chain(&self.starting_anywhere).map(|&place| &self.sequences[place])
    }

    /// Returns what a whole word covers, and whether the query has it as it is.
    pub(super) fn word(&self, word: &str) -> Option<(&Covers, bool)> {
        self.words.get(word).map(|word| (&word.covers, word.is_own))
    }

    /// Returns whether `word` is a whole word of the query that others may start with.
    pub(super) fn is_own_prefix(&self, word: &str) -> bool {
        self.prefixes.get(word).is_some_and(|prefix| !prefix.is_misspelt)
    }

    /// The best prefix form of `word` and how many characters of `word` it marks.
    pub(super) fn prefix(&self, word: &str) -> Option<(usize, &Covers)> {
        if self.prefixes.is_empty() {
            return None;
        }
        let ends = word.char_indices().map(|(index, c)| index + c.len_utf8());
        let found = ends.filter_map(|end| self.prefixes.get(&word[..end]));
        // Shorter forms come first and win over equals.
        found
            .reduce(|best, next| if next.precedence() > best.precedence() { next } else { best })
            .map(|prefix| (prefix.head_chars, &prefix.covers))
    }
}
