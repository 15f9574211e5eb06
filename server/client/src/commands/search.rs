//! `lamina search`: one search, as a table or as JSON.

use std::io::IsTerminal;

use clap::Args;
use lamina_base::console::bold;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::table::{cut, shown};
use super::{CommandError, index_of};
use crate::client::{Client, ServerArgs};

/// Columns of a line that is no terminal, and the most that a line has.
const WIDTH: usize = 80;
/// Number of fields shown of a document, unless fields are named.
const FIELDS_SHOWN: usize = 6;

/// Search an index of a running server.
#[derive(Debug, Clone, Args)]
pub struct SearchArgs {
    /// The query; several words are one query.
    #[arg(value_name = "QUERY")]
    words: Vec<String>,
    /// The index; not needed if the server has only one.
    #[arg(short, long, value_name = "UID")]
    index: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
    /// Number of hits to show.
    #[arg(short, long, value_name = "COUNT", default_value_t = 10)]
    limit: u32,
    /// A filter: `genre = Horror AND year > 1980`.
    #[arg(short, long, value_name = "CONDITION")]
    filter: Option<String>,
    /// The sort order, with commas: `year:desc,title:asc`.
    #[arg(short, long, value_name = "ORDER", value_delimiter = ',')]
    sort: Vec<String>,
    /// Show facet counts of these fields.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    facets: Vec<String>,
    /// Show only these fields of each document.
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    fields: Vec<String>,
    /// Any other search parameter, its value as JSON: `matchingStrategy="any"`. Can be repeated.
    #[arg(long = "with", value_name = "NAME=JSON", value_parser = parameter)]
    parameters: Vec<(String, Value)>,
    /// Print the server's response unchanged, and errors as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// A text needs no quotes.
fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=JSON")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| json!(value))))
}

fn body(args: &SearchArgs) -> Value {
    let mut body = Map::new();
    body.insert("q".into(), json!(args.words.join(" ")));
    body.insert("limit".into(), json!(args.limit));
    let lists = [("sort", &args.sort), ("facets", &args.facets), ("attributesToRetrieve", &args.fields)];
    body.extend(lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| (name.into(), json!(list))));
    if let Some(filter) = &args.filter {
        body.insert("filter".into(), json!(filter));
    }
    body.extend(args.parameters.iter().cloned());
    Value::Object(body)
}

pub(super) async fn run(args: &SearchArgs) -> Result<String, CommandError> {
    let client = Client::new(&args.server)?;
    let uid = index_of(&client, args.index.as_ref()).await?;
    let route = client.route(&["indexes", &uid, "search"]);
    let answer = client.call(Method::POST, route, Some(&body(args))).await?;
    if args.json {
        return Ok(format!("{answer:#}\n"));
    }
    Ok(text(&answer, std::io::stdout().is_terminal()))
}

fn text(answer: &Value, is_terminal: bool) -> String {
    let mut lines = Vec::new();
    let hits = answer["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (number, hit) in (1..).zip(hits) {
        let Value::Object(fields) = hit else { continue };
        let mut fields = fields.iter().filter(|(name, _)| !name.starts_with('_'));
        // The first field is most often the id, and the second one what people call it.
        let head: Vec<String> = fields.by_ref().take(2).map(|(_, value)| shown(value)).collect();
        let head = format!("{number:>3}  {}", cut(&head.join("  "), WIDTH - 5));
        lines.push(if is_terminal { bold(&head) } else { head });
        for (name, value) in fields.take(FIELDS_SHOWN) {
            lines.push(format!("     {}", cut(&format!("{name}: {}", shown(value)), WIDTH - 5)));
        }
    }
    if let Some(facets) = answer["facetDistribution"].as_object().filter(|facets| !facets.is_empty()) {
        for (name, counts) in facets {
            let counts = counts.as_object().into_iter().flatten();
            let mut counts: Vec<(&String, u64)> =
                counts.map(|(value, count)| (value, count.as_u64().unwrap_or(0))).collect();
            counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
            let counts: Vec<String> = counts.into_iter().map(|(value, count)| format!("{value} {count}")).collect();
            lines.push(cut(&format!("{name}: {}", counts.join(", ")), WIDTH));
        }
    }
    let total = answer["estimatedTotalHits"].as_u64().or(answer["totalHits"].as_u64()).unwrap_or(hits.len() as u64);
    let noun = if total == 1 { "hit" } else { "hits" };
    lines.push(format!("{total} {noun} in {} ms", answer["processingTimeMs"]));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_table_that_fits() {
        let answer = json!({
            "hits": [{"id": 1, "title": "Alien", "cast": ["A", "B"], "overview": "x\n".repeat(200), "_geo": {"lat": 1}}],
            "facetDistribution": {"genre": {"Action": 1, "Horror": 3}},
            "estimatedTotalHits": 1,
            "processingTimeMs": 2,
        });
        let text = text(&answer, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1]), ("  1  1  Alien", "     cast: A, B"));
        assert!(lines[2].starts_with("     overview: x x x"), "{}", lines[2]);
        assert!(lines[2].ends_with('…'), "{}", lines[2]);
        assert_eq!(lines[3..], ["genre: Horror 3, Action 1", "1 hit in 2 ms"]);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
    }

    #[test]
    fn parameters_are_json_or_text() {
        assert_eq!(parameter("a=1"), Ok(("a".into(), json!(1))));
        assert_eq!(parameter("matchingStrategy=any"), Ok(("matchingStrategy".into(), json!("any"))));
        assert_eq!(parameter("a={\"b\":[]}"), Ok(("a".into(), json!({"b": []}))));
        assert!(parameter("a").is_err());
    }
}
