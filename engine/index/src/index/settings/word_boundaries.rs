//! `separatorTokens`, `nonSeparatorTokens` and `dictionary`: where words begin and end, in documents and in queries alike.

use lamina_text::text::{TextOptions, Tokenizer};

use super::Settings;

impl Settings {
    /// Returns the options of the tokenizer. Documents and queries must be tokenized alike, so nothing else creates a
    /// [`TextOptions`] from settings.
    fn text_options(&self) -> TextOptions {
        TextOptions {
            separators: self.separator_tokens.iter().cloned().collect(),
            non_separators: self.non_separator_tokens.iter().cloned().collect(),
            dictionary: self.dictionary.iter().cloned().collect(),
        }
    }

    /// Cuts documents and queries into words. Cost: an automaton over the dictionary and the separators.
    pub fn tokenizer(&self) -> Tokenizer {
        Tokenizer::new(&self.text_options())
    }
}

#[cfg(test)]
mod tests {
    use lamina_text::text::TokenKind;

    use super::*;

    fn words(tokenizer: &Tokenizer, text: &str) -> Vec<String> {
        let words = tokenizer.tokens(text, &[]).into_iter().filter(|token| token.kind == TokenKind::Word);
        words.map(|token| token.text.into_owned()).collect()
    }

    #[test]
    fn each_setting_moves_boundaries() {
        let tokenizer = |patch: &str| {
            let patch = serde_json::from_str(patch).expect("a valid patch");
            Settings::default().patched(&patch).expect("consistent").tokenizer()
        };
        assert_eq!(words(&tokenizer("{}"), "c++ axb J. R. R."), ["c", "axb", "j", "r", "r"]);
        assert_eq!(words(&tokenizer(r#"{"separatorTokens":["x"]}"#), "axb"), ["a", "b"]);
        assert_eq!(words(&tokenizer(r#"{"nonSeparatorTokens":["+"]}"#), "c++"), ["c++"]);
        assert_eq!(words(&tokenizer(r#"{"dictionary":["J. R. R."]}"#), "J. R. R. Tolkien"), ["j. r. r.", "tolkien"]);
    }
}
