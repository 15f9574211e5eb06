//! Changes of rows, put together until they are sent: of each row the last.

use std::collections::HashMap;

use serde_json::Value;

use crate::postgres::{Cell, Column, Kind, Types};

/// Change of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Document {
    /// The JSON of each column.
    Whole(Vec<Option<String>>),
    /// The same, but for columns that did not change.
    Part(Vec<Option<String>>),
    Gone,
}

/// Request bodies for some changes: lines of documents to replace, lines of documents to merge, and an array of ids
/// to delete. Each id is in at most one of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Bodies {
    pub(super) whole: Vec<u8>,
    pub(super) part: Vec<u8>,
    pub(super) gone: Vec<u8>,
}

/// Mapping of rows of a table to documents.
#[derive(Debug)]
pub(super) struct Shape {
    /// Names of fields, as JSON.
    names: Vec<String>,
    kinds: Vec<Kind>,
    /// Positions of the key columns.
    key: Vec<usize>,
    /// The field, as JSON, that has the id of a document whose key has several columns.
    id_field: Option<String>,
}

impl Shape {
    /// `id_field`: of keys of several columns. `None` where a column of the key is missing.
    pub(super) fn new(columns: &[Column], key: &[String], id_field: &str, types: &Types) -> Option<Shape> {
        let place = |name: &String| columns.iter().position(|column| column.name == *name);
        Some(Shape {
            names: columns.iter().map(|column| Value::from(column.name.as_str()).to_string()).collect(),
            kinds: columns.iter().map(|column| types.kind(column.kind)).collect(),
            key: key.iter().map(place).collect::<Option<_>>()?,
            id_field: (key.len() > 1).then(|| Value::from(id_field).to_string()),
        })
    }

    /// Reports whether a row with this number of columns fits.
    pub(super) fn fits(&self, columns: usize) -> bool {
        columns == self.names.len()
    }

    /// The texts of the key, in the order of its columns.
    pub(super) fn key_texts<'r>(&self, row: &'r [Cell]) -> Option<Vec<&'r str>> {
        let text = |place: &usize| match row.get(*place)? {
            Cell::Text(text) => Some(text.as_str()),
            _ => None,
        };
        self.key.iter().map(text).collect()
    }

    /// The id of the document, as JSON: the key, or, of several columns, an id that no other key has.
    pub(super) fn key(&self, row: &[Cell]) -> Option<String> {
        match &self.key_texts(row)?[..] {
            [text] => Some(self.kinds[self.key[0]].json(text)),
            texts => Some(Value::from(joined(texts)).to_string()),
        }
    }

    fn values(&self, row: &[Cell]) -> Vec<Option<String>> {
        let cells = row.iter().zip(&self.kinds);
        let value = |(cell, kind): (&Cell, &Kind)| match cell {
            Cell::Null => Some("null".to_owned()),
            Cell::Unchanged => None,
            Cell::Text(text) => Some(kind.json(text)),
        };
        cells.map(value).collect()
    }

    /// A line with what is there of the document with the id `key`.
    fn write(&self, key: &str, values: &[Option<String>], out: &mut Vec<u8>) {
        let fields = self.names.iter().zip(values);
        let fields = fields.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)));
        let fields = self.id_field.iter().map(|name| (name.as_str(), key)).chain(fields);
        for (place, (name, value)) in fields.enumerate() {
            out.push(if place == 0 { b'{' } else { b',' });
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.extend_from_slice(b"}\n");
    }

    /// A line of a whole row.
    pub(super) fn line(&self, key: &str, row: &[Cell], out: &mut Vec<u8>) {
        self.write(key, &self.values(row), out);
    }
}

/// One id of several values, different for different values: letters and digits stay, other bytes are `_` and two digits, and `-`
/// stands between.
fn joined(texts: &[&str]) -> String {
    let mut id = String::new();
    for (place, text) in texts.iter().enumerate() {
        if place > 0 {
            id.push('-');
        }
        for byte in text.bytes() {
            match byte.is_ascii_alphanumeric() {
                true => id.push(char::from(byte)),
                false => id.push_str(&format!("_{byte:02x}")),
            }
        }
    }
    id
}

/// Changes of rows that all have the same shape.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// In the order in which they were first changed.
    documents: Vec<(String, Document)>,
    places: HashMap<String, usize>,
    bytes: usize,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// About the size of what will be sent.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The row with this key is so.
    pub(super) fn put(&mut self, shape: &Shape, key: String, row: &[Cell]) {
        let values = shape.values(row);
        self.bytes += values.iter().flatten().map(|value| value.len() + 16).sum::<usize>();
        let document = match (values.iter().all(Option::is_some), self.of(&key)) {
            (true, _) => Document::Whole(values),
            (false, Some(Document::Whole(before))) => Document::Whole(over(before, values)),
            (false, Some(Document::Part(before))) => Document::Part(over(before, values)),
            (false, Some(Document::Gone) | None) => Document::Part(values),
        };
        self.set(key, document);
    }

    /// There is no row with this key.
    pub(super) fn remove(&mut self, key: String) {
        self.bytes += key.len() + 16;
        self.set(key, Document::Gone);
    }

    fn of(&self, key: &str) -> Option<&Document> {
        self.places.get(key).map(|place| &self.documents[*place].1)
    }

    fn set(&mut self, key: String, document: Document) {
        match self.places.get(&key) {
            Some(place) => self.documents[*place].1 = document,
            None => {
                self.places.insert(key.clone(), self.documents.len());
                self.documents.push((key, document));
            }
        }
    }

    /// Returns the bodies to send.
    pub(super) fn bodies(&self, shape: &Shape) -> Bodies {
        let mut bodies = Bodies::default();
        for (key, document) in &self.documents {
            match document {
                Document::Whole(values) => shape.write(key, values, &mut bodies.whole),
                Document::Part(values) => shape.write(key, values, &mut bodies.part),
                Document::Gone => {
                    bodies.gone.push(if bodies.gone.is_empty() { b'[' } else { b',' });
                    bodies.gone.extend_from_slice(key.as_bytes());
                }
            }
        }
        if !bodies.gone.is_empty() {
            bodies.gone.push(b']');
        }
        bodies
    }
}

/// New values over those before, which stay where nothing is new.
fn over(before: &[Option<String>], new: Vec<Option<String>>) -> Vec<Option<String>> {
    new.into_iter().zip(before).map(|(new, before)| new.or_else(|| before.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        let columns = [("id", 23), ("title", 25), ("note", 25)];
        let columns = columns.map(|(name, kind)| Column { name: name.to_owned(), kind, modifier: -1 });
        Shape::new(&columns, &["id".to_owned()], "", &Types::default()).unwrap()
    }

    fn row(cells: [&str; 3]) -> Vec<Cell> {
        let cell = |text: &str| match text {
            "-" => Cell::Unchanged,
            "∅" => Cell::Null,
            text => Cell::Text(text.to_owned()),
        };
        cells.map(cell).to_vec()
    }

    /// Returns the bodies for rows, and for removed keys.
    fn sent(changes: &[Result<[&str; 3], &str>]) -> [String; 3] {
        let (shape, mut batch) = (shape(), Batch::default());
        for change in changes {
            match change {
                Ok(cells) => {
                    let row = row(*cells);
                    batch.put(&shape, shape.key(&row).unwrap(), &row);
                }
                Err(key) => batch.remove((*key).to_owned()),
            }
        }
        let bodies = batch.bodies(&shape);
        [bodies.whole, bodies.part, bodies.gone].map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn the_last_change_of_a_row_counts() {
        assert_eq!(sent(&[]), ["", "", ""]);
        let [whole, part, gone] = sent(&[
            Ok(["2", "b", "∅"]),
            Ok(["1", "a", "n"]),
            Ok(["2", "c", "m"]),
            Err("3"),
            Ok(["4", "d", "-"]),
            Err("5"),
            Ok(["5", "e", "o"]),
            Ok(["6", "f", "p"]),
            Err("6"),
        ]);
        assert_eq!(
            whole,
            "{\"id\":2,\"title\":\"c\",\"note\":\"m\"}\n{\"id\":1,\"title\":\"a\",\"note\":\"n\"}\n{\"id\":5,\"title\":\"e\",\"note\":\"o\"}\n"
        );
        assert_eq!(part, "{\"id\":4,\"title\":\"d\"}\n");
        assert_eq!(gone, "[3,6]");
    }

    #[test]
    fn what_did_not_change_stays() {
        let [whole, part, _] = sent(&[Ok(["1", "a", "n"]), Ok(["1", "b", "-"])]);
        assert_eq!((whole.as_str(), part.as_str()), ("{\"id\":1,\"title\":\"b\",\"note\":\"n\"}\n", ""));
        let [whole, part, _] = sent(&[Ok(["1", "a", "-"]), Ok(["1", "-", "n"])]);
        assert_eq!((whole.as_str(), part.as_str()), ("", "{\"id\":1,\"title\":\"a\",\"note\":\"n\"}\n"));
    }

    #[test]
    fn keys_of_several_columns_are_one_id() {
        let columns = [("shop", 25), ("number", 23), ("price", 23)];
        let columns = columns.map(|(name, kind)| Column { name: name.to_owned(), kind, modifier: -1 });
        let key = ["number", "shop"].map(str::to_owned);
        let shape = Shape::new(&columns, &key, "rowId", &Types::default()).unwrap();
        let text = |text: &str| Cell::Text(text.to_owned());
        let row = [text("a b"), text("-7"), Cell::Unchanged];
        assert_eq!(shape.key_texts(&row), Some(vec!["-7", "a b"]), "in the order of the key");
        let mut batch = Batch::default();
        batch.put(&shape, shape.key(&row).unwrap(), &row);
        batch.remove(shape.key(&[text("é"), text("1"), Cell::Null]).unwrap());
        let bodies = batch.bodies(&shape);
        assert_eq!(bodies.part, b"{\"rowId\":\"_2d7-a_20b\",\"shop\":\"a b\",\"number\":-7}\n");
        assert_eq!(bodies.gone, br#"["1-_c3_a9"]"#);
        let ids = [["a-b", "c"], ["a", "b-c"], ["a_2db", "c"], ["", "a-b-c"]].map(|texts| joined(&texts));
        let different: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{ids:?}");
    }

    #[test]
    fn shapes_have_a_key() {
        let columns = [Column { name: "a\"b".to_owned(), kind: 25, modifier: -1 }];
        assert!(Shape::new(&columns, &["id".to_owned()], "", &Types::default()).is_none());
        let shape = Shape::new(&columns, &["a\"b".to_owned()], "", &Types::default()).unwrap();
        let mut line = Vec::new();
        let row = [Cell::Text("x".to_owned())];
        shape.line(&shape.key(&row).unwrap(), &row, &mut line);
        assert_eq!(line, b"{\"a\\\"b\":\"x\"}\n");
        assert!(shape.fits(1));
        assert!(!shape.fits(2));
        assert_eq!(shape.key(&[Cell::Null]), None);
    }
}
