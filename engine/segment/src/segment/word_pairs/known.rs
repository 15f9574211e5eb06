//! What a segment answers when it is asked for words near each other.

use crate::bits::DocSet;

/// The documents that have some words near each other in one way, where that is known. As an answer it comes as an
/// `Option`: `None` is *unknown*, and the tokens of the documents have to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub documents: DocSet,
    /// The documents are those that do *not* have the words so, of all that could: for three words in a row those that
    /// have both pairs. Only triples are stored this way.
    pub complement: bool,
    /// Upper bound of the `proximity` cost of the words in these documents: 0 if they are side by side, 1 or 2 if they
    /// are near. All other documents have a higher cost.
    pub cost: u32,
}

impl Known {
    /// Documents that have the words next to each other.
    pub(super) fn adjacent(documents: DocSet) -> Known {
        Known { documents, complement: false, cost: 0 }
    }

    /// Leaves those of `candidates` that have the words so. `candidates`: documents that could.
    pub fn narrow(&self, candidates: &mut DocSet) {
        if self.complement {
            candidates.and_not_assign(&self.documents);
        } else {
            candidates.and_assign(&self.documents);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complement_takes_away() {
        let docs = |docs: &[u32]| DocSet::from_sorted(docs.to_vec());
        let known = |complement| Known { complement, ..Known::adjacent(docs(&[2, 3])) };
        for (complement, left) in [(false, [2]), (true, [1])] {
            let mut candidates = docs(&[1, 2]);
            known(complement).narrow(&mut candidates);
            assert_eq!(candidates.to_vec(), left);
        }
    }
}
