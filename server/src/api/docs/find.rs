//! The search of the manual: an index of its sections in memory, which the first search makes. It belongs to no database: nothing lists it,
//! stores it, or copies it.

use std::sync::Arc;
use std::time::Duration;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::storage::MemoryDirectory;
use lamina_engine::{Index, IndexOptions, Operation, Payload, SearchRequest, SettingsPatch, Upsert, search};
use lamina_protocol::wire::query_string::QueryString;
use serde_json::{Value, json};

use super::markdown::sections;
use super::pages::{also, contents, text};

/// Characters of a query: more than anyone types.
pub(super) const QUERY_CHARS_MAX: usize = 200;
/// Sections that a search returns.
const HITS_MAX: usize = 12;
/// Sections of one page among them.
const OF_PAGE_MAX: u32 = 2;
/// Characters of a section that a hit shows.
const LEAD_CHARS: usize = 140;
/// Several times what the sections take.
const INDEXING_BYTES: usize = 64 << 20;
/// Time of a search, far more than it takes.
const CUTOFF: Duration = Duration::from_millis(500);

/// Settings of the index. What readers call otherwise than the pages do are synonyms; words that say nothing in a question are stop words.
const SETTINGS: &str = include_str!("settings.json");

/// Reads the query of a request.
///
/// # Errors
/// `invalid_search_q`, or an unknown parameter.
pub(super) fn query(parameters: &QueryString) -> ApiResult<String> {
    let mut q = String::new();
    parameters.parameters(&["q"], |_, parameter| {
        let parameter = parameter.code(Code::InvalidSearchQ);
        let text = parameter.text()?;
        if text.chars().count() > QUERY_CHARS_MAX {
            return Err(parameter.invalid(format!("expected at most {QUERY_CHARS_MAX} characters")));
        }
        text.clone_into(&mut q);
        Ok(())
    })?;
    Ok(q)
}

/// Makes the index of all sections.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn index() -> ApiResult<Index> {
    let options = IndexOptions {
        indexing_memory_bytes: INDEXING_BYTES,
        indexing_threads: 1,
        background_merges: false,
        ..IndexOptions::default()
    };
    let failed = |error: &dyn std::error::Error| ApiError::internal(format!("The manual cannot be indexed: {error}"));
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).map_err(|error| failed(&error))?;
    let settings: SettingsPatch = serde_json::from_str(SETTINGS).map_err(|error| failed(&error))?;
    let upsert = Upsert::replacing(Payload::Bytes(documents().into()));
    let operations = [Operation::Settings(Box::new(settings)), Operation::Upsert(upsert)];
    for outcome in index.write(&operations).map_err(|error| failed(&error))? {
        outcome.map_err(|error| failed(&error))?;
    }
    Ok(index)
}

/// A line of JSON for each section. Titles of pages and what readers call them stand with the first one, so that it comes before its parts.
fn documents() -> Vec<u8> {
    let mut lines = Vec::new();
    for entry in contents() {
        let markdown = text(entry.path).expect("the contents list pages that are there");
        for (place, section) in sections(markdown).into_iter().enumerate() {
            let is_first = place == 0;
            let document = json!({
                "id": format!("{}-{place}", entry.path.replace('/', "_")),
                "path": entry.path,
                "anchor": section.anchor,
                "page": if is_first { entry.title } else { "" },
                "title": section.title,
                "also": if is_first { also(markdown) } else { "" },
                "text": section.text,
                "kind": entry.kind,
                "lead": section.prose.chars().take(LEAD_CHARS).collect::<String>(),
                "order": order(entry.kind, is_first),
            });
            lines.extend_from_slice(document.to_string().as_bytes());
            lines.push(b'\n');
        }
    }
    lines
}

/// Order of sections that are equally good: a task is looked for more often than an entry of a reference, and a page more often than its part.
fn order(kind: &str, is_first: bool) -> u32 {
    let of_kind = match kind {
        "How-to" => 0,
        "Start" => 1,
        "Explanation" => 2,
        _ => 3,
    };
    of_kind + if is_first { 0 } else { 4 }
}

/// The best sections, best first.
///
/// # Errors
/// When the index is damaged.
pub(super) fn find(index: &Index, q: &str) -> ApiResult<Value> {
    let failed = |error: &dyn std::error::Error| ApiError::internal(format!("The manual cannot be searched: {error}"));
    // A query without a word would list everything.
    if !q.contains(char::is_alphanumeric) {
        return Ok(json!({ "hits": [] }));
    }
    let snapshot = index.snapshot();
    let request = SearchRequest {
        query: Some(q.to_owned()),
        limit: HITS_MAX,
        distinct_limit: OF_PAGE_MAX,
        scores: false,
        cutoff: Some(CUTOFF),
        ..SearchRequest::default()
    };
    let found = search(&snapshot, &request).map_err(|error| failed(&error))?;
    let contents = contents();
    let mut hits = Vec::with_capacity(found.hits.len());
    for hit in found.hits {
        let stored = snapshot.document(hit.address).map_err(|error| failed(&error))?;
        let section: Value = serde_json::from_slice(&stored).map_err(|error| failed(&error))?;
        let field = |name: &str| section[name].as_str().unwrap_or_default();
        let anchor = field("anchor");
        let page = contents.iter().find(|entry| entry.path == field("path")).map_or("", |entry| entry.title);
        hits.push(json!({
            "path": format!("{}{}{anchor}", field("path"), if anchor.is_empty() { "" } else { "#" }),
            "page": page,
            "title": field("title"),
            "kind": field("kind"),
            "lead": field("lead"),
        }));
    }
    Ok(json!({ "hits": hits }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_bounded() {
        let read = |text: &str| query(&QueryString::parse(text)).map_err(|error| (error.code, error.message));
        assert_eq!(read(""), Ok(String::new()));
        assert_eq!(read("q=typo+tolerance"), Ok("typo tolerance".into()));
        let longest = "é".repeat(QUERY_CHARS_MAX);
        assert_eq!(read(&format!("q={longest}")), Ok(longest.clone()));
        let message = "Invalid value in parameter `q`: expected at most 200 characters".to_owned();
        assert_eq!(read(&format!("q={longest}e")), Err((Code::InvalidSearchQ, message)));
        assert_eq!(read("q=a&q=b").unwrap_err().0, Code::InvalidSearchQ);
        assert_eq!(read("limit=3").unwrap_err().0, Code::BadRequest);
    }
}
