//! `/sample`: films to try the server with, which the console and `lamina demo` load through the routes of every other index.

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::tasks::blocking;
use serde_json::json;
use warp::reply::Response;

use crate::http::json_text;
use crate::http::routing::{Answer, Route};

/// A key that may add documents may have some.
pub(super) const ROUTES: &[Route] = &[Route::get("/sample", Action::DocumentsAdd)
    .about("4,000 films to try the server with", Answer::Ok("Sample"))
    .run(|_| Box::pin(show()))];

/// Lines of JSON, compressed: `scripts/sample/README.md`.
const FILMS: &[u8] = include_bytes!("../../../scripts/sample/films.ndjson.zst");

async fn show() -> ApiResult<Response> {
    Ok(json_text(blocking(sample).await?))
}

/// The settings of the index, searches to begin with, and the documents, as the other routes take each of them.
fn sample() -> Vec<u8> {
    let films = zstd::decode_all(FILMS).expect("the file inside the program is whole");
    let around = json!({
        "indexUid": "films",
        "primaryKey": "id",
        "settings": {
            "filterableAttributes": ["genres", "cast", "year"],
            "sortableAttributes": ["year"],
        },
        "searches": [
            { "q": "wizrad of oz" },
            { "q": "space", "filter": "year > 1980", "facets": ["genres"] },
            { "q": "harrison ford replicants" },
        ],
    });
    let mut text = around.to_string().into_bytes();
    text.pop();
    text.extend_from_slice(b",\"documents\":[");
    let lines = films.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (place, line) in lines.enumerate() {
        if place > 0 {
            text.push(b',');
        }
        text.extend_from_slice(line);
    }
    text.extend_from_slice(b"]}");
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_values_of_facets_are_names() {
        let sample: Value = serde_json::from_slice(&sample()).unwrap();
        let films = sample["documents"].as_array().unwrap();
        assert_eq!(films.len(), 4000);
        let values = |field: &str| -> BTreeSet<&str> {
            films.iter().flat_map(|film| film[field].as_array().unwrap()).map(|value| value.as_str().unwrap()).collect()
        };
        let (cast, genres) = (values("cast"), values("genres"));
        assert!(genres.len() < 50, "{genres:?}");
        for name in cast.iter().chain(&genres) {
            let is_name = name.chars().any(char::is_alphabetic) && !name.starts_with('(') && !name.ends_with(')');
            assert!(is_name, "{name}");
            assert!(!name.contains("  "), "{name}");
        }
        assert!(!cast.contains("voices of"));
        let ids: BTreeSet<u64> = films.iter().map(|film| film["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), films.len());
    }
}
