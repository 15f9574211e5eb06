//! "Did you mean": the accepted word closest to a received one.

/// ``did you mean `x`? `` with its trailing space when an accepted word is near enough, else nothing.
pub(super) fn did_you_mean(received: &str, accepted: &[&str]) -> String {
    let allowed = match received.len() {
        0..=3 => return String::new(),
        4..=7 => 1,
        8..=12 => 2,
        13..=17 => 3,
        18..=24 => 4,
        _ => 5,
    };
    accepted
        .iter()
        .map(|word| (distance(received, word), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| format!("did you mean `{word}`? "))
        .unwrap_or_default()
}

/// `` `a`, `b`, `c` ``
pub(super) fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Damerau-Levenshtein distance with adjacent transpositions, in characters. Quadratic in the lengths.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Three rows are enough: a transposition looks back two of them.
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("limit", "limit"), 0);
        assert_eq!(distance("limti", "limit"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn the_allowance_grows_with_the_received_word() {
        assert_eq!(did_you_mean("lim", &["limit"]), "");
        assert_eq!(did_you_mean("limi", &["offset", "limit"]), "did you mean `limit`? ");
        assert_eq!(did_you_mean("doggo", &["uid", "primaryKey"]), "");
        assert_eq!(did_you_mean("displayedAtributs", &["displayedAttributes"]), "did you mean `displayedAttributes`? ");
        assert_eq!(did_you_mean("", &["a"]), "");
    }
}
