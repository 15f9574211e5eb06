//! Experiments: what compares an index with a variant of it.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::identifier::{check_index_uid, decode_path_segment};
use super::json::{At, required};
use super::schema::{exactly, index_uid, one_of, or_null};
use super::search::{Place, SearchQuery, field_schema, variant_fields};

const FIELDS: [&str; 6] = ["indexUid", "variant", "method", "share", "goal", "windowSeconds"];
const METHODS: [(&str, Method); 2] = [("interleave", Method::Interleave), ("split", Method::Split)];
const GOALS: [(&str, Goal); 2] = [("click", Goal::Click), ("conversion", Goal::Conversion)];
/// A day: goals that come later are rare.
const WINDOW_SECONDS_MAX: u64 = 86_400;
const DEFAULT_WINDOW_SECONDS: u32 = 1800;

/// Ranking that an index is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Variant {
    /// The ranking of another index, which has the same documents.
    Index {
        /// Uid of the index that ranks.
        index_uid: String,
    },
    /// The index, searched with other parameters.
    Parameters {
        /// In place of those of a request.
        parameters: Map<String, Value>,
    },
}

/// Way to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// Each user sees hits of both in one list.
    Interleave,
    /// Each user sees one of them.
    Split,
}

/// Event that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Goal {
    Click,
    Conversion,
}

/// Definition of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// Uid of the index that users search.
    pub index_uid: String,
    pub variant: Variant,
    pub method: Method,
    /// Share of the users that take part.
    pub share: f64,
    pub goal: Goal,
    /// Time after a search in which events count.
    pub window_seconds: u32,
}

/// The id in a path.
///
/// # Errors
/// `invalid_experiment_id`
pub fn id_in_path(segment: &str) -> ApiResult<String> {
    let id = decode_path_segment(segment);
    // What an index could be called.
    check_index_uid(&id).map_err(|_| {
        let message =
            "An id of an experiment has 1 to 400 characters: letters, digits, hyphens (-) and underscores (_).";
        ApiError::new(Code::InvalidExperimentId, message)
    })?;
    Ok(id)
}

/// The body of PUT `/experiments/{id}`.
///
/// # Errors
/// `invalid_experiment` for the first problem in the order of the text.
pub fn definition(body: &Value) -> ApiResult<Definition> {
    let root = At::root(body).code(Code::InvalidExperiment);
    let (mut uid, mut of_variant, mut method) = (None, None, None);
    let (mut share, mut goal, mut window_seconds) = (1.0, Goal::Click, DEFAULT_WINDOW_SECONDS);
    root.given(&FIELDS, &FIELDS[..3], |field, value| {
        match field {
            "indexUid" => uid = Some(value.index_uid()?),
            "variant" => of_variant = Some(variant(&value)?),
            "method" => method = Some(value.one_of(&METHODS)?),
            "share" => share = value.number()?,
            "goal" => goal = value.one_of(&GOALS)?,
            _ => {
                let seconds = value.positive_integer()?;
                let range = 1..=WINDOW_SECONDS_MAX;
                let seconds = u32::try_from(seconds).ok().filter(|seconds| range.contains(&u64::from(*seconds)));
                let refused = || value.invalid(format_args!("it is not from 1 to {WINDOW_SECONDS_MAX}."));
                window_seconds = seconds.ok_or_else(refused)?;
            }
        }
        Ok(())
    })?;
    if !(share > 0.0 && share <= 1.0) {
        return Err(root.error(format!("Invalid value at `.share`: {share} is not above 0 and at most 1.")));
    }
    let code = Code::InvalidExperiment;
    Ok(Definition {
        index_uid: required(uid, &root, "indexUid", code)?,
        variant: required(of_variant, &root, "variant", code)?,
        method: required(method, &root, "method", code)?,
        share,
        goal,
        window_seconds,
    })
}

fn variant(at: &At<'_>) -> ApiResult<Variant> {
    let mut read = None;
    at.given(&["indexUid", "parameters"], &[], |field, value| {
        let one = match field {
            "indexUid" => Variant::Index { index_uid: value.index_uid()? },
            _ => {
                let parameters = value.object()?.clone();
                value.given(variant_fields(), &[], |_, _| Ok(()))?;
                SearchQuery::default().changed(&parameters)?;
                Variant::Parameters { parameters }
            }
        };
        match read.replace(one) {
            Some(_) => Err(at.invalid("it has either `indexUid` or `parameters`.")),
            None => Ok(()),
        }
    })?;
    read.filter(|variant| !matches!(variant, Variant::Parameters { parameters } if parameters.is_empty()))
        .ok_or_else(|| at.invalid("it has neither `indexUid` nor `parameters`."))
}

impl SearchQuery {
    /// Returns this query with other parameters.
    ///
    /// # Errors
    /// The first thing wrong with them, with the code of the parameter.
    pub fn changed(&self, parameters: &Map<String, Value>) -> ApiResult<SearchQuery> {
        let mut query = self.clone();
        for (name, value) in parameters {
            query.read_field_of(Place::Variant, name, At::root(value))?;
        }
        Ok(query)
    }
}

/// The schema of the body.
pub fn schema() -> Value {
    let parameters = exactly(variant_fields().iter().map(|name| (*name, field_schema(name))), &[]);
    let of_index = exactly([("indexUid", index_uid())], &["indexUid"]);
    let of_parameters = exactly([("parameters", parameters)], &["parameters"]);
    exactly(
        [
            ("indexUid", index_uid()),
            ("variant", json!({ "anyOf": [of_index, of_parameters] })),
            ("method", one_of(&METHODS.map(|(name, _)| name))),
            ("share", or_null(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }))),
            ("goal", or_null(one_of(&GOALS.map(|(name, _)| name)))),
            ("windowSeconds", or_null(json!({ "type": "integer", "minimum": 1, "maximum": WINDOW_SECONDS_MAX }))),
        ],
        &FIELDS[..3],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        json!({
            "indexUid": "films", "variant": { "parameters": { "matchingStrategy": "any" } }, "method": "interleave",
            "share": 0.2, "goal": "conversion", "windowSeconds": 60
        })
    }

    #[test]
    fn a_definition_is_read_as_it_is_shown() {
        let read = definition(&whole()).unwrap();
        assert_eq!(json!(read), whole());
        assert_eq!(serde_json::from_value::<Definition>(json!(read)).unwrap(), read);
        let little = json!({"indexUid": "films", "variant": {"indexUid": "films-2"}, "method": "split"});
        let read = definition(&little).unwrap();
        assert_eq!((read.share, read.goal, read.window_seconds), (1.0, Goal::Click, 1800));
        assert_eq!(read.variant, Variant::Index { index_uid: "films-2".to_owned() });
    }

    #[test]
    fn what_is_no_definition_is_refused() {
        for (name, value) in [
            ("indexUid", json!("no index!")),
            ("indexUid", json!(null)),
            ("variant", json!({})),
            ("variant", json!({"parameters": {}})),
            ("variant", json!({"parameters": {"limit": 5}})),
            ("variant", json!({"indexUid": "a", "parameters": {"matchingStrategy": "any"}})),
            ("variant", json!("a")),
            ("method", json!("both")),
            ("share", json!(0)),
            ("share", json!(1.1)),
            ("share", json!(-1)),
            ("share", json!("0.5")),
            ("goal", json!("view")),
            ("windowSeconds", json!(0)),
            ("windowSeconds", json!(86_401)),
            ("windowSeconds", json!(u64::MAX)),
            ("users", json!(1)),
        ] {
            let mut body = whole();
            body[name] = value.clone();
            assert_eq!(definition(&body).unwrap_err().code, Code::InvalidExperiment, "{name} {value}");
        }
        let mut body = whole();
        body["variant"]["parameters"]["matchingStrategy"] = json!("most");
        assert_eq!(definition(&body).unwrap_err().code, Code::InvalidSearchMatchingStrategy);
        assert_eq!(definition(&json!([])).unwrap_err().code, Code::InvalidExperiment);
        for id in ["", "a b", "a%2Fb", &"x".repeat(401)] {
            assert_eq!(id_in_path(id).unwrap_err().code, Code::InvalidExperimentId, "{id}");
        }
    }
}
