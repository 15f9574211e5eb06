//! Judged queries: what should be found.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use lamina_base::text_file::text_without_mark;
use serde_json::{Map, Value};
use thiserror::Error;

/// A query and the documents that answer it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    /// Names the question in runs and reports: as it is given, or its line.
    pub(super) id: String,
    pub(super) q: String,
    /// Grade by document id; larger is better.
    pub(super) relevant: BTreeMap<String, f64>,
    /// The grade that a document without a judgement is assumed to have. Judgements of clicks set it, for documents that were not shown.
    pub(super) unjudged: f64,
    /// Parameters for this query only.
    pub(super) search: Map<String, Value>,
}

/// Fault of a file of judgements.
#[derive(Debug, Error)]
pub(super) enum JudgementError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("line {line}: {reason}")]
    Line { line: usize, reason: String },
    #[error("it has no query")]
    Empty,
}

impl Judgement {
    /// The grade of a document, or the one that is assumed.
    pub(super) fn grade(&self, id: &str) -> f64 {
        self.relevant.get(id).copied().unwrap_or(self.unjudged)
    }

    fn read(number: usize, line: &str) -> Result<Judgement, String> {
        let mut fields: Map<String, Value> = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let q = match fields.remove("q") {
            Some(Value::String(q)) => q,
            _ => return Err("`q` must be a string".to_owned()),
        };
        let id = match fields.remove("id") {
            None => number.to_string(),
            Some(id @ (Value::String(_) | Value::Number(_))) => id_text(&id),
            Some(_) => return Err("`id` must be a string or a number".to_owned()),
        };
        let relevant = match fields.remove("relevant") {
            Some(Value::Object(grades)) => {
                let grade = |(id, grade): (String, Value)| match grade.as_f64() {
                    Some(grade) if grade >= 0.0 => Ok((id, grade)),
                    _ => Err(format!("the grade of `{id}` must be a number that is not negative")),
                };
                grades.into_iter().map(grade).collect::<Result<_, _>>()?
            }
            Some(Value::Array(ids)) => ids.iter().map(|id| (id_text(id), 1.0)).collect(),
            _ => return Err("`relevant` must be an object of grades or an array of ids".to_owned()),
        };
        let search = match fields.remove("search") {
            None => Map::new(),
            Some(Value::Object(search)) => search,
            Some(_) => return Err("`search` must be an object".to_owned()),
        };
        let unjudged = match fields.remove("unjudged").map(|grade| grade.as_f64()) {
            None => 0.0,
            Some(Some(grade)) if grade >= 0.0 => grade,
            Some(_) => return Err("`unjudged` must be a number that is not negative".to_owned()),
        };
        // What `lamina judge` says about its grades.
        if fields.remove("evidence").is_some_and(|evidence| !evidence.is_object()) {
            return Err("`evidence` must be an object".to_owned());
        }
        match fields.keys().next() {
            Some(unknown) => Err(format!("unknown field `{unknown}`: expected `id`, `q`, `relevant`, `search`")),
            None => Ok(Judgement { id, q, relevant, unjudged, search }),
        }
    }
}

/// The id of a document as text.
pub(super) fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// Reads a line for each query; blank lines are passed over.
///
/// # Errors
/// The first line that is none.
pub(super) fn read_judgements(input: impl BufRead) -> Result<Vec<Judgement>, JudgementError> {
    let mut judgements = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let line = line?;
        let line = if number == 1 { text_without_mark(&line) } else { &line };
        if !line.trim().is_empty() {
            let judgement = Judgement::read(number, line);
            judgements.push(judgement.map_err(|reason| JudgementError::Line { line: number, reason })?);
        }
    }
    if judgements.is_empty() { Err(JudgementError::Empty) } else { Ok(judgements) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::golden_cases as cases;
    use super::*;

    #[test]
    fn a_mark_in_front_is_no_part_of_the_first_line() {
        let read = read_judgements("\u{feff}{\"q\": \"a\", \"relevant\": [1]}\r\n".as_bytes()).unwrap();
        assert_eq!(read[0].grade("1"), 1.0);
    }

    #[test]
    fn grades_are_those_of_the_line() {
        for case in cases("read") {
            let read = read_judgements(case["text"].as_str().unwrap().as_bytes()).unwrap();
            assert_eq!(read.len(), 1, "{case}");
            assert_eq!(json!(read[0].relevant), json!(grades_of(&case)), "{case}");
        }
    }

    fn grades_of(case: &Value) -> BTreeMap<&str, f64> {
        let grades = case["relevant"].as_object().unwrap();
        grades.iter().map(|(id, grade)| (id.as_str(), grade.as_f64().unwrap())).collect()
    }

    #[test]
    fn a_line_has_an_id_and_parameters() {
        let text = "{\"q\": \"a\", \"relevant\": {\"1\": 3}}\n\n{\"q\": \"b\", \"relevant\": [2], \"search\": {\"filter\": \"y\"}}\n";
        let read = read_judgements(text.as_bytes()).unwrap();
        assert_eq!((read[0].grade(&id_text(&json!(1))), read[0].grade("2")), (3.0, 0.0));
        assert_eq!((read[1].id.as_str(), &read[1].search["filter"]), ("3", &json!("y")));
    }

    #[test]
    fn mistakes_name_their_line() {
        let refused = |text: &str| read_judgements(text.as_bytes()).unwrap_err().to_string();
        for case in cases("refused") {
            let error = refused(case["text"].as_str().unwrap());
            assert!(error.starts_with(case["error"].as_str().unwrap()), "{error}: {case}");
        }
        assert_eq!(refused(""), "it has no query");
        assert!(refused("{\"q\":\"a\",\"relevant\":[],\"id\":[]}").contains("`id` must be a string or a number"));
    }
}
