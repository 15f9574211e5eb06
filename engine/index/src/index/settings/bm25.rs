//! `bm25`: how the score of questions counts occurrences of words.

use super::value::object;

object! {
    /// The constants of the score of questions.
    #[derive(Copy)]
    Bm25 changed by Bm25Patch {
        /// Saturation of the term frequency, from 0. The greater it is, the more repetitions of a word count.
        k1: f64 = 1.2,
        /// Degree of length normalisation, 0 to 1.
        b: f64 = 0.75,
    }
}
