//! One document, before and after.

use lamina_base::memory::held_by_thread;
use lamina_engine::document::{Members, document_id, members};
use lamina_engine::index::settings::VECTORS_FIELD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::function::{EditionError, Function};
use super::value::{is_same, to_dynamic, to_json};

/// A document as it is stored, with its vectors.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The JSON object, on one line.
    pub line: &'a [u8],
    /// The dotted primary key.
    pub primary_key: &'a str,
}

/// Effect of a function on a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edition {
    /// The document stays as it is.
    Kept,
    /// The document is now this line, without its end.
    Changed(Vec<u8>),
    /// The document with this id is to be deleted.
    Deleted(String),
}

impl Document<'_> {
    /// Lets the function edit the document. What it leaves alone keeps its text and its place; fields that it adds come
    /// last. `_vectors` is not shown to it, but can be set. To be called inside of [`super::on_a_thread`].
    pub fn edit(&self, function: &Function) -> Result<Edition, EditionError> {
        let before = held_by_thread();
        let edition = self.edited(function)?;
        let made = match &edition {
            Edition::Kept => 0,
            Edition::Changed(line) => line.capacity(),
            Edition::Deleted(id) => id.capacity(),
        };
        function.leaves(held_by_thread() - before - made as i64)?;
        Ok(edition)
    }

    fn edited(&self, function: &Function) -> Result<Edition, EditionError> {
        let Members(fields) = serde_json::from_slice(self.line)?;
        let (vectors, fields): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name == VECTORS_FIELD);
        let before: Vec<Value> =
            fields.iter().map(|(_, text)| serde_json::from_str(text.get())).collect::<Result<_, _>>()?;
        let shown = fields.iter().zip(&before).map(|((name, _), value)| ((&**name).into(), to_dynamic(value)));
        let after = function.run(shown.collect(), self.line.len())?;
        let id = document_id(self.line, self.primary_key).map_err(|_| EditionError::PrimaryKey)?;
        if after.is_unit() {
            return Ok(Edition::Deleted(id.to_string()));
        }
        let mut after = after.flatten().try_cast::<rhai::Map>().ok_or(EditionError::NotAnObject)?;

        let mut line = Line::default();
        let mut is_changed = false;
        for ((name, text), value) in fields.iter().zip(&before) {
            match after.remove(&**name) {
                Some(now) if is_same(value, &now) => line.add(name, text.get()),
                Some(now) => {
                    is_changed = true;
                    line.add(name, &to_json(now)?.to_string());
                }
                None => is_changed = true,
            }
        }
        if after.is_empty() && !is_changed {
            return Ok(Edition::Kept);
        }
        let has_own_vectors = after.contains_key(VECTORS_FIELD);
        for (name, value) in after {
            line.add(&name, &to_json(value)?.to_string());
        }
        if let (false, Some((_, vectors))) = (has_own_vectors, vectors.first()) {
            line.add_kept_vectors(vectors)?;
        }
        let line = line.finish();
        match document_id(&line, self.primary_key) {
            Ok(now) if now == id => Ok(Edition::Changed(line)),
            _ => Err(EditionError::PrimaryKey),
        }
    }
}

/// An object under construction.
struct Line(Vec<u8>);

impl Default for Line {
    fn default() -> Line {
        Line(b"{".to_vec())
    }
}

impl Line {
    fn add(&mut self, name: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(Value::from(name).to_string().as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(value.as_bytes());
    }

    /// Vectors that were made from the document are left out: they are made again if its text has changed.
    fn add_kept_vectors(&mut self, vectors: &RawValue) -> Result<(), EditionError> {
        #[derive(Deserialize)]
        struct Made {
            #[serde(default)]
            regenerate: bool,
        }
        let embedders = members(vectors.get())?;
        let mut kept = Line::default();
        for (name, value) in &embedders {
            let is_made = serde_json::from_str::<Made>(value.get()).is_ok_and(|made| made.regenerate);
            if !is_made {
                kept.add(name, value.get());
            }
        }
        if kept.0.len() > 1 {
            self.add(VECTORS_FIELD, &String::from_utf8_lossy(&kept.finish()));
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edit(line: &str, text: &str) -> Result<Edition, String> {
        let context = json!({"suffix": "!"});
        let function = Function::new(text, context.as_object()).expect("it compiles");
        let document = Document { line: line.as_bytes(), primary_key: "id" };
        let edited = super::super::on_a_thread(|| document.edit(&function).map_err(|error| error.to_string()));
        edited.expect("no panic")
    }

    fn changed(line: &str) -> Result<Edition, String> {
        Ok(Edition::Changed(line.as_bytes().to_vec()))
    }

    #[test]
    fn what_is_left_alone_keeps_its_text_and_place() {
        let line = r#"{"z":1.50,"id":7,"title":"up","big":18446744073709551615,"a":[1,{"b":null}]}"#;
        assert_eq!(edit(line, ""), Ok(Edition::Kept));
        assert_eq!(edit(line, "doc.title = doc.title; doc.a = [1, #{b: ()}];"), Ok(Edition::Kept));
        assert_eq!(
            edit(line, "doc.title = doc.title.to_upper() + context.suffix; doc.added = doc.a[0] + 1;"),
            changed(r#"{"z":1.50,"id":7,"title":"UP!","big":18446744073709551615,"a":[1,{"b":null}],"added":2}"#)
        );
        assert_eq!(edit(r#"{"id":1,"x":2}"#, "doc.remove(\"x\")"), changed(r#"{"id":1}"#));
    }

    #[test]
    fn nothing_in_the_place_of_a_document_deletes_it() {
        assert_eq!(edit(r#"{"id":"a"}"#, "doc = ()"), Ok(Edition::Deleted("a".into())));
        assert_eq!(edit(r#"{"id":1}"#, "doc = 3"), Err("Document editions must keep documents as objects".to_owned()));
    }

    #[test]
    fn the_primary_key_stays() {
        for text in ["doc.id = 2", "doc.remove(\"id\")", "doc = #{}", "doc.id = [1]"] {
            let expected = "Document editions cannot modify a document's primary key";
            assert_eq!(edit(r#"{"id":1}"#, text), Err(expected.to_owned()), "{text}");
        }
        assert_eq!(edit(r#"{"id":1}"#, "doc.id = \"1\""), changed(r#"{"id":"1"}"#), "the same document");
    }

    #[test]
    fn made_vectors_are_made_again_and_given_ones_stay() {
        let line = r#"{"id":1,"_vectors":{"made":{"embeddings":[[1.0]],"regenerate":true},"own":{"embeddings":[[2.0]],"regenerate":false},"none":null}}"#;
        assert_eq!(edit(line, "doc.remove(\"_vectors\")"), Ok(Edition::Kept), "it does not see them");
        assert_eq!(
            edit(line, "doc.x = 1"),
            changed(r#"{"id":1,"x":1,"_vectors":{"own":{"embeddings":[[2.0]],"regenerate":false},"none":null}}"#)
        );
        assert_eq!(edit(line, "doc._vectors = #{own: [3.0]}"), changed(r#"{"id":1,"_vectors":{"own":[3.0]}}"#));
    }

    #[test]
    fn failures_say_what_happened() {
        let failure = edit(r#"{"id":1}"#, "throw \"no good\"").unwrap_err();
        assert_eq!(
            failure,
            "Document edition runtime error encountered while running the function: Runtime error: no good (line 1, \
             position 1)"
        );
        assert!(edit(r#"{"id":1}"#, "doc.f = || 1").unwrap_err().contains("cannot be kept in a document"));
    }
}
