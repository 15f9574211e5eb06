//! Reads texts that were written with the codes of a model.

use super::super::pieces::Pieces;
use super::huffman::{BITS_MAX, CodeTable, in_code_order};
use super::tokens::Class;
use super::{FIRST_NUMBER, FIRST_PHRASE, LENGTH_BITS, Model, NO_PHRASE, NUMBER_BITS, SPELLED, SPELLED_WORD};

/// First bits of a code by which it is found with one look.
const SYMBOL_SHORT_BITS: u8 = 12;
const BYTE_SHORT_BITS: u8 = 9;
/// Bytes of all phrases as JSON: they are kept in memory.
const TEXT_BYTES_MAX: usize = 8 << 20;
/// A phrase of up to so many bytes is copied by one instruction, with what lies behind it.
const COPIED: usize = 16;

/// Meaning of a code.
#[derive(Clone, Copy)]
struct Phrase {
    /// Offset of the JSON of the phrase. It has a space before it if the phrase begins with a word.
    start: u32,
    length: u16,
    kind: Kind,
    /// The phrase begins with a word.
    begins_with_word: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    EndsWithWord,
    EndsOtherwise,
    /// `start` is the symbol.
    Spelled,
    /// No text has it.
    Unused,
}

/// A model, made ready to read documents with: some hundred kilobytes. What is frequent lies side by side, so that reading
/// a document touches few cache lines.
pub(in super::super) struct WordDecoder {
    symbols: CodeTable,
    bytes: CodeTable,
    /// By rank of the code.
    entries: Box<[Phrase]>,
    text: Box<[u8]>,
    byte_of_rank: Box<[u8]>,
    pieces: Pieces,
}

/// Reads codes from the front.
struct BitReader<'a> {
    codes: &'a [u8],
    /// Bits that were read.
    bit: usize,
    /// The next bits, from the highest, of which `ready` are right.
    window: u64,
    ready: u32,
}

impl BitReader<'_> {
    /// Bits of a window that are right wherever it begins within a byte.
    const WINDOW_BITS: u32 = 57;

    /// The next bits, from the highest, at least [`BITS_MAX`] of them right; zeros past the end.
    #[inline(always)]
    fn peek(&mut self) -> u64 {
        if self.ready < BITS_MAX as u32 {
            let rest = self.codes.get(self.bit >> 3..).unwrap_or_default();
            let eight = match rest.first_chunk::<8>() {
                Some(eight) => *eight,
                None => {
                    let mut padded = [0; 8];
                    padded[..rest.len()].copy_from_slice(rest);
                    padded
                }
            };
            self.window = u64::from_be_bytes(eight) << (self.bit & 7);
            self.ready = Self::WINDOW_BITS;
        }
        self.window
    }

    /// Goes on behind `width` (at most [`BITS_MAX`]) bits that were looked at.
    #[inline(always)]
    fn skip(&mut self, width: u32) {
        self.window <<= width;
        self.ready -= width;
        self.bit += width as usize;
    }

    /// The next `width` (1 to 57) bits.
    #[inline]
    fn number(&mut self, width: u8) -> u64 {
        self.ready = 0;
        let number = self.peek() >> (64 - width);
        (self.ready, self.bit) = (0, self.bit + usize::from(width));
        number
    }
}

/// The phrases of a model.
struct Phrases {
    /// The JSON of all, in their order.
    json: Vec<u8>,
    /// By phrase its bytes in it, and whether it begins with a word.
    lengths: Vec<(u16, bool)>,
}

/// `None` when they are damaged.
fn phrases(model: &Model, pieces: &Pieces) -> Option<Phrases> {
    // As texts first: a phrase begins with the text of another one.
    let (mut texts, mut ends) = (Vec::new(), Vec::with_capacity(model.len()));
    let mut lengths: Vec<(u16, bool)> = Vec::with_capacity(model.len());
    let (mut json, mut one) = (Vec::new(), Vec::new());
    for number in 0..model.len() {
        one.clear();
        let is_word = model.class(number) == Class::Word;
        let mut begins_with_word = is_word;
        if model.parents[number] != NO_PHRASE {
            let parent = model.parents[number] as usize;
            let start = parent.checked_sub(1).map_or(0, |before| ends[before]);
            one.extend_from_slice(&texts[start..ends[parent]]);
            begins_with_word = lengths[parent].1;
            if is_word && model.class(parent) == Class::Word {
                one.push(b' ');
            }
        }
        one.extend_from_slice(model.token(number));
        texts.extend_from_slice(&one);
        ends.push(texts.len());
        let start = json.len();
        // A space may come before it.
        pieces.decode(&one, usize::from(u16::MAX) - 1, &mut json)?;
        if json.len().max(texts.len()) > TEXT_BYTES_MAX {
            return None;
        }
        lengths.push(((json.len() - start) as u16, begins_with_word));
    }
    Some(Phrases { json, lengths })
}

impl WordDecoder {
    /// `None` when these are not the bytes of a model, or it is damaged.
    pub(in super::super) fn new(dictionary: &[u8], pieces: &Pieces) -> Option<WordDecoder> {
        let model = Model::read(dictionary)?;
        let Phrases { json, lengths } = phrases(&model, pieces)?;
        let starts: Vec<usize> = lengths
            .iter()
            .scan(0, |end, (length, _)| Some(std::mem::replace(end, *end + usize::from(*length))))
            .collect();
        let mut text = Vec::with_capacity(json.len() + lengths.len() + COPIED);
        let entry = |symbol: u32| {
            let spelled = Phrase { start: symbol, length: 0, kind: Kind::Spelled, begins_with_word: false };
            let Some(number) = symbol.checked_sub(FIRST_PHRASE) else { return spelled };
            let Some(&(length, begins_with_word)) = lengths.get(number as usize) else {
                return Phrase { kind: Kind::Unused, ..spelled };
            };
            let (start, from) = (text.len() as u32, starts[number as usize]);
            text.extend(begins_with_word.then_some(b' '));
            text.extend_from_slice(&json[from..from + usize::from(length)]);
            let is_word = model.class(number as usize) == Class::Word;
            let kind = if is_word { Kind::EndsWithWord } else { Kind::EndsOtherwise };
            Phrase { start, length: length + u16::from(begins_with_word), kind, begins_with_word }
        };
        let entries = in_code_order(&model.lengths).into_iter().map(entry).collect();
        text.extend_from_slice(&[0; COPIED]);
        Some(WordDecoder {
            symbols: CodeTable::new(&model.lengths, SYMBOL_SHORT_BITS),
            bytes: CodeTable::new(&model.byte_lengths, BYTE_SHORT_BITS),
            entries,
            text: text.into(),
            byte_of_rank: in_code_order(&model.byte_lengths).into_iter().map(|byte| byte as u8).collect(),
            pieces: pieces.clone(),
        })
    }

    /// Appends the JSON of a document, of at most `limit` bytes. `None` when its codes are damaged.
    pub(in super::super) fn decode(&self, codes: &[u8], limit: usize, out: &mut Vec<u8>) -> Option<()> {
        let (end, out_max) = (codes.len() * 8, out.len().checked_add(limit)?);
        let mut reader = BitReader { codes, bit: 0, window: 0, ready: 0 };
        let mut is_behind_word = false;
        while reader.bit < end {
            let bits = reader.peek();
            // What fills the last byte are ones, and no code consists of them but the longest.
            let left = end - reader.bit;
            if left < 8 && (!bits >> (64 - left)) == 0 {
                break;
            }
            let (rank, width) = self.symbols.rank(bits);
            reader.skip(width);
            let entry = *self.entries.get(rank as usize)?;
            is_behind_word = match entry.kind {
                Kind::EndsWithWord | Kind::EndsOtherwise => {
                    let without_space = usize::from(entry.begins_with_word & !is_behind_word);
                    self.phrase(entry.start as usize + without_space, usize::from(entry.length) - without_space, out)?;
                    entry.kind == Kind::EndsWithWord
                }
                Kind::Spelled => {
                    let is_word = entry.start == SPELLED_WORD;
                    if is_behind_word && is_word {
                        out.push(b' ');
                    }
                    self.spelled(&mut reader, entry.start, out)?;
                    is_word
                }
                Kind::Unused => return None,
            };
            if out.len() > out_max || reader.bit > end {
                return None;
            }
        }
        Some(())
    }

    /// Appends a part of the text.
    #[inline(always)]
    fn phrase(&self, start: usize, length: usize, out: &mut Vec<u8>) -> Option<()> {
        let rest = self.text.get(start..)?;
        match rest.first_chunk::<COPIED>() {
            Some(chunk) if length <= COPIED => {
                out.extend_from_slice(chunk);
                out.truncate(out.len() - (COPIED - length));
            }
            _ => out.extend_from_slice(rest.get(..length)?),
        }
        Some(())
    }

    /// Appends what is spelled out behind the code of `symbol`.
    fn spelled(&self, reader: &mut BitReader<'_>, symbol: u32, out: &mut Vec<u8>) -> Option<()> {
        if symbol >= FIRST_NUMBER {
            let digits = (symbol - FIRST_NUMBER) as usize + 1;
            let number = reader.number(*NUMBER_BITS.get(digits - 1)?);
            let start = out.len();
            out.resize(start + digits, b'0');
            out[start..].iter_mut().rev().fold(number, |rest, digit| {
                *digit += (rest % 10) as u8;
                rest / 10
            });
            return Some(());
        }
        let length = reader.number(LENGTH_BITS) as usize;
        let mut spelled = [0; super::SPELLED_MAX];
        let spelled = spelled.get_mut(..length)?;
        for slot in &mut *spelled {
            let (rank, width) = self.bytes.rank(reader.peek());
            reader.skip(width);
            *slot = *self.byte_of_rank.get(rank as usize)?;
        }
        if symbol == SPELLED {
            // It may be what stands for a piece.
            self.pieces.decode(spelled, usize::from(u16::MAX), out)?;
        } else {
            out.extend_from_slice(spelled);
        }
        Some(())
    }
}
