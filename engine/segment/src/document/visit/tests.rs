//! What a visit of a document comes by.

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
    assert_eq!(parser.paths.name(PathId(2)), "b.c");
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
