//! How many tokens a text has for a model, near enough to cut it.
//!
//! The vocabularies of models are megabytes and change; what is needed is a start of the text that is not refused and
//! not much shorter than it has to be. So pieces are cut as the tokenisers of these models cut them (a word with the
//! space before it, up to three digits, each mark) and words are given as many tokens as words of their length and
//! script usually have. Where that is too little, the caller cuts by bytes: a token has one at least.

/// The longest start of `text` that should have at most `tokens_max` tokens.
pub(super) fn cut_to_tokens(text: &str, tokens_max: usize) -> &str {
    let mut total = 0;
    for (start, tokens) in pieces(text) {
        total += tokens;
        if total > tokens_max {
            return &text[..start];
        }
    }
    text
}

/// Estimates the number of tokens of `text`.
pub(super) fn count_tokens(text: &str) -> usize {
    pieces(text).map(|(_, tokens)| tokens).sum()
}

/// The pieces of a text: where each starts, in bytes, and its tokens.
fn pieces(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = rest.next()?;
        let kind = Kind::of(first);
        let mut length = 1;
        while rest.next_if(|(_, next)| Kind::of(*next) == kind && length < kind.length_max()).is_some() {
            length += 1;
        }
        Some((start, kind.tokens(length)))
    })
}

/// Type of the characters of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Space,
    Digits,
    /// Letters of the scripts that vocabularies know best.
    Latin,
    /// Letters of other alphabets.
    Letters,
    /// Signs that are words or syllables.
    Signs,
    Marks,
}

impl Kind {
    fn of(c: char) -> Kind {
        match c {
            _ if c.is_whitespace() => Kind::Space,
            '0'..='9' => Kind::Digits,
            'a'..='z' | 'A'..='Z' => Kind::Latin,
            _ if c.is_alphabetic() && c < '\u{800}' => Kind::Letters,
            _ if c.is_alphabetic() => Kind::Signs,
            _ => Kind::Marks,
        }
    }

    /// Characters of a piece: of a token, but for spaces.
    fn length_max(self) -> usize {
        match self {
            Kind::Space => usize::MAX,
            Kind::Digits => 3,
            Kind::Latin => 6,
            Kind::Letters => 2,
            Kind::Signs | Kind::Marks => 1,
        }
    }

    fn tokens(self, length: usize) -> usize {
        // One space belongs to the word after it; more of them are one token together.
        usize::from(self != Kind::Space || length > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_marks() {
        let cut = |tokens| cut_to_tokens("The fox, 12345 times  over", tokens);
        assert_eq!(cut(0), "");
        assert_eq!(cut(1), "The ");
        assert_eq!(cut(3), "The fox, ");
        assert_eq!(cut(4), "The fox, 123");
        assert_eq!(cut(6), "The fox, 12345 times");
        assert_eq!(cut(100), "The fox, 12345 times  over");
        assert_eq!(count_tokens("The fox, 12345 times  over"), 8);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut_to_tokens("日本語", 2), "日本");
        assert_eq!(cut_to_tokens("привет мир", 3), "привет ");
        assert_eq!(cut_to_tokens("", 3), "");
    }

    #[test]
    fn prose_keeps_far_more_than_a_byte_a_token() {
        let text = "The engine ranks documents by the words of a query and by their meaning. ".repeat(2000);
        assert!(cut_to_tokens(&text, 8191).len() > 30_000);
    }
}
