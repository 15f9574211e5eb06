//! Numbers with their nouns: `1 document`, `2 documents`.

use std::fmt::Display;

/// The number and the noun that goes with it; `noun` is one of them.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let shown = count.to_string();
    format!("{shown} {}", noun_for(count, noun))
}

/// The noun alone, where the number stands in a column of its own.
pub fn noun_for<N: PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return noun.to_owned();
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if noun.ends_with(['x', 's']) || noun.ends_with("ch") => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let counts = [0_u64, 1, 2, 1000].map(|count| counted(count, "document"));
        assert_eq!(counts, ["0 documents", "1 document", "2 documents", "1000 documents"]);
        let others = ["query", "index", "batch", "segment"].map(|noun| counted(2_usize, noun));
        assert_eq!(others, ["2 queries", "2 indexes", "2 batches", "2 segments"]);
        assert_eq!(counted(1_u32, "query"), "1 query");
    }
}
