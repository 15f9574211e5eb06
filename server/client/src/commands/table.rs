//! Values of documents in lines of a terminal.

use serde_json::Value;

/// A value as people read it: without quotes, lists with commas, on one line.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Null => "—".to_owned(),
        other => other.to_string(),
    }
}

/// At most so many characters; control characters would steer the terminal.
pub(super) fn cut(text: &str, width: usize) -> String {
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_on_one_line() {
        assert_eq!(shown(&json!(["a\n b", 1, null, {"c": true}])), "a b, 1, —, {\"c\":true}");
        assert_eq!(cut("äbcdef", 4), "äbc…");
        assert_eq!(cut("a\u{1b}[1mb", 9), "a[1mb");
    }
}
