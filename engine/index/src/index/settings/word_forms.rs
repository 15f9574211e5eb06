//! `wordForms`: whether and where other forms of a word count, such as plurals.

use std::collections::{BTreeMap, BTreeSet};

use super::value::object;

object! {
    /// Use of other forms of a word, and the attributes in which they do not count.
    #[derive(Eq)]
    WordForms changed by WordFormsPatch {
        /// `None`: of questions only.
        enabled: Option<bool> = None,
        /// Three-letter codes of languages whose forms count; empty: those that queries are in.
        languages: Vec<String> = Vec::new(),
        /// Each covers its nested children.
        disable_on_attributes: BTreeSet<String> = BTreeSet::new(),
        /// Words that have no other form, and are none.
        exceptions: BTreeSet<String> = BTreeSet::new(),
        /// By word, its other forms: all of them are forms of each other.
        dictionary: BTreeMap<String, Vec<String>> = BTreeMap::new(),
        /// Forms count inside quotes, too.
        in_phrases: bool = false,
    }
}
