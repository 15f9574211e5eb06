//! What functions do with texts whose result may be much larger than they are: the language would look at the size of the
//! result only when it is there.

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, NativeCallContext, Position};

type Result<T> = std::result::Result<T, Box<EvalAltResult>>;

/// Longest list, together with all that it holds.
pub(super) const ELEMENTS_MAX: usize = 100_000;
/// Longest JSON that a function parses: what it makes takes some forty times as many bytes.
const JSON_BYTES_MAX: usize = 64 << 10;

fn too_large<T>(what: &str) -> Result<T> {
    Err(EvalAltResult::ErrorDataTooLarge(what.to_owned(), Position::NONE).into())
}

fn replace(context: &NativeCallContext<'_>, text: &mut ImmutableString, wanted: &str, by: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let found = text.matches(wanted).count();
    let length = text.len().saturating_add(found.saturating_mul(by.len().saturating_sub(wanted.len())));
    if length > context.engine().max_string_size() {
        return too_large("Length of string");
    }
    *text = text.replace(wanted, by).into();
    Ok(())
}

/// A list of the pieces, or of the text alone where nothing divides it.
fn list<'t>(pieces: impl Iterator<Item = &'t str>) -> Result<Array> {
    let mut list = Array::new();
    for piece in pieces {
        if list.len() == ELEMENTS_MAX {
            return too_large("Size of array/BLOB");
        }
        list.push(piece.into());
    }
    Ok(list)
}

fn most(segments: i64) -> usize {
    usize::try_from(segments).unwrap_or(0).max(1)
}

fn split(text: &str, by: &str, segments: usize) -> Result<Array> {
    if text.is_empty() { list(std::iter::once(text)) } else { list(text.splitn(segments, by)) }
}

fn split_rev(text: &str, by: &str, segments: usize) -> Result<Array> {
    if text.is_empty() { list(std::iter::once(text)) } else { list(text.rsplitn(segments, by)) }
}

/// Takes the place of the functions of these names.
pub(super) fn register(engine: &mut Engine) {
    type Text<'t> = &'t mut ImmutableString;
    type Context<'c> = NativeCallContext<'c>;
    engine
        .register_fn("replace", |context: Context<'_>, text: Text<'_>, wanted: &str, by: &str| {
            replace(&context, text, wanted, by)
        })
        .register_fn("replace", |context: Context<'_>, text: Text<'_>, wanted: &str, by: char| {
            replace(&context, text, wanted, by.encode_utf8(&mut [0; 4]))
        })
        .register_fn("replace", |context: Context<'_>, text: Text<'_>, wanted: char, by: &str| {
            replace(&context, text, wanted.encode_utf8(&mut [0; 4]), by)
        })
        .register_fn(
            "split",
            |text: Text<'_>| {
                if text.is_empty() { list(std::iter::once("")) } else { list(text.split_whitespace()) }
            },
        )
        .register_fn("split", |text: Text<'_>, by: &str| split(text, by, usize::MAX))
        .register_fn("split", |text: Text<'_>, by: &str, segments: i64| split(text, by, most(segments)))
        .register_fn("split", |text: Text<'_>, by: char| split(text, by.encode_utf8(&mut [0; 4]), usize::MAX))
        .register_fn("split", |text: Text<'_>, by: char, segments: i64| {
            split(text, by.encode_utf8(&mut [0; 4]), most(segments))
        })
        .register_fn("split_rev", |text: Text<'_>, by: &str| split_rev(text, by, usize::MAX))
        .register_fn("split_rev", |text: Text<'_>, by: &str, segments: i64| split_rev(text, by, most(segments)))
        .register_fn("split_rev", |text: Text<'_>, by: char| split_rev(text, by.encode_utf8(&mut [0; 4]), usize::MAX))
        .register_fn("split_rev", |text: Text<'_>, by: char, segments: i64| {
            split_rev(text, by.encode_utf8(&mut [0; 4]), most(segments))
        })
        .register_fn("to_chars", |text: Text<'_>| {
            if text.chars().count() > ELEMENTS_MAX {
                return too_large("Size of array/BLOB");
            }
            Ok(text.chars().map(Dynamic::from).collect::<Array>())
        })
        .register_fn("parse_json", |context: Context<'_>, text: Text<'_>| -> Result<Dynamic> {
            if text.len() > JSON_BYTES_MAX {
                return too_large("Length of string");
            }
            context.engine().parse_json(text.as_str(), true).map(Dynamic::from)
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_divided_as_the_language_says() {
        let (mut ours, theirs) = (Engine::new(), Engine::new());
        register(ours.set_max_string_size(1 << 20));
        for text in ["", "a", "a,b,,c", " a  b ", ",", "äöü,ß"] {
            for call in [
                "split()",
                "split(\",\")",
                "split(\"\")",
                "split(',')",
                "split(\",\", 2)",
                "split(',', 2)",
                "split(\"\", 2)",
                "split(\",\", 0)",
                "split(\",\", -1)",
                "split_rev(\",\")",
                "split_rev(',')",
                "split_rev(\",\", 2)",
                "split_rev(',', 1)",
                "split(1)",
                "to_chars()",
            ] {
                let call = format!("\"{text}\".{call}.to_string()");
                assert_eq!(ours.eval::<String>(&call).unwrap(), theirs.eval::<String>(&call).unwrap(), "{call}");
            }
            for arguments in ["\",\", \"--\"", "\"\", \"-\"", "',', \"\"", "\",\", 'x'", "',', 'x'", "\"a\", \"\""] {
                let script = format!("let t = \"{text}\"; t.replace({arguments}); t");
                assert_eq!(ours.eval::<String>(&script).unwrap(), theirs.eval::<String>(&script).unwrap(), "{script}");
            }
        }
    }
}
