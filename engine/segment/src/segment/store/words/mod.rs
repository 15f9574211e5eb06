//! Documents as numbers of words.
//!
//! The words of texts, and what stands between them, repeat from document to document more than anything else. A model holds
//! those of sample documents, and sequences of them that are frequent; a document is the codes of what it consists of, short
//! ones for what is frequent (Huffman, "A method for the construction of minimum-redundancy codes", 1952). What the model does
//! not have is spelled out. A document is read without those before it.
//!
//! The layout is in `segment-format.md`.

mod decoder;
mod encoder;
mod huffman;
mod tokens;
mod train;

pub(super) use decoder::WordDecoder;
pub(super) use encoder::WordEncoder;
pub(super) use train::{kept_back, train};

use crate::bits::varint::{put_varint, read_varint};
use huffman::is_complete;
use tokens::{Class, DIGITS_MAX, class_of};

/// First bytes of a model; a dictionary of zstd begins with others.
const MAGIC: [u8; 4] = *b"LmWd";
/// A word that is spelled out: a space comes before it when a word is before it.
const SPELLED_WORD: u32 = 0;
/// Other bytes that are spelled out.
const SPELLED: u32 = 1;
/// Symbols for numbers of one digit, two, and so on: the number itself follows.
const FIRST_NUMBER: u32 = 2;
const FIRST_PHRASE: u32 = FIRST_NUMBER + DIGITS_MAX as u32;
/// Phrases of a model, at most.
const PHRASES_MAX: usize = 1 << 16;
/// Bits of the longest code of a symbol, and of a byte that is spelled out.
const SYMBOL_BITS_MAX: u8 = 24;
const BYTE_BITS_MAX: u8 = 15;
/// Bits of the length of what is spelled out.
const LENGTH_BITS: u8 = 6;
const SPELLED_MAX: usize = (1 << LENGTH_BITS) - 1;
/// Bits of a number of one digit, two, and so on.
const NUMBER_BITS: [u8; DIGITS_MAX] = [4, 7, 10, 14, 17, 20, 24, 27, 30, 34, 37, 40, 44, 47, 50, 54, 57];
/// Placeholder for the parent of a phrase that consists of its last token alone.
const NO_PHRASE: u32 = u32::MAX;

/// Model of the documents. A phrase is another phrase, or nothing, followed by a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    /// By phrase the one that it continues.
    parents: Vec<u32>,
    /// Last tokens of the phrases, one after the other, and the end of each.
    tokens: Vec<u8>,
    ends: Vec<u32>,
    /// Bits of the code of each symbol; the last one is none, its code is all ones.
    lengths: Vec<u8>,
    /// Bits of the code of each byte.
    byte_lengths: Vec<u8>,
}

impl Model {
    fn push(&mut self, parent: u32, token: &[u8]) {
        self.parents.push(parent);
        self.tokens.extend_from_slice(token);
        self.ends.push(self.tokens.len() as u32);
    }

    fn len(&self) -> usize {
        self.parents.len()
    }

    /// The last token of a phrase.
    fn token(&self, phrase: usize) -> &[u8] {
        let start = phrase.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.tokens[start as usize..self.ends[phrase] as usize]
    }

    fn class(&self, phrase: usize) -> Class {
        class_of(self.token(phrase)[0])
    }

    /// The bytes of a dictionary.
    fn put(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.byte_lengths);
        put_varint(&mut out, self.len() as u64);
        for phrase in 0..self.len() {
            let parent = self.parents[phrase];
            put_varint(&mut out, if parent == NO_PHRASE { 0 } else { u64::from(parent) + 1 });
            put_varint(&mut out, self.token(phrase).len() as u64);
            out.extend_from_slice(self.token(phrase));
        }
        out.extend_from_slice(&self.lengths);
        out
    }

    /// Reads what [`put`](Self::put) made. `None` when it is damaged.
    fn read(bytes: &[u8]) -> Option<Model> {
        let bytes = bytes.strip_prefix(&MAGIC)?;
        let mut model = Model { byte_lengths: bytes.get(..256)?.to_vec(), ..Model::default() };
        let mut at = 256;
        let count = usize::try_from(read_varint(bytes, &mut at)?).ok().filter(|&count| count <= PHRASES_MAX)?;
        for phrase in 0..count {
            let parent = match read_varint(bytes, &mut at)? {
                0 => NO_PHRASE,
                parent => u32::try_from(parent - 1).ok().filter(|&parent| (parent as usize) < phrase)?,
            };
            let length = usize::try_from(read_varint(bytes, &mut at)?).ok()?;
            let token = bytes.get(at..)?.get(..length).filter(|token| !token.is_empty())?;
            model.push(parent, token);
            at += length;
        }
        model.lengths = bytes.get(at..)?.to_vec();
        let has_a_code_each = model.lengths.len() == FIRST_PHRASE as usize + count + 1;
        let are_codes = is_complete(&model.lengths, SYMBOL_BITS_MAX) && is_complete(&model.byte_lengths, BYTE_BITS_MAX);
        (has_a_code_each && are_codes).then_some(model)
    }
}

/// Reports whether these are the bytes of a model, not of a zstd dictionary.
pub(super) fn is_model(dictionary: &[u8]) -> bool {
    dictionary.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests;
