//! What JSON takes once it is read.

use lamina_engine::document::string_end;

/// A text of more bytes may be a filter, whose syntax tree takes many times as much as its text.
const LONG_TEXT_BYTES: usize = 16 << 10;

/// Bytes that the values in `json` take at most, roughly, and their text: each value takes `value_bytes`, and so does each
/// part of a long text that may be a filter. A look at every byte that is no text; broken JSON has some number too.
pub fn json_heap_bytes(json: &[u8], value_bytes: usize) -> usize {
    let mut nodes: usize = 1;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                let start = at + 1;
                at = (string_end(json, start) + 1).min(json.len());
                if at - start > LONG_TEXT_BYTES {
                    nodes += parts(&json[start..at]);
                }
            }
            b',' | b':' | b'[' | b'{' => {
                nodes += 1;
                at += 1;
            }
            _ => at += 1,
        }
    }
    nodes.saturating_mul(value_bytes).saturating_add(json.len())
}

/// Values that a text amounts to if it is a filter: two for each `OR` and `AND`, which join its conditions, and one for each comma of
/// a list. Prose has few of them.
fn parts(text: &[u8]) -> usize {
    let joints =
        text.windows(2).filter(|two| two.eq_ignore_ascii_case(b"or") || two.eq_ignore_ascii_case(b"nd")).count();
    2 * joints + memchr::memchr_iter(b',', text).count()
}

#[cfg(test)]
mod tests {
    use super::super::costs::VALUE_BYTES;
    use super::*;

    #[test]
    fn values_count_and_texts_do_not() {
        let nodes = |json: &str| json_heap_bytes(json.as_bytes(), 1) - json.len();
        assert_eq!(nodes("1"), 1);
        assert_eq!(nodes(r#""a,b:[{\",\\""#), 1);
        assert_eq!(nodes(r#"{"q":[[],[]]}"#), 7);
        assert_eq!(nodes(r#""never ends \"#), 1);
        let filter = format!("\"{}\"", vec!["a = 1"; 10_000].join(" OR "));
        assert_eq!(nodes(&filter), 1 + 2 * 9_999);
        let prose = format!("\"{}\"", "Some words of a text, which is long. ".repeat(10_000));
        assert!(nodes(&prose) < prose.len() / 10);
        let encoded = format!("\"{}==\"", "a".repeat(100_000));
        assert!(nodes(&encoded) < 10);
        let many = format!("[{}]", vec!["[]"; 100_000].join(","));
        assert!(json_heap_bytes(many.as_bytes(), VALUE_BYTES) > 100_000 * 2 * VALUE_BYTES);
    }
}
