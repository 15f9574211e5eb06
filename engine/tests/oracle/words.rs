//! Words of documents and queries.

use super::naive::Synonym;

/// A small vocabulary in which words are prefixes, misspellings, halves and concatenations of each other.
pub(super) const WORDS: &[&str] = &[
    "sun",
    "flower",
    "sunflower",
    "sunflowers",
    "flowers",
    "flow",
    "sunny",
    "fun",
    "funflower",
    "tower",
    "towers",
    "the",
    "a",
    "moon",
    "moonlight",
    "light",
    "lights",
    "night",
    "knight",
    "nights",
    "moonlit",
    "s",
    "su",
    "car",
];
pub(super) const QUERY_WORDS: &[&str] = &[
    "sun",
    "flower",
    "sunflower",
    "sunflwoer",
    "flowr",
    "flo",
    "sunf",
    "tower",
    "moon",
    "light",
    "moonlight",
    "moonlihgt",
    "night",
    "nigt",
    "knights",
    "su",
    "the",
    "sunflowerlight",
    "car",
    "nothing",
];

/// Synonyms of one word and of two, each with one word and with two.
pub(super) const SYNONYMS: &[Synonym] = &[
    Synonym { of: &["moon"], words: &["night"] },
    Synonym { of: &["moon"], words: &["sun", "light"] },
    Synonym { of: &["flower"], words: &["tower"] },
    Synonym { of: &["the", "car"], words: &["moonlight"] },
    Synonym { of: &["su"], words: &["fun"] },
];

/// Words that most documents of a large corpus share. Nearly all are too short for typos: what is cut and bounded before
/// a document is read are documents that match without typo.
pub(super) const SHARED_WORDS: &[&str] = &["the", "the", "of", "of", "sea", "sun", "a", "king", "to", "house", "horse"];
/// Frequent words, and some that only rare documents have: prefixes, completions and neighbours of frequent words.
pub(super) const RARER_WORDS: &[&str] = &[
    "the",
    "the",
    "of",
    "of",
    "sea",
    "sun",
    "a",
    "king",
    "to",
    "house",
    "s",
    "s",
    "se",
    "th",
    "th",
    "off",
    "sir",
    "tom",
    "thesee",
    "kinnghuose",
];
pub(super) const SHARED_QUERY_WORDS: &[&str] =
    &["the", "of", "sea", "sun", "a", "king", "s", "s", "se", "th", "t", "to", "house"];
/// Words that no document has, but words near them, or two that they are together, or both.
pub(super) const MISSPELT_QUERY_WORDS: &[&str] =
    &["huose", "hoarse", "horsey", "house", "thesea", "kinghouse", "the", "of", "se", "sea", "king"];
/// Words of documents, and words that are near some.
pub(super) const LIMITED_QUERY_WORDS: &[&str] =
    &["the", "of", "sea", "s", "king", "huose", "hoarse", "house", "to", "thesea"];
pub(super) const SHARED_SYNONYMS: &[Synonym] = &[
    Synonym { of: &["sea"], words: &["horse"] },
    Synonym { of: &["king"], words: &["tom"] },
    Synonym { of: &["king"], words: &["house", "of"] },
    Synonym { of: &["of", "the"], words: &["sir"] },
    Synonym { of: &["s"], words: &["a"] },
];
