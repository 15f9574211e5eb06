use super::*;

fn add(query: &str) -> Result<AddParameters, (Code, String)> {
    AddParameters::from_query(&QueryString::parse(query)).map_err(|error| (error.code, error.message))
}

#[test]
fn csv_delimiters_are_one_ascii_character() {
    assert_eq!(add("csvDelimiter=%3B").unwrap().csv_delimiter, Some(b';'));
    assert_eq!(
        add("csvDelimiter=doggo").unwrap_err(),
        (
            Code::InvalidDocumentCsvDelimiter,
            "Invalid value in parameter `csvDelimiter`: expected a string of one character, but found the \
             following string of 5 characters: `doggo`"
                .to_owned()
        )
    );
    assert!(add("csvDelimiter=").unwrap_err().1.ends_with("but found an empty string"));
    assert!(add("csvDelimiter=☃").unwrap_err().1.ends_with("must be an ascii character. Found: `☃`"));
    assert!(add("csvDelimiter=%22").unwrap_err().1.ends_with("quotes and line breaks. Found: `\\\"`"));
    assert!(add("csvDelimiter=%0A").unwrap_err().1.ends_with("quotes and line breaks. Found: `\\n`"));
    let parameters = add("csvDelimiter=;").unwrap();
    assert_eq!(parameters.format(Some("application/json")).unwrap_err().status(), 415);
    assert_eq!(parameters.format(Some("text/csv")).unwrap().format, PayloadFormat::Csv { delimiter: b';' });
}

#[test]
fn content_types() {
    let parameters = AddParameters::default();
    assert_eq!(parameters.format(Some("application/x-ndjson; charset=utf-8")).unwrap().name, "ndjson");
    assert_eq!(parameters.format(None).unwrap_err().code, Code::MissingContentType);
    assert_eq!(parameters.format(Some("text/plain")).unwrap_err().code, Code::InvalidContentType);
}

#[test]
fn skip_creation_ignores_case() {
    assert!(add("skipCreation=TRUE").unwrap().skip_creation);
    assert_eq!(add("skipCreation=x").unwrap_err().0, Code::InvalidSkipCreation);
}

#[test]
fn lists_from_both_forms_agree() {
    let query = "offset=1&limit=2&fields=a,b&ids=1,x&filter=a%20%3D%201&sort=a:asc,_geoPoint(1,2):desc";
    let body = json!({
        "offset": 1, "limit": 2, "fields": ["a", "b"], "ids": [1, "x"], "filter": "a = 1",
        "sort": ["a:asc", "_geoPoint(1,2):desc"]
    });
    let from_query = ListQuery::from_query(&QueryString::parse(query)).unwrap();
    assert_eq!(from_query, ListQuery::from_body(&body).unwrap());
    assert_eq!(from_query.ids.unwrap(), ["1", "x"]);
}

#[test]
fn an_empty_text_names_no_field() {
    let list = ListQuery::from_query(&QueryString::parse("fields=&ids=")).unwrap();
    assert_eq!((list.fields, list.ids), (Some(vec![]), Some(vec![])));
}

#[test]
fn bad_ids_are_named_by_their_place() {
    let error = ListQuery::from_body(&json!({"ids": ["a", "x/y"]})).unwrap_err();
    assert!(error.message.starts_with("In `.ids[1]`: Document identifier `\"x/y\"` is invalid. "));
}

#[test]
fn deletions_need_a_filter() {
    let code = |body: Value| filter_to_delete(&body).map_err(|error| error.code);
    assert_eq!(code(json!({})), Err(Code::MissingDocumentFilter));
    for empty in [json!(""), json!("  "), json!([])] {
        assert_eq!(code(json!({ "filter": empty })), Err(Code::InvalidDocumentFilter));
    }
    assert_eq!(code(json!({"filter": "a = 1"})), Ok(json!("a = 1")));
    assert_eq!(code(json!({"other": 1})), Err(Code::BadRequest));
}

#[test]
fn editions_need_a_function() {
    let code = |body: Value| edit(&body).map_err(|error| error.code);
    assert_eq!(code(json!({"context": {}})), Err(Code::MissingDocumentEditionFunction));
    assert_eq!(code(json!({"function": 1})), Err(Code::InvalidDocumentEditionFunctionFilter));
    assert_eq!(code(json!({"function": "", "context": []})), Err(Code::InvalidDocumentEditionContext));
    assert_eq!(code(json!({"function": "", "filter": " "})), Err(Code::InvalidDocumentFilter));
    assert_eq!(code(json!({"function": "", "doc": 1})), Err(Code::BadRequest));
    let asked = edit(&json!({"function": "doc = ()", "context": null, "filter": ["a = 1"]})).unwrap();
    assert_eq!((asked.context, asked.filter), (None, Some(json!(["a = 1"]))));
}

#[test]
fn deletions_need_a_filter_that_asks_for_something() {
    assert_eq!(filter_to_delete(&json!({})).unwrap_err().code, Code::MissingDocumentFilter);
    for empty in [json!(null), json!(" "), json!([])] {
        let refused = filter_to_delete(&json!({ "filter": empty })).unwrap_err();
        assert_eq!(refused.code, Code::InvalidDocumentFilter, "{empty}");
    }
}

#[test]
fn ids_are_texts_or_json() {
    assert_eq!(ids_to_delete(br#"["a", 1, true]"#).unwrap(), ["a", "1", "true"]);
    let error = ids_to_delete(b"\"doggo\"").unwrap_err();
    assert_eq!(
        error.message,
        "Json deserialize error: invalid type: string \"doggo\", expected a sequence at line 1 column 7"
    );
}

#[test]
fn long_lists_are_refused_with_the_code_of_the_parameter() {
    for (name, most, code) in [("fields", 1000, Code::InvalidDocumentFields), ("sort", 100, Code::InvalidDocumentSort)]
    {
        ListQuery::from_body(&json!({name: vec!["a"; most]})).unwrap();
        assert_eq!(ListQuery::from_body(&json!({name: vec!["a"; most + 1]})).unwrap_err().code, code);
        let text = format!("{name}={}", vec!["a:asc"; most + 1].join(","));
        assert_eq!(ListQuery::from_query(&QueryString::parse(&text)).unwrap_err().code, code);
    }
}
