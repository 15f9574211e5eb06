//! One pass over a document that hands out every leaf with its dotted path.

use super::DocumentError;
use super::number::Number;
use super::paths::{Paths, Reserved};
use super::scan::{DEPTH_MAX, RawString, Scanner, unescape};

/// A dotted path met by one [`DocumentParser`], numbered from 0 at first sight. A visitor keeps a plain vector
/// beside it; numbers of different parsers have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

impl PathId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a leaf stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: PathId,
    /// It is an element of an array, or of one inside of it: a `null` there does not make the path null. The fields of an
    /// object are none, wherever the object is.
    pub in_array: bool,
    /// A text-bearing leaf (string, number, boolean) was already given for this path in this document: the next
    /// words start after a hard gap.
    pub repeated: bool,
}

/// Receives a document's leaves in reading order. All methods but the strings and numbers default to nothing.
///
/// `_vectors` and `_geojson` at the top level are not descended; they come as raw JSON. `_geo` comes as raw JSON
/// *and* is descended, for its coordinates are fields like others.
pub trait DocumentVisitor {
    /// What stops the visit.
    type Error: From<DocumentError>;

    /// A path that this parser meets for the first time, before anything else of it. Numbers come in order.
    fn new_path(&mut self, path: PathId, name: &str) -> Result<(), Self::Error>;
    /// Whether anything at `path` or below it is of use, asked at each of its keys. What is not is passed over unread.
    fn wants(&mut self, path: PathId) -> bool {
        let _ = path;
        true
    }
    /// A key is there, whatever its value. A path may be met several times in a document (objects in arrays).
    fn key(&mut self, path: PathId, top_level: bool) -> Result<(), Self::Error> {
        let _ = (path, top_level);
        Ok(())
    }
    /// May be empty; [`DocumentVisitor::empty`] follows then.
    fn string(&mut self, leaf: Leaf, value: &str) -> Result<(), Self::Error>;
    fn number(&mut self, leaf: Leaf, value: Number<'_>) -> Result<(), Self::Error>;
    fn boolean(&mut self, leaf: Leaf, value: bool) -> Result<(), Self::Error>;
    fn null(&mut self, leaf: Leaf) -> Result<(), Self::Error> {
        let _ = leaf;
        Ok(())
    }
    /// The value is `""`, `[]` or `{}`.
    fn empty(&mut self, leaf: Leaf) -> Result<(), Self::Error> {
        let _ = leaf;
        Ok(())
    }
    /// Top-level `_geo`, any JSON value.
    fn geo(&mut self, json: &str) -> Result<(), Self::Error> {
        let _ = json;
        Ok(())
    }
    /// Top-level `_vectors`, any JSON value.
    fn vectors(&mut self, json: &str) -> Result<(), Self::Error> {
        let _ = json;
        Ok(())
    }
    /// Top-level `_geojson`, any JSON value.
    fn geojson(&mut self, json: &str) -> Result<(), Self::Error> {
        let _ = json;
        Ok(())
    }
}

/// Visits documents one after the other; keeps the paths it has met and its scratch space, so that a document
/// costs no allocation once its paths are known. One per thread.
#[derive(Debug, Default)]
pub struct DocumentParser {
    paths: Paths,
    text: String,
    key: String,
    number: Vec<u8>,
}

impl DocumentParser {
    pub fn new() -> DocumentParser {
        DocumentParser::default()
    }

    /// The dotted name of a path that was given to a visitor.
    pub fn path_name(&self, path: PathId) -> &str {
        self.paths.name(path)
    }

    /// Visits the object in `line`. Errors of the visitor end the visit; the parser can be used again.
    pub fn visit<V: DocumentVisitor>(&mut self, line: &[u8], visitor: &mut V) -> Result<(), V::Error> {
        let line = std::str::from_utf8(line).map_err(|error| DocumentError::Utf8 { at: error.valid_up_to() })?;
        self.paths.begin_document();
        let mut visit = Visit { parser: self, visitor, line, scanner: Scanner::new(line.as_bytes()) };
        visit.object(None, false, 1)?;
        if visit.scanner.peek().is_some() { Ok(visit.scanner.error()?) } else { Ok(()) }
    }
}

struct Visit<'v, 'd, V> {
    parser: &'v mut DocumentParser,
    visitor: &'v mut V,
    line: &'d str,
    scanner: Scanner<'d>,
}

impl<V: DocumentVisitor> Visit<'_, '_, V> {
    /// The fields of an object at `parent`, the document itself being `None`. The opening brace comes next.
    fn object(&mut self, parent: Option<PathId>, in_array: bool, depth: usize) -> Result<(), V::Error> {
        self.scanner.expect(b'{')?;
        if self.scanner.accept(b'}') {
            return match parent {
                Some(path) => self.visitor.empty(Leaf { path, in_array, repeated: false }),
                None => Ok(()),
            };
        }
        let mut hint = 0;
        loop {
            let key = self.scanner.key()?;
            self.field(parent, key, &mut hint, depth)?;
            if self.scanner.accept(b'}') {
                return Ok(());
            }
            self.scanner.expect(b',')?;
        }
    }

    fn field(
        &mut self,
        parent: Option<PathId>,
        key: RawString,
        hint: &mut usize,
        depth: usize,
    ) -> Result<(), V::Error> {
        let line = self.line;
        let DocumentParser { paths, key: scratch, .. } = &mut *self.parser;
        let key = text(line, key, scratch)?;
        if parent.is_none() && key == "_vectors" {
            let value = self.scanner.skip()?;
            return self.visitor.vectors(&line[value]);
        }
        let (child, is_new) = paths.child(parent, key, hint);
        if is_new {
            self.visitor.new_path(child.path, self.parser.paths.name(child.path))?;
        }
        if !self.visitor.wants(child.path) {
            self.scanner.skip()?;
            return Ok(());
        }
        self.visitor.key(child.path, parent.is_none())?;
        match child.reserved {
            Reserved::No => {}
            Reserved::GeoJson => {
                let value = self.scanner.skip()?;
                return self.visitor.geojson(&line[value]);
            }
            Reserved::Geo => {
                let value = self.scanner.clone().skip()?;
                self.visitor.geo(&line[value])?;
            }
        }
        self.value(child.path, false, depth)
    }

    /// The value that comes next, at `path`, inside `depth` objects and arrays.
    fn value(&mut self, path: PathId, in_array: bool, depth: usize) -> Result<(), V::Error> {
        let line = self.line;
        match self.scanner.peek() {
            Some(b'"') => {
                let string = self.scanner.string()?;
                let leaf = self.text_leaf(path, in_array);
                let value = text(line, string, &mut self.parser.text)?;
                self.visitor.string(leaf, value)?;
                if value.is_empty() { self.visitor.empty(leaf) } else { Ok(()) }
            }
            Some(b'{' | b'[') if depth >= DEPTH_MAX => Err(DocumentError::TooDeep { max: DEPTH_MAX }.into()),
            Some(b'{') => self.object(Some(path), in_array, depth + 1),
            Some(b'[') => self.array(path, in_array, depth + 1),
            Some(first @ (b't' | b'f')) => {
                let value = first == b't';
                self.scanner.literal(if value { b"true" } else { b"false" })?;
                let leaf = self.text_leaf(path, in_array);
                self.visitor.boolean(leaf, value)
            }
            Some(b'n') => {
                self.scanner.literal(b"null")?;
                self.visitor.null(Leaf { path, in_array, repeated: false })
            }
            _ => {
                let raw = self.scanner.number()?;
                let leaf = self.text_leaf(path, in_array);
                let number = Number::read(&line[raw], &mut self.parser.number);
                self.visitor.number(leaf, number)
            }
        }
    }

    fn array(&mut self, path: PathId, in_array: bool, depth: usize) -> Result<(), V::Error> {
        self.scanner.expect(b'[')?;
        if self.scanner.accept(b']') {
            return self.visitor.empty(Leaf { path, in_array, repeated: false });
        }
        loop {
            self.value(path, true, depth)?;
            if self.scanner.accept(b']') {
                return Ok(());
            }
            self.scanner.expect(b',')?;
        }
    }

    fn text_leaf(&mut self, path: PathId, in_array: bool) -> Leaf {
        Leaf { path, in_array, repeated: self.parser.paths.repeated(path) }
    }
}

/// The text of a string of `line`; in `scratch` when it has escapes.
fn text<'t>(line: &'t str, string: RawString, scratch: &'t mut String) -> Result<&'t str, DocumentError> {
    let raw = &line[string.range()];
    if !string.escaped {
        return Ok(raw);
    }
    scratch.clear();
    unescape(raw.as_bytes(), string.start, scratch)?;
    Ok(scratch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Writes down what it is given.
    #[derive(Default)]
    struct Notes {
        names: Vec<String>,
        notes: Vec<String>,
        /// Paths of no use.
        unwanted: Vec<&'static str>,
    }

    impl Notes {
        fn leaf(&mut self, kind: &str, leaf: Leaf, value: &str) -> Result<(), DocumentError> {
            let marks = [(leaf.in_array, "[]"), (leaf.repeated, "+")];
            let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            self.notes.push(format!("{kind} {}{marks} {value}", self.names[leaf.path.index()]).trim_end().to_owned());
            Ok(())
        }
    }

    impl DocumentVisitor for Notes {
        type Error = DocumentError;

        fn new_path(&mut self, path: PathId, name: &str) -> Result<(), DocumentError> {
            assert_eq!(path.index(), self.names.len());
            self.names.push(name.to_owned());
            Ok(())
        }
        fn wants(&mut self, path: PathId) -> bool {
            !self.unwanted.contains(&self.names[path.index()].as_str())
        }
        fn key(&mut self, path: PathId, top_level: bool) -> Result<(), DocumentError> {
            let mark = if top_level { "top " } else { "" };
            self.notes.push(format!("{mark}key {}", self.names[path.index()]));
            Ok(())
        }
        fn string(&mut self, leaf: Leaf, value: &str) -> Result<(), DocumentError> {
            self.leaf("string", leaf, value)
        }
        fn number(&mut self, leaf: Leaf, value: Number<'_>) -> Result<(), DocumentError> {
            assert!(value.value.is_finite());
            self.leaf("number", leaf, value.text)
        }
        fn boolean(&mut self, leaf: Leaf, value: bool) -> Result<(), DocumentError> {
            self.leaf("boolean", leaf, &value.to_string())
        }
        fn null(&mut self, leaf: Leaf) -> Result<(), DocumentError> {
            self.leaf("null", leaf, "")
        }
        fn empty(&mut self, leaf: Leaf) -> Result<(), DocumentError> {
            self.leaf("empty", Leaf { repeated: false, ..leaf }, "")
        }
        fn geo(&mut self, json: &str) -> Result<(), DocumentError> {
            self.notes.push(format!("geo {json}"));
            Ok(())
        }
        fn vectors(&mut self, json: &str) -> Result<(), DocumentError> {
            self.notes.push(format!("vectors {json}"));
            Ok(())
        }
        fn geojson(&mut self, json: &str) -> Result<(), DocumentError> {
            self.notes.push(format!("geojson {json}"));
            Ok(())
        }
    }

    fn notes(line: &str) -> Vec<String> {
        let mut notes = Notes::default();
        DocumentParser::new().visit(line.as_bytes(), &mut notes).unwrap();
        notes.notes
    }

    #[test]
    fn leaves_come_in_order_with_their_paths() {
        assert_eq!(
            notes(
                r#"{ "id" : 7, "t":"a\nb", "tags":["x",["y"],null,""], "o":{"n":null,"e":{},"l":[]}, "ok":true, "s":"" }"#
            ),
            [
                "top key id",
                "number id 7",
                "top key t",
                "string t a\nb",
                "top key tags",
                "string tags[] x",
                "string tags[]+ y",
                "null tags[]",
                "string tags[]+",
                "empty tags[]",
                "top key o",
                "key o.n",
                "null o.n",
                "key o.e",
                "empty o.e",
                "key o.l",
                "empty o.l",
                "top key ok",
                "boolean ok true",
                "top key s",
                "string s",
                "empty s",
            ]
        );
        assert_eq!(notes("{}"), Vec::<String>::new());
    }

    #[test]
    fn objects_in_arrays_share_paths() {
        assert_eq!(
            notes(r#"{"a":[{"b":"x","c":1},{"b":"y"}],"a.b":"z"}"#),
            [
                "top key a",
                "key a.b",
                "string a.b x",
                "key a.c",
                "number a.c 1",
                "key a.b",
                "string a.b+ y",
                "top key a.b",
                "string a.b+ z",
            ]
        );
    }

    #[test]
    fn reserved_names_are_so_at_the_top_only() {
        assert_eq!(
            notes(
                r#"{"_vectors":{"e":[1,2]},"_geo":{"lat":1.5,"lng":"2"},"_geojson":{"type":"Point"},"o":{"_vectors":[1]}}"#
            ),
            [
                r#"vectors {"e":[1,2]}"#,
                "top key _geo",
                r#"geo {"lat":1.5,"lng":"2"}"#,
                "key _geo.lat",
                "number _geo.lat 1.5",
                "key _geo.lng",
                "string _geo.lng 2",
                "top key _geojson",
                r#"geojson {"type":"Point"}"#,
                "top key o",
                "key o._vectors",
                "number o._vectors[] 1",
            ]
        );
    }

    #[test]
    fn what_is_of_no_use_is_passed_over() {
        let mut notes = Notes { unwanted: vec!["t", "o.n", "_geo", "_geojson"], ..Notes::default() };
        let line =
            r#"{"t":"a\"}","_geo":{"lat":1},"o":[{"n":[{"x":"]"}],"b":1},{"n":2}],"_geojson":{"type":"Point"},"z":[]}"#;
        DocumentParser::new().visit(line.as_bytes(), &mut notes).unwrap();
        assert_eq!(notes.notes, ["top key o", "key o.b", "number o.b 1", "top key z", "empty z"]);
    }

    #[test]
    fn a_parser_remembers_paths_but_not_documents() {
        let (mut parser, mut visitor) = (DocumentParser::new(), Notes::default());
        for line in [r#"{"a":"1","b":{"c":"2"}}"#, r#"{"b":{"c":"2"},"x":"3","a":"1"}"#, r#"{"x":"3"}"#] {
            parser.visit(line.as_bytes(), &mut visitor).unwrap();
        }
        assert_eq!(visitor.names, ["a", "b", "b.c", "x"]);
        assert_eq!(parser.path_name(PathId(2)), "b.c");
        assert!(visitor.notes.iter().all(|note| !note.contains('+')), "no text was there before in its document");
    }

    #[test]
    fn broken_documents_are_errors() {
        let visit = |line: &[u8]| DocumentParser::new().visit(line, &mut Notes::default());
        for line in [
            "",
            "1",
            "[]",
            "{",
            "{}{}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":nul}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":-}"#,
        ] {
            assert!(matches!(visit(line.as_bytes()), Err(DocumentError::Syntax { .. })), "{line}");
        }
        assert_eq!(visit(b"{\"a\":\"\xff\"}"), Err(DocumentError::Utf8 { at: 6 }));
        let deep = format!("{{\"a\":{}", "[".repeat(1_000_000));
        assert_eq!(visit(deep.as_bytes()), Err(DocumentError::TooDeep { max: DEPTH_MAX }));
        let deep = "{\"a\":".repeat(1_000_000);
        assert_eq!(visit(deep.as_bytes()), Err(DocumentError::TooDeep { max: DEPTH_MAX }));
        let fits = format!("{{\"a\":{}{}}}", "[".repeat(DEPTH_MAX - 1), "]".repeat(DEPTH_MAX - 1));
        assert_eq!(visit(fits.as_bytes()), Ok(()));
    }

    #[test]
    fn many_fields() {
        let fields: Vec<String> = (0..100_000).map(|n| format!("\"f{n}\":{n}")).collect();
        assert_eq!(notes(&format!("{{{}}}", fields.join(","))).len(), 200_000);
    }

    /// The same notes from a tree.
    fn expected(value: &Value) -> Vec<String> {
        fn walk(path: &str, value: &Value, in_array: bool, seen: &mut Vec<String>, out: &mut Vec<String>) {
            let array = if in_array { "[]" } else { "" };
            let mut leaf = |kind: &str, value: &str, is_text: bool| {
                let again = is_text && seen.iter().any(|seen| seen == path);
                if is_text {
                    seen.push(path.to_owned());
                }
                let note = format!("{kind} {path}{array}{} {value}", if again { "+" } else { "" });
                out.push(note.trim_end().to_owned());
            };
            match value {
                Value::Null => leaf("null", "", false),
                Value::Bool(value) => leaf("boolean", &value.to_string(), true),
                Value::Number(value) => leaf("number", &value.to_string(), true),
                Value::String(value) => {
                    leaf("string", value, true);
                    if value.is_empty() {
                        leaf("empty", "", false);
                    }
                }
                Value::Array(values) if values.is_empty() => leaf("empty", "", false),
                Value::Array(values) => values.iter().for_each(|value| walk(path, value, true, seen, out)),
                Value::Object(fields) if fields.is_empty() => leaf("empty", "", false),
                Value::Object(fields) => {
                    for (key, value) in fields {
                        let path = format!("{path}.{key}");
                        out.push(format!("key {path}"));
                        walk(&path, value, false, seen, out);
                    }
                }
            }
        }
        let (mut seen, mut out) = (Vec::new(), Vec::new());
        for (key, value) in value.as_object().unwrap() {
            out.push(format!("top key {key}"));
            walk(key, value, false, &mut seen, &mut out);
        }
        out
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            (-1000..1000, 0..4).prop_map(|(n, digits)| json!(f64::from(n) / 10f64.powi(digits) + 0.0)),
            any::<f64>().prop_map(|value| json!(value + 0.0)),
            "[a\"\\\\\n é😀]{0,4}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec(("[ab.\"é]{0,2}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_a_tree(documents in prop::collection::vec(prop::collection::vec(("[ab.\"]{0,2}", value()), 0..4), 1..4)) {
            let (mut parser, mut visitor) = (DocumentParser::new(), Notes::default());
            for fields in documents {
                let document = Value::Object(fields.into_iter().collect());
                visitor.notes.clear();
                parser.visit(document.to_string().as_bytes(), &mut visitor).unwrap();
                prop_assert_eq!(&visitor.notes, &expected(&document));
            }
        }

        #[test]
        fn any_line_is_safe(line in prop::collection::vec(prop_oneof![prop::sample::select(b"{}[]\",:a1e.-\\untf ".to_vec()), any::<u8>()], 0..40)) {
            let _ = DocumentParser::new().visit(&line, &mut Notes::default());
            let _ = crate::document::document_id(&line, "a.a");
            let _ = crate::document::infer_primary_key(&line);
            let _ = crate::document::merge_documents(&line, &line);
        }
    }
}
