//! Language codes that clients may name: two or three letters.

use lamina_engine::text::Language;

/// Every accepted code: all of two letters, then all of three.
pub fn accepted() -> Vec<&'static str> {
    let two = Language::ALL.iter().filter_map(|language| language.short_code());
    two.chain(Language::ALL.iter().map(|language| language.code())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_messages_starts_as_documented() {
        let accepted = accepted();
        assert_eq!(accepted.len(), 139);
        assert_eq!(accepted[..8], ["af", "ak", "am", "ar", "az", "be", "bn", "bg"]);
        assert!(accepted.iter().all(|code| Language::parse(code).is_some()));
    }
}
