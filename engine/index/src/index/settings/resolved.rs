//! What searches need that follows from the settings alone: the tokenizer, normalised synonyms and stop words.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use lamina_text::text::{TokenKind, Tokenizer, normalize_word};

use super::{Settings, WordForms};

/// Alternatives of one word or phrase that a query looks for. The settings let one key have as many; only where several keys
/// come down to the same words may there be more, and the rest is left out.
pub const ALTERNATIVES_MAX: usize = 1000;
/// Longest synonym key, in words: what concatenations can look up.
const SYNONYM_KEY_WORDS_MAX: usize = 3;

/// Data derived from the settings alone. It is computed once for each version of the settings, so a change applies to
/// the next search.
#[derive(Debug)]
pub struct ResolvedSettings {
    pub tokenizer: Tokenizer,
    pub stop_words: Arc<HashSet<String>>,
    pub synonyms: Arc<HashMap<Vec<String>, Vec<Vec<String>>>>,
    pub exact_words: Arc<HashSet<String>>,
    pub known_forms: Arc<KnownForms>,
}

/// Forms of words that the settings define, normalised.
#[derive(Debug, Default)]
pub struct KnownForms {
    /// By word, its other forms, ascending.
    pub of_words: HashMap<String, Vec<String>>,
    /// Words that have no other form, and are none.
    pub exceptions: HashSet<String>,
}

impl KnownForms {
    fn new(settings: &WordForms) -> KnownForms {
        let mut of_words: HashMap<String, Vec<String>> = HashMap::new();
        for (word, forms) in &settings.dictionary {
            let group: BTreeSet<String> = forms.iter().chain([word]).map(|word| normalize_word(word)).collect();
            for word in &group {
                of_words.entry(word.clone()).or_default().extend(group.iter().filter(|form| *form != word).cloned());
            }
        }
        for forms in of_words.values_mut() {
            forms.sort_unstable();
            forms.dedup();
        }
        let exceptions = settings.exceptions.iter().map(|word| normalize_word(word)).collect();
        KnownForms { of_words, exceptions }
    }
}

/// A normalised sequence of words.
type Words = Vec<String>;

impl ResolvedSettings {
    /// Cost: tokenising all synonyms.
    pub(in crate::index) fn new(settings: &Settings) -> ResolvedSettings {
        let tokenizer = settings.tokenizer();
        let stop_words: HashSet<String> = settings.stop_words.iter().map(|word| normalize_word(word)).collect();
        let words = |text: &str| -> Vec<String> {
            let words = tokenizer.tokens(text, &[]).into_iter().filter(|t| t.kind == TokenKind::Word);
            words.map(|t| t.text.into_owned()).collect()
        };
        let mut synonyms: HashMap<Vec<String>, (Vec<Words>, HashSet<Words>)> = HashMap::new();
        for (key, values) in &settings.synonyms {
            // As in queries, where the last word counts even if it is a stop word; what a key stands for is looked for as it is.
            let mut key = words(key);
            let last = key.pop();
            key.retain(|word| !stop_words.contains(word));
            key.extend(last.filter(|word| key.is_empty() || !stop_words.contains(word)));
            if key.is_empty() || key.len() > SYNONYM_KEY_WORDS_MAX {
                continue;
            }
            let (list, known) = synonyms.entry(key).or_default();
            for value in values.iter().map(|v| words(v)).filter(|v| !v.is_empty()) {
                if list.len() < ALTERNATIVES_MAX && known.insert(value.clone()) {
                    list.push(value);
                }
            }
        }
        let synonyms = synonyms.into_iter().map(|(key, (list, _))| (key, list)).collect();
        // Stored in the normal form of the version that wrote them.
        let exact_words = settings.typo_tolerance.disable_on_words.iter().map(|word| normalize_word(word)).collect();
        ResolvedSettings {
            tokenizer,
            stop_words: Arc::new(stop_words),
            synonyms: Arc::new(synonyms),
            exact_words: Arc::new(exact_words),
            known_forms: Arc::new(KnownForms::new(&settings.word_forms)),
        }
    }
}
