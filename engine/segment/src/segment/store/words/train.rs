//! Learns a model from sample documents.

use super::huffman::code_lengths;
use super::tokens::{Class, Tokens};
use super::{
    BYTE_BITS_MAX, FIRST_NUMBER, FIRST_PHRASE, Model, NO_PHRASE, PHRASES_MAX, SPELLED, SPELLED_WORD, SYMBOL_BITS_MAX,
};
use hashbrown::HashMap;

/// Phrases grow by a token in each round.
const ROUNDS: usize = 5;
/// Tokens that are rarer in the samples are spelled out.
const SEEN_MIN: u32 = 2;
/// Numbers are short as they are.
const NUMBERS_SEEN_MIN: u32 = 16;
/// A phrase saves at least so many bits in the samples. It takes as many itself, but there are more documents than samples.
const SAVED_BITS_MIN: f64 = 60.0;
/// A model is at most this share of what it is trained on: the rest of the index may not be much more.
const SHARE: usize = 8;
/// Bytes of a phrase beside those of its token.
const PHRASE_BYTES: usize = 5;
/// Divisor of the number of samples: one part in this many is held out, to test how well the others represent
/// documents.
const TEST_SHARE: usize = 32;

/// Placeholder for a sequence of tokens without a number.
const NONE: u32 = u32::MAX;

/// The tokens of samples.
#[derive(Default)]
struct Samples<'a> {
    /// By token its bytes, class and how often it is there.
    tokens: Vec<(&'a [u8], Class, u32)>,
    /// Numbers of tokens; [`NONE`] ends a document.
    sequence: Vec<u32>,
}

impl<'a> Samples<'a> {
    fn new(texts: impl Iterator<Item = &'a [u8]>) -> Samples<'a> {
        let mut samples = Samples::default();
        let mut numbers: HashMap<&[u8], u32, foldhash::fast::RandomState> = HashMap::default();
        for text in texts {
            for token in Tokens::new(text) {
                // A part of a word that is too long is no token; no other is as long.
                let number = *numbers.entry(token.bytes).or_insert_with(|| {
                    samples.tokens.push((token.bytes, token.class, 0));
                    samples.tokens.len() as u32 - 1
                });
                samples.tokens[number as usize].2 += 1;
                samples.sequence.push(number);
            }
            samples.sequence.push(NONE);
        }
        samples
    }

    fn is_worth_a_phrase(&self, token: u32) -> bool {
        let (_, class, count) = self.tokens[token as usize];
        match class {
            Class::Raw => false,
            Class::Digits => count >= NUMBERS_SEEN_MIN,
            Class::Word | Class::Code | Class::Other => count >= SEEN_MIN,
        }
    }
}

/// Phrases while they are chosen.
struct Trainer<'a> {
    samples: &'a Samples<'a>,
    /// By token the phrase that it is.
    single: Vec<u32>,
    phrases: Vec<(u32, u32)>,
    /// By phrase whether another one continues it.
    is_continued: Vec<bool>,
    continued: HashMap<u64, u32, foldhash::fast::RandomState>,
    bytes_left: usize,
}

fn pair(phrase: u32, token: u32) -> u64 {
    u64::from(phrase) << 32 | u64::from(token)
}

impl<'a> Trainer<'a> {
    fn new(samples: &'a Samples<'a>, bytes_max: usize) -> Trainer<'a> {
        let mut trainer = Trainer {
            samples,
            single: vec![NONE; samples.tokens.len()],
            phrases: Vec::new(),
            is_continued: Vec::new(),
            continued: HashMap::default(),
            bytes_left: bytes_max,
        };
        let mut worth: Vec<u32> =
            (0..samples.tokens.len() as u32).filter(|&token| samples.is_worth_a_phrase(token)).collect();
        worth.sort_by_key(|&token| std::cmp::Reverse(samples.tokens[token as usize].2));
        for token in worth {
            if !trainer.has_room(token) {
                break;
            }
            trainer.single[token as usize] = trainer.add(NO_PHRASE, token);
        }
        trainer
    }

    fn cost(&self, token: u32) -> usize {
        self.samples.tokens[token as usize].0.len() + PHRASE_BYTES
    }

    fn has_room(&self, token: u32) -> bool {
        self.phrases.len() < PHRASES_MAX && self.cost(token) <= self.bytes_left
    }

    fn add(&mut self, parent: u32, token: u32) -> u32 {
        self.bytes_left -= self.cost(token);
        self.phrases.push((parent, token));
        self.is_continued.push(false);
        self.phrases.len() as u32 - 1
    }

    /// Calls `f` with each phrase of the samples, and the token behind it that it does not go on with; or with a token that is
    /// no phrase.
    fn parse(&self, mut f: impl FnMut(Result<(u32, u32), u32>)) {
        let mut open = NONE;
        for &token in &self.samples.sequence {
            if open != NONE {
                if token != NONE
                    && self.is_continued[open as usize]
                    && let Some(&longer) = self.continued.get(&pair(open, token))
                {
                    open = longer;
                    continue;
                }
                f(Ok((open, token)));
            }
            open = NONE;
            if token != NONE {
                open = self.single[token as usize];
                if open == NONE {
                    f(Err(token));
                }
            }
        }
    }

    /// Adds phrases that are one token longer than others.
    fn lengthen(&mut self) {
        let mut counts = vec![0_u32; self.phrases.len()];
        // As many as there may be, so that it does not grow, which costs more than to fill it.
        let pairs_max = self.samples.sequence.len() / 4;
        let mut pairs: HashMap<u64, u32, foldhash::fast::RandomState> =
            HashMap::with_capacity_and_hasher(pairs_max, Default::default());
        let mut total = 0_u32;
        self.parse(|met| {
            total += 1;
            let Ok((phrase, next)) = met else { return };
            counts[phrase as usize] += 1;
            if next != NONE && self.single[next as usize] != NONE {
                *pairs.entry(pair(phrase, next)).or_default() += 1;
            }
        });
        let saved_bits = |pair: u64, count: u32| {
            let (phrase, token) = ((pair >> 32) as u32, pair as u32);
            let count = f64::from(count);
            let expected = f64::from(counts[phrase as usize]) * f64::from(self.samples.tokens[token as usize].2);
            count * (count * f64::from(total) / expected).log2()
        };
        let mut worth: Vec<(f64, u64)> = pairs
            .into_iter()
            .filter(|&(_, count)| count > 4)
            .map(|(pair, count)| (saved_bits(pair, count), pair))
            .filter(|&(saved, _)| saved > SAVED_BITS_MIN)
            .collect();
        worth.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, pair) in worth {
            let (phrase, token) = ((pair >> 32) as u32, pair as u32);
            if !self.has_room(token) {
                break;
            }
            let longer = self.add(phrase, token);
            self.continued.insert(pair, longer);
            self.is_continued[phrase as usize] = true;
        }
    }

    /// The model with codes for what the samples consist of.
    fn model(&self) -> Model {
        let mut model = Model::default();
        for &(parent, token) in &self.phrases {
            model.push(parent, self.samples.tokens[token as usize].0);
        }
        // Whatever may come has a code; what fills the last byte has the longest.
        let mut counts = vec![1_u64; FIRST_PHRASE as usize + self.phrases.len() + 1];
        let mut byte_counts = vec![1_u64; 256];
        self.parse(|met| match met {
            Ok((phrase, _)) => counts[(FIRST_PHRASE + phrase) as usize] += 1,
            Err(token) => {
                let (bytes, class, _) = self.samples.tokens[token as usize];
                match class {
                    Class::Digits => counts[FIRST_NUMBER as usize + bytes.len() - 1] += 1,
                    Class::Word => counts[SPELLED_WORD as usize] += 1,
                    Class::Code | Class::Other | Class::Raw => counts[SPELLED as usize] += 1,
                }
                if class != Class::Digits {
                    bytes.iter().for_each(|&byte| byte_counts[usize::from(byte)] += 1);
                }
            }
        });
        model.lengths = code_lengths(counts, SYMBOL_BITS_MAX);
        model.byte_lengths = code_lengths(byte_counts, BYTE_BITS_MAX);
        model
    }
}

/// Returns the number of documents, of so many, that are held out of the training of a model.
pub(in super::super) fn kept_back(documents: usize) -> usize {
    documents / TEST_SHARE
}

/// Learns from texts that lie one after the other in `samples`, with these lengths, all but the last. `None`: there are too few.
/// Cost: some 40 ms for each megabyte.
pub(in super::super) fn train(samples: &[u8], lengths: &[usize]) -> Option<Vec<u8>> {
    let tested = kept_back(lengths.len());
    if tested == 0 {
        return None;
    }
    let mut at = 0;
    let texts = lengths[..lengths.len() - tested].iter().map(|length| {
        at += length;
        &samples[at - length..at]
    });
    let learned = Samples::new(texts);
    let mut trainer = Trainer::new(&learned, samples.len() / SHARE);
    (0..ROUNDS).for_each(|_| trainer.lengthen());
    Some(trainer.model().put())
}
