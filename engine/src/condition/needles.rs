//! Texts that are looked for inside of values: one, or many at once.

use aho_corasick::AhoCorasick;
use lamina_text::text::FACET_BYTES_MAX;
use memchr::memmem::Finder;

/// Texts of one automaton. Building one of very many takes more than linear time.
const TEXTS_MAX: usize = 1000;
/// Bytes of the texts: an automaton takes some tens of bytes for each.
const BYTES_MAX: usize = 128 << 10;

/// Texts to look for, in a form that finds all of them at once.
#[derive(Clone, Debug)]
pub(super) enum Needles {
    One(Box<Finder<'static>>),
    Several(AhoCorasick),
}

impl Needles {
    /// `texts` in parts, each to be looked for at once. Texts that are longer than any value are left out.
    pub(super) fn parts(texts: Vec<String>) -> Vec<Needles> {
        let mut parts: Vec<Vec<String>> = Vec::new();
        let mut bytes = 0;
        for text in texts.into_iter().filter(|text| text.len() <= FACET_BYTES_MAX) {
            bytes += text.len();
            match parts.last_mut() {
                Some(part) if part.len() < TEXTS_MAX && bytes <= BYTES_MAX => part.push(text),
                _ => {
                    bytes = text.len();
                    parts.push(vec![text]);
                }
            }
        }
        parts.into_iter().flat_map(Needles::part).collect()
    }

    /// All that `needles` look for, in as few parts as there may be.
    pub(super) fn together(needles: Vec<Needles>) -> Vec<Needles> {
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for needle in needles {
            match needle {
                Needles::One(finder) => {
                    texts.push(String::from_utf8(finder.needle().to_vec()).expect("it was made of a text"));
                }
                several @ Needles::Several(_) => parts.push(several),
            }
        }
        parts.append(&mut Needles::parts(texts));
        parts
    }

    fn part(texts: Vec<String>) -> Vec<Needles> {
        let one = |text: &String| Needles::One(Box::new(Finder::new(text.as_bytes()).into_owned()));
        match texts.as_slice() {
            [text] => vec![one(text)],
            // An automaton of so few bytes can be built.
            _ => AhoCorasick::new(&texts)
                .map_or_else(|_| texts.iter().map(one).collect(), |automaton| vec![Needles::Several(automaton)]),
        }
    }

    /// Reports whether `value` contains one of the needles.
    pub(super) fn are_in(&self, value: &str) -> bool {
        match self {
            Needles::One(finder) => finder.find(value.as_bytes()).is_some(),
            Needles::Several(automaton) => automaton.is_match(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_texts_are_looked_for_as_each_alone() {
        let texts: Vec<String> = (0..2500).map(|n| format!("n{n:04}")).chain(["x".repeat(500)]).collect();
        let parts = Needles::parts(texts);
        assert_eq!(parts.len(), 3, "what is longer than any value is left out");
        let found = |value: &str| parts.iter().any(|part| part.are_in(value));
        assert!(found("a n0000 b"));
        assert!(found("n2499"));
        assert!(found("xn12345"));
        assert!(!found("n2500"));
        assert!(!found("n00"));
        assert!(!found(&"x".repeat(468)));
        assert!(Needles::parts(vec![String::new()])[0].are_in("anything"));
    }
}
