use super::*;

fn shown(document: &str, displayed: &[&str], retrieved: &[&str]) -> String {
    let projection =
        Projection { displayed: Selection::new(displayed), retrieved: Selection::new(retrieved), with_vectors: false };
    let mut out = Vec::new();
    projection.write(document.as_bytes(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn whole_documents_pass_through_untouched() {
    let document = r#"{ "b": 1.50, "a" : [1 , 2] }"#;
    assert_eq!(shown(document, &["*"], &["*"]), document);
}

#[test]
fn attributes_are_selected_by_both_lists() {
    let document = r#"{"id":1,"title":"x","a":{"b":1,"c":2}}"#;
    assert_eq!(shown(document, &["*"], &["title", "nope"]), r#"{"title":"x"}"#);
    assert_eq!(shown(document, &["title", "id"], &["*"]), r#"{"id":1,"title":"x"}"#);
    assert_eq!(shown(document, &["id"], &["title"]), "{}");
    assert_eq!(shown(document, &["a.b", "id"], &["a"]), r#"{"a":{"b":1}}"#);
    assert_eq!(shown(document, &["a.b"], &["a.c"]), "{}");
    assert_eq!(shown(document, &["*"], &[]), "{}");
    assert_eq!(shown(document, &[], &["*"]), "{}");
    assert_eq!(shown(document, &["*"], &["a"]), r#"{"a":{"b":1,"c":2}}"#);
    assert_eq!(shown(document, &["*"], &["title.x"]), "{}");
}

#[test]
fn dotted_selectors_go_through_arrays_and_literal_keys() {
    assert_eq!(shown(r#"{"a":[{"b":1,"c":2},{"c":3},4,[{"b":5}]]}"#, &["*"], &["a.b"]), r#"{"a":[{"b":1},[{"b":5}]]}"#);
    assert_eq!(shown(r#"{"a.b":1,"a":{"b":{"c":2}}}"#, &["*"], &["a.b"]), r#"{"a.b":1,"a":{"b":{"c":2}}}"#);
    assert_eq!(shown(r#"{"a":{"c":1}}"#, &["*"], &["a.b"]), "{}");
    assert_eq!(shown(r#"{"k\"\u00e9":1,"x":2}"#, &["*"], &["k\"é"]), r#"{"k\"é":1}"#);
}

#[test]
fn vectors_are_shown_on_request_only() {
    let document = r#"{"id":1,"_vectors":{"e":[1]}}"#;
    assert_eq!(shown(document, &["*"], &["*"]), r#"{"id":1}"#);
    assert_eq!(shown(document, &["*"], &["_vectors"]), "{}");
    let projection = Projection { displayed: Selection::All, retrieved: Selection::All, with_vectors: true };
    let mut out = Vec::new();
    projection.write(document.as_bytes(), &mut out).unwrap();
    assert_eq!(out, document.as_bytes());
}

#[test]
fn fields_are_appended_to_objects() {
    let mut object = b"{ \"a\":1 } ".to_vec();
    append_field(&mut object, "_geoDistance", b"12");
    assert_eq!(object, br#"{ "a":1,"_geoDistance":12}"#);
    let mut empty = b"{}".to_vec();
    append_field(&mut empty, "x", b"null");
    assert_eq!(empty, br#"{"x":null}"#);
}

#[test]
fn damaged_documents_are_errors() {
    let projection = Projection { displayed: Selection::All, retrieved: Selection::Nothing, with_vectors: false };
    for damaged in [&b"{\"a\":"[..], b"[1]", b"\xff"] {
        assert!(projection.write(damaged, &mut Vec::new()).is_err());
    }
}
