//! Tokens of words that were seen before.
//!
//! To normalise a text and look up its pieces takes ten times as long as to add their vectors, and texts are made of few
//! words. Where a tokenizer looks at each word by itself, as those of BERT do and those that mark where a word begins, the
//! tokens of a text are those of its words. Other tokenizers get the text as a whole.

use std::collections::HashMap;

use parking_lot::RwLock;
use tokenizers::pre_tokenizers::metaspace::PrependScheme;
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

/// Words that are remembered, at most: the first ones, which are the most frequent.
const WORDS_MAX: usize = 1 << 16;
/// Longest word that is remembered, in bytes.
const WORD_BYTES_MAX: usize = 32;
/// Spaces for every tokenizer that cuts texts at spaces. A word may hold others, which are left to it.
const SPACES: &[char] = &[' ', '\n', '\t', '\r'];
/// The space that becomes the mark of a word.
const MARKED: &[char] = &[' '];

/// Tokens by word.
type Known = HashMap<Box<str>, Box<[u32]>>;

/// Tokenizes texts, word by word where it may.
pub(super) struct Words {
    tokenizer: Tokenizer,
    /// `None` if the tokenizer takes texts as a whole.
    known: Option<RwLock<Known>>,
    /// Characters between words.
    spaces: &'static [char],
}

impl Words {
    pub(super) fn new(tokenizer: Tokenizer) -> Words {
        let added = tokenizer.get_added_tokens_decoder();
        let is_word = |content: &str| !content.contains(char::is_whitespace);
        let takes_words = tokenizer.get_normalizer().is_none_or(looks_at_words)
            && added.values().all(|token| is_word(&token.content));
        let spaces = tokenizer.get_pre_tokenizer().and_then(spaces_of).filter(|_| takes_words);
        Words { tokenizer, known: spaces.map(|_| RwLock::default()), spaces: spaces.unwrap_or_default() }
    }

    /// Calls `each` with the tokens of a text, in their order.
    pub(super) fn each_token(&self, text: &str, mut each: impl FnMut(u32)) {
        let Some(known) = &self.known else { return self.each_of_whole(text, &mut each) };
        let mut new: Vec<(Box<str>, Box<[u32]>)> = Vec::new();
        let has_room = {
            let known = known.read();
            for word in text.split(self.spaces).filter(|word| !word.is_empty()) {
                if let Some(tokens) = known.get(word) {
                    tokens.iter().copied().for_each(&mut each);
                    continue;
                }
                let mut tokens = Vec::new();
                self.each_of_whole(word, &mut |token| tokens.push(token));
                tokens.iter().copied().for_each(&mut each);
                if word.len() <= WORD_BYTES_MAX {
                    new.push((word.into(), tokens.into()));
                }
            }
            known.len() < WORDS_MAX
        };
        if has_room && !new.is_empty() {
            let mut known = known.write();
            let room = WORDS_MAX.saturating_sub(known.len());
            known.extend(new.into_iter().take(room));
        }
    }

    /// Tokens of a text that is given to the tokenizer as it is. What it refuses as a whole is taken word by word.
    fn each_of_whole(&self, text: &str, each: &mut dyn FnMut(u32)) {
        if let Ok(encoding) = self.tokenizer.encode_fast(text, false) {
            encoding.get_ids().iter().copied().for_each(each);
            return;
        }
        for word in text.split_whitespace() {
            if let Ok(encoding) = self.tokenizer.encode_fast(word, false) {
                encoding.get_ids().iter().copied().for_each(&mut *each);
            }
        }
    }
}

/// Reports whether a normalizer makes of each word of a text what it makes of the word alone.
fn looks_at_words(normalizer: &NormalizerWrapper) -> bool {
    use NormalizerWrapper::{
        BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Sequence, StripAccents,
    };
    match normalizer {
        Sequence(steps) => steps.as_ref().iter().all(looks_at_words),
        BertNormalizer(_) | Lowercase(_) | NFC(_) | NFD(_) | NFKC(_) | NFKD(_) | Nmt(_) | Precompiled(_)
        | StripAccents(_) => true,
        _ => false,
    }
}

/// Returns where a pre-tokenizer cuts texts first, if it does so at spaces and drops them or marks the word behind one.
fn spaces_of(pre_tokenizer: &PreTokenizerWrapper) -> Option<&'static [char]> {
    use PreTokenizerWrapper::{BertPreTokenizer, Metaspace, Sequence, Whitespace, WhitespaceSplit};
    match pre_tokenizer {
        Sequence(steps) => steps.as_ref().first().and_then(spaces_of).filter(|spaces| *spaces == SPACES),
        BertPreTokenizer(_) | Whitespace(_) | WhitespaceSplit(_) => Some(SPACES),
        Metaspace(marks) if marks.split && marks.prepend_scheme == PrependScheme::Always => Some(MARKED),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tokenizer;
    use super::*;

    #[test]
    fn tokens_of_words_are_those_of_the_text() {
        let open = || {
            let mut uncut = tokenizer();
            (uncut["padding"], uncut["truncation"]) = (serde_json::Value::Null, serde_json::Value::Null);
            Tokenizer::from_bytes(uncut.to_string()).unwrap()
        };
        let (words, whole) = (Words::new(open()), Words { tokenizer: open(), known: None, spaces: SPACES });
        assert!(words.known.is_some());
        let tokens = |words: &Words, text: &str| {
            let mut tokens = Vec::new();
            words.each_token(text, |token| tokens.push(token));
            tokens
        };
        for text in [
            "",
            "Cats, kittens and DOGS!",
            " cat\tdog\r\n\nkitten ",
            "cat\u{a0}dog\u{85}cat\u{2028}dog\u{b}dog\u{c}cat",
            "cát do\u{301}g \u{301}cat",
            "cat猫dog 犬 kitten",
            "[UNK] cat [PAD]dog",
            "c\u{0}at \u{fffd}dog do\u{ad}g",
        ] {
            // Unknown at first, then known.
            for _ in 0..2 {
                assert_eq!(tokens(&words, text), tokens(&whole, text), "{text:?}");
            }
        }
        let known = words.known.as_ref().unwrap();
        assert!(known.read().contains_key("kitten"));
        tokens(&words, &"x".repeat(WORD_BYTES_MAX + 1));
        let many: Vec<String> = (0..WORDS_MAX + 10).map(|number| format!("w{number}")).collect();
        tokens(&words, &many.join(" "));
        assert_eq!(known.read().len(), WORDS_MAX);
        assert!(known.read().keys().all(|word| word.len() <= WORD_BYTES_MAX));
    }

    #[test]
    fn words_that_are_marked() {
        let mut marking = tokenizer();
        (marking["padding"], marking["truncation"]) = (serde_json::Value::Null, serde_json::Value::Null);
        let pieces = ["<unk>", "▁cat", "▁kitten", "▁dog", "s", "\n", "cat", "▁"];
        let pieces: Vec<_> = pieces.iter().map(|piece| serde_json::json!([piece, -1.0])).collect();
        marking["normalizer"] =
            serde_json::json!({"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]});
        marking["model"] = serde_json::json!({"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": false});
        let metaspace =
            serde_json::json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
        let steps = serde_json::json!([{"type": "WhitespaceSplit"}, metaspace]);
        let split = serde_json::json!({"type": "Sequence", "pretokenizers": steps});
        for pre_tokenizer in [metaspace, split] {
            marking["pre_tokenizer"] = pre_tokenizer;
            let open = || Tokenizer::from_bytes(marking.to_string()).unwrap();
            let (words, whole) = (Words::new(open()), Words { tokenizer: open(), known: None, spaces: SPACES });
            assert!(words.known.is_some());
            for text in ["", "Cats dog", "cat kitten\ncat", "dog ??? ｃａｔ", "kitten\u{a0}dog cat"] {
                let [mut of_words, mut of_whole] = [const { Vec::new() }; 2];
                words.each_token(text, |token| of_words.push(token));
                whole.each_token(text, |token| of_whole.push(token));
                assert_eq!(of_words, of_whole, "{text:?}");
            }
        }
    }

    #[test]
    fn other_pipelines_get_whole_texts() {
        for change in [
            ("normalizer", serde_json::json!({"type": "Prepend", "prepend": "_"})),
            ("pre_tokenizer", serde_json::Value::Null),
            (
                "added_tokens",
                serde_json::json!([{"id": 9, "content": "a cat", "single_word": false, "lstrip": false,
                                                 "rstrip": false, "normalized": false, "special": true}]),
            ),
        ] {
            let mut other = tokenizer();
            other[change.0] = change.1;
            assert!(Words::new(Tokenizer::from_bytes(other.to_string()).unwrap()).known.is_none(), "{}", change.0);
        }
    }
}
