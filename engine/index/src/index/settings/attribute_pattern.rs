//! Patterns over attribute names, as `filterableAttributes` and `localizedAttributes` use them.

use serde::{Deserialize, Serialize};

/// A name with an optional `*` at its start and/or end; a `*` elsewhere is an ordinary character.
///
/// A pattern never covers the children of a name it matches: `a` does not match `a.b`, `a*` does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttributePattern(String);

impl AttributePattern {
    pub fn new(pattern: impl Into<String>) -> AttributePattern {
        AttributePattern(pattern.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether the pattern matches the whole `field` (dotted path).
    pub fn matches(&self, field: &str) -> bool {
        let pattern = self.0.as_str();
        if pattern == "*" {
            return true;
        }
        match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(rest), Some(_)) => {
                // Longer than one character, so the two stars are different ones.
                let middle = rest.strip_suffix('*').unwrap_or(rest);
                field.contains(middle)
            }
            (Some(suffix), None) => field.ends_with(suffix),
            (None, Some(prefix)) => field.starts_with(prefix),
            (None, None) => field == pattern,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_count_at_the_ends_only() {
        for (pattern, matching, other) in [
            ("genre", "genre", "genre.main"),
            ("cat_*", "cat_", "xcat_1"),
            ("*_id", "film_id", "film_ids"),
            ("*a.b*", "xa.by", "ab"),
            ("a*b", "a*b", "axb"),
            ("**", "anything", "\u{0}"),
        ] {
            let matcher = AttributePattern::new(pattern);
            assert!(matcher.matches(matching), "{pattern} should match {matching}");
            if pattern != "**" {
                assert!(!matcher.matches(other), "{pattern} should not match {other}");
            }
        }
        assert!(AttributePattern::new("*").matches("a.b"));
    }
}
