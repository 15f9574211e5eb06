//! Reads texts that were written with the codes of a model.

use super::super::pieces::Pieces;
use super::huffman::CodeTable;
use super::tokens::Class;
use super::{FIRST_NUMBER, FIRST_PHRASE, LENGTH_BITS, Model, NO_PHRASE, NUMBER_BITS, SPELLED, SPELLED_WORD};

/// First bits of a code by which a symbol is found with one look.
const SYMBOL_SHORT_BITS: u8 = 12;
const BYTE_SHORT_BITS: u8 = 9;
/// Bytes of all phrases as JSON: they are kept in memory.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// A phrase in the JSON of all.
#[derive(Clone, Copy)]
struct Phrase {
    start: u32,
    length: u16,
    begins_with_word: bool,
    ends_with_word: bool,
}

/// A model, made ready to read documents with: some hundred kilobytes.
pub(in super::super) struct WordDecoder {
    symbols: CodeTable,
    bytes: CodeTable,
    phrases: Box<[Phrase]>,
    text: Box<[u8]>,
    pieces: Pieces,
}

/// The 64 bits from `bit` on, zeros past the end.
#[inline(always)]
fn bits_at(bytes: &[u8], bit: usize) -> u64 {
    let rest = bytes.get(bit >> 3..).unwrap_or_default();
    let eight = match rest.first_chunk::<8>() {
        Some(eight) => *eight,
        None => {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        }
    };
    u64::from_be_bytes(eight) << (bit & 7)
}

/// The `width` (1 to 57) bits from `bit` on.
#[inline]
fn number_at(bytes: &[u8], bit: usize, width: u8) -> u64 {
    bits_at(bytes, bit) >> (64 - width)
}

impl WordDecoder {
    /// `None` when these are not the bytes of a model, or it is damaged.
    pub(in super::super) fn new(dictionary: &[u8], pieces: &Pieces) -> Option<WordDecoder> {
        let model = Model::read(dictionary)?;
        // As texts first: a phrase begins with the text of another one.
        let (mut texts, mut ends) = (Vec::new(), Vec::with_capacity(model.len()));
        let mut phrases: Vec<Phrase> = Vec::with_capacity(model.len());
        let (mut json, mut one) = (Vec::new(), Vec::new());
        for number in 0..model.len() {
            one.clear();
            let is_word = model.class(number) == Class::Word;
            let mut begins_with_word = is_word;
            if model.parents[number] != NO_PHRASE {
                let parent = model.parents[number] as usize;
                let start = parent.checked_sub(1).map_or(0, |before| ends[before]);
                one.extend_from_slice(&texts[start..ends[parent]]);
                begins_with_word = phrases[parent].begins_with_word;
                if phrases[parent].ends_with_word && is_word {
                    one.push(b' ');
                }
            }
            one.extend_from_slice(model.token(number));
            texts.extend_from_slice(&one);
            ends.push(texts.len());
            let start = json.len();
            pieces.decode(&one, usize::from(u16::MAX), &mut json)?;
            if json.len().max(texts.len()) > TEXT_BYTES_MAX {
                return None;
            }
            let length = (json.len() - start) as u16;
            phrases.push(Phrase { start: start as u32, length, begins_with_word, ends_with_word: is_word });
        }
        Some(WordDecoder {
            symbols: CodeTable::new(&model.lengths, SYMBOL_SHORT_BITS),
            bytes: CodeTable::new(&model.byte_lengths, BYTE_SHORT_BITS),
            phrases: phrases.into(),
            text: json.into(),
            pieces: pieces.clone(),
        })
    }

    /// Appends the JSON of a document, of at most `limit` bytes. `None` when its codes are damaged.
    pub(in super::super) fn decode(&self, codes: &[u8], limit: usize, out: &mut Vec<u8>) -> Option<()> {
        let (end, out_max) = (codes.len() * 8, out.len().checked_add(limit)?);
        let (mut bit, mut is_behind_word) = (0, false);
        while bit < end {
            let bits = bits_at(codes, bit);
            // What fills the last byte are ones, and no code consists of them but the longest.
            if end - bit < 8 && (!bits >> (64 - (end - bit))) == 0 {
                break;
            }
            let (symbol, length) = self.symbols.symbol(bits);
            bit += usize::from(length);
            if symbol >= FIRST_PHRASE {
                let phrase = self.phrases.get((symbol - FIRST_PHRASE) as usize)?;
                if is_behind_word && phrase.begins_with_word {
                    out.push(b' ');
                }
                is_behind_word = phrase.ends_with_word;
                let start = phrase.start as usize;
                out.extend_from_slice(self.text.get(start..start + usize::from(phrase.length))?);
            } else {
                let is_word = symbol == SPELLED_WORD;
                if is_behind_word && is_word {
                    out.push(b' ');
                }
                bit = self.spelled(codes, symbol, bit, out)?;
                is_behind_word = is_word;
            }
            if out.len() > out_max || bit > end {
                return None;
            }
        }
        Some(())
    }

    /// Appends what is spelled out from `bit` on, and answers where it ends.
    fn spelled(&self, codes: &[u8], symbol: u32, mut bit: usize, out: &mut Vec<u8>) -> Option<usize> {
        if symbol >= FIRST_NUMBER {
            let digits = (symbol - FIRST_NUMBER) as usize + 1;
            let width = *NUMBER_BITS.get(digits - 1)?;
            let number = number_at(codes, bit, width);
            let start = out.len();
            out.resize(start + digits, b'0');
            out[start..].iter_mut().rev().fold(number, |rest, digit| {
                *digit += (rest % 10) as u8;
                rest / 10
            });
            return Some(bit + usize::from(width));
        }
        let length = number_at(codes, bit, LENGTH_BITS) as usize;
        bit += usize::from(LENGTH_BITS);
        let mut spelled = [0; super::SPELLED_MAX];
        let spelled = spelled.get_mut(..length)?;
        for slot in &mut *spelled {
            let (byte, width) = self.bytes.symbol(bits_at(codes, bit));
            *slot = byte as u8;
            bit += usize::from(width);
        }
        if symbol == SPELLED {
            // It may be what stands for a piece.
            self.pieces.decode(spelled, usize::from(u16::MAX), out)?;
        } else {
            out.extend_from_slice(spelled);
        }
        Some(bit)
    }
}
