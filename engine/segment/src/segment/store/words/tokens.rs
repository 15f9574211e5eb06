//! Cuts the texts of documents into tokens.

use crate::bits::first_bytes;

/// Digits of a number, at most; a longer one is several.
pub(super) const DIGITS_MAX: usize = 17;
/// Bytes of a token of anything else, at most.
const OTHER_MAX: usize = 8;
/// First byte that begins a code of two.
const FIRST_LEAD: u8 = 0xf8;

/// Class of the bytes of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters, and bytes of characters beyond ASCII. Between two words that follow each other is one space.
    Word,
    Digits,
    /// Stands for a piece of JSON.
    Code,
    Other,
    /// Part of a word that is too long.
    Raw,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => Class::Digits,
            b'a'..=b'z' | b'A'..=b'Z' | 0x80..FIRST_LEAD => Class::Word,
            b'\t' | b'\n' | b'\r' | b' '..0x80 => Class::Other,
            _ => Class::Code,
        };
        byte += 1;
    }
    classes
};

/// Returns the class of a token that begins with this byte.
pub(super) const fn class_of(byte: u8) -> Class {
    CLASSES[byte as usize]
}

/// A token of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) class: Class,
    pub(super) bytes: &'a [u8],
    /// See [`first_eight`].
    pub(super) eight: u64,
}

/// The first eight bytes, the first one lowest; zeros stand for missing ones.
#[inline]
pub(super) fn first_eight(bytes: &[u8]) -> u64 {
    first_bytes(bytes).swap_bytes()
}

/// The highest bit of each of eight bytes that are not of the class [`Class::Word`].
#[inline]
fn not_of_words(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    // Sums of seven bits do not reach the next byte. The highest bit of a sum: the byte is at least so large.
    let low = eight & !HIGH;
    let lower = low | (0x20 * ONES);
    let from_a = lower + (0x80 - u64::from(b'a')) * ONES;
    let beyond_z = lower + (0x80 - u64::from(b'z') - 1) * ONES;
    let letters = from_a & !beyond_z & !eight;
    let from_lead = low + (0x100 - u64::from(FIRST_LEAD)) * ONES;
    let beyond_ascii = eight & !from_lead;
    !(letters | beyond_ascii) & HIGH
}

/// The tokens of a text, which cover it but for spaces between two words.
pub(super) struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    is_behind_word: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a [u8]) -> Tokens<'a> {
        Tokens { text, at: 0, is_behind_word: false }
    }

    /// Returns the end of the word that starts at `at`.
    #[inline]
    fn word_end(&self, mut at: usize) -> usize {
        while let Some(eight) = self.text[at..].first_chunk::<8>() {
            let others = not_of_words(u64::from_le_bytes(*eight));
            if others != 0 {
                return at + others.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        let rest = &self.text[at..];
        at + rest.iter().position(|&byte| class_of(byte) != Class::Word).unwrap_or(rest.len())
    }

    /// Returns the end of the word that starts at `start`, and its first eight bytes.
    #[inline]
    fn word(&self, start: usize) -> (usize, u64) {
        let Some(chunk) = self.text[start..].first_chunk::<8>() else {
            let end = self.word_end(start);
            return (end, first_eight(&self.text[start..end]));
        };
        let eight = u64::from_le_bytes(*chunk);
        let others = not_of_words(eight);
        if others == 0 {
            return (self.word_end(start + 8), eight);
        }
        // All bits below those of the first byte that is none of the word.
        let below = ((others & others.wrapping_neg()) >> 7).wrapping_sub(1);
        (start + others.trailing_zeros() as usize / 8, eight & below)
    }

    #[inline]
    fn run_end(&self, class: Class, length_max: usize) -> usize {
        let rest = &self.text[self.at..];
        let rest = &rest[..rest.len().min(length_max)];
        self.at + rest.iter().position(|&byte| class_of(byte) != class).unwrap_or(rest.len())
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    #[inline]
    fn next(&mut self) -> Option<Token<'a>> {
        let first = *self.text.get(self.at)?;
        let start = self.at + usize::from(self.is_behind_word && first == b' ');
        if self.text.get(start).is_some_and(|&byte| class_of(byte) == Class::Word) {
            let (end, eight) = self.word(start);
            if end - start <= super::SPELLED_MAX {
                (self.at, self.is_behind_word) = (end, true);
                return Some(Token { class: Class::Word, bytes: &self.text[start..end], eight });
            }
        }
        let class = class_of(first);
        let (class, end) = match class {
            // Of a word that is too long.
            Class::Word => (Class::Raw, self.at + super::SPELLED_MAX),
            Class::Digits => (class, self.run_end(class, DIGITS_MAX)),
            Class::Code => (class, (self.at + 1 + usize::from(first >= FIRST_LEAD)).min(self.text.len())),
            Class::Other | Class::Raw => (class, self.run_end(class, OTHER_MAX)),
        };
        let bytes = &self.text[self.at..end];
        (self.at, self.is_behind_word) = (end, false);
        Some(Token { class, bytes, eight: first_eight(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_have_the_classes_of_each() {
        for byte in 0..=u8::MAX {
            for (place, others) in [(0, 0xff), (3, b'a'), (7, 0)] {
                let mut eight = [others; 8];
                eight[place] = byte;
                let found = not_of_words(u64::from_le_bytes(eight)).to_le_bytes();
                let expected = eight.map(|byte| if class_of(byte) == Class::Word { 0 } else { 0x80 });
                assert_eq!(found, expected, "{eight:x?}");
            }
        }
    }
}
