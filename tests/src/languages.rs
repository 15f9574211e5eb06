//! The table of `docs/reference/languages.md`: what it says is found, is found, and what it says is not, is not.

use serde_json::{Value, json};

use crate::server::Server;

struct Row {
    language: String,
    locales: Vec<String>,
    text: String,
    query: String,
    /// Matched text, in brackets; `None` if nothing is found.
    shown: Option<String>,
}

fn rows() -> Vec<Row> {
    let page = include_str!("../../docs/reference/languages.md");
    let lines = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| language "));
    let row = |line: &str| {
        let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let [language, locales, text, query, shown] = <[String; 5]>::try_from(cells).expect("five cells");
        let locales = locales.split(',').map(|code| code.trim_matches([' ', '`']).to_owned()).collect::<Vec<_>>();
        let locales = locales.into_iter().filter(|code| !code.is_empty()).collect();
        Row { language, locales, text, query, shown: (shown != "—").then_some(shown) }
    };
    lines.map(row).collect()
}

/// Rules for some of the searched fields decide for queries, too, and what is found does not depend on who names a language.
#[test]
fn words_are_found_with_any_source_of_their_language() {
    let server = Server::start();
    let rules = json!([
        {"attributePatterns": ["de"], "locales": ["deu"]},
        {"attributePatterns": ["sv"], "locales": ["swe"]},
        {"attributePatterns": ["ja"], "locales": ["jpn"]},
    ]);
    let documents = [
        ("de", "Der Lebensversicherungsvertrag"),
        ("sv", "Ångström är en enhet"),
        ("ja", "進撃の巨人"),
        ("any", "東京の大学で経済学を学ぶ"),
    ];
    for (field, text) in documents {
        server.set(field, json!({"localizedAttributes": rules}));
        server.add(field, json!([{"id": 1, field: text, "other": "a field without a rule"}]));
    }
    for (field, query) in [
        ("de", "Lebensversicherungsvertrag"),
        ("de", "versicherung"),
        ("sv", "Ångström"),
        ("sv", "field"),
        ("ja", "進撃"),
        ("ja", "巨人"),
        ("any", "大学"),
        ("any", "経済"),
    ] {
        assert_eq!(server.ids(field, json!({"q": query})), [1], "{query}");
    }
    for locales in [json!(["jpn"]), json!(["ja"])] {
        for (field, query) in [("ja", "進撃"), ("any", "大学"), ("any", "経済")] {
            assert_eq!(server.ids(field, json!({"q": query, "locales": locales})), [1], "{query}");
        }
    }
}

#[test]
fn each_line_of_the_table_is_true() {
    let server = Server::start();
    let rows = rows();
    assert!(rows.len() > 25);
    // An index per language that is named, one for those that are found out.
    let index = |row: &Row| format!("in-{}", row.locales.first().map_or("any", String::as_str));
    for row in &rows {
        if !row.locales.is_empty() {
            let rules = json!([{"attributePatterns": ["text"], "locales": row.locales}]);
            server.set(&index(row), json!({"localizedAttributes": rules}));
        }
    }
    for (id, row) in rows.iter().enumerate() {
        server.add(&index(row), json!([{"id": id, "text": row.text}]));
    }
    let mut wrong = Vec::new();
    for (id, row) in rows.iter().enumerate() {
        let mut query = json!({
            "q": row.query, "matchingStrategy": "all", "filter": [], "limit": 100,
            "attributesToHighlight": ["text"], "highlightPreTag": "[", "highlightPostTag": "]",
        });
        if !row.locales.is_empty() {
            query["locales"] = json!(row.locales);
        }
        let answer = server.search(&index(row), query);
        let hit = answer["hits"].as_array().expect("hits").iter().find(|hit| hit["id"] == id);
        let shown = hit.map(|hit| &hit["_formatted"]["text"]).and_then(Value::as_str).map(str::to_owned);
        if shown != row.shown {
            wrong.push(format!(
                "{}: {} in {}: expected {:?}, found {shown:?}",
                row.language, row.query, row.text, row.shown
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
