//! A request for documents like another one.

use lamina_base::error::{ApiResult, Code};
use serde_json::Value;

use super::identifier::document_id;
use super::json::{self, At};
use super::query_string::{self, QueryString};
use super::search::DEFAULT_LIMIT;

/// The parameters, checked for shape and bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarQuery {
    /// The document that the others are like.
    pub id: String,
    /// Whose vectors are compared.
    pub embedder: String,
    /// Hits skipped.
    pub offset: usize,
    /// Hits returned at most.
    pub limit: usize,
    /// An expression or arrays of them.
    pub filter: Option<Value>,
    /// `None`: all that are displayed.
    pub attributes_to_retrieve: Option<Vec<String>>,
    /// Whether hits show their vectors.
    pub retrieve_vectors: bool,
    /// Whether hits show their score.
    pub show_ranking_score: bool,
    /// Whether hits show how their score came about.
    pub show_ranking_score_details: bool,
    /// Whether the answer says how long each step took.
    pub show_performance_details: bool,
    /// From 0 to 1.
    pub ranking_score_threshold: Option<f64>,
}

/// The fields, in the order in which messages list them.
pub const FIELDS: [&str; 11] = [
    "id",
    "offset",
    "limit",
    "filter",
    "embedder",
    "attributesToRetrieve",
    "retrieveVectors",
    "showRankingScore",
    "showRankingScoreDetails",
    "showPerformanceDetails",
    "rankingScoreThreshold",
];

impl SimilarQuery {
    fn empty() -> SimilarQuery {
        SimilarQuery {
            id: String::new(),
            embedder: String::new(),
            offset: 0,
            limit: DEFAULT_LIMIT,
            filter: None,
            attributes_to_retrieve: None,
            retrieve_vectors: false,
            show_ranking_score: false,
            show_ranking_score_details: false,
            show_performance_details: false,
            ranking_score_threshold: None,
        }
    }

    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<SimilarQuery> {
        use Code::*;
        let (mut id, mut embedder, mut query) = (None, None, SimilarQuery::empty());
        let root = At::root(body);
        root.given(&FIELDS, &["id", "embedder"], |name, field| {
            match name {
                "id" => {
                    let field = field.code(InvalidSimilarId);
                    id = Some(document_id(field.value()).map_err(|reason| field.invalid(reason))?);
                }
                "embedder" => embedder = Some(field.code(InvalidSimilarEmbedder).string()?),
                "offset" => query.offset = size(field.code(InvalidSimilarOffset).positive_integer()?),
                "limit" => query.limit = size(field.code(InvalidSimilarLimit).positive_integer()?),
                "filter" => query.filter = field.optional(|f| Ok(f.value().clone()))?,
                "attributesToRetrieve" => {
                    query.attributes_to_retrieve =
                        field.code(InvalidSimilarAttributesToRetrieve).optional(|f| f.strings())?;
                }
                "retrieveVectors" => query.retrieve_vectors = field.code(InvalidSimilarRetrieveVectors).boolean()?,
                "showRankingScore" => {
                    query.show_ranking_score = field.code(InvalidSimilarShowRankingScore).boolean()?;
                }
                "showRankingScoreDetails" => {
                    query.show_ranking_score_details = field.code(InvalidSimilarShowRankingScoreDetails).boolean()?;
                }
                "showPerformanceDetails" => {
                    query.show_performance_details = field.code(InvalidSimilarShowPerformanceDetails).boolean()?;
                }
                _ => {
                    let field = field.code(InvalidSimilarRankingScoreThreshold);
                    query.ranking_score_threshold = field.optional(|f| {
                        let number = f.number()?;
                        threshold(number).map_err(|reason| f.invalid(reason))
                    })?;
                }
            }
            Ok(())
        })?;
        query.id = json::required(id, &root, "id", BadRequest)?;
        query.embedder = json::required(embedder, &root, "embedder", BadRequest)?;
        Ok(query)
    }

    /// Reads a query string.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_parameters(parameters: &QueryString) -> ApiResult<SimilarQuery> {
        use Code::*;
        let (mut id, mut embedder, mut query) = (None, None, SimilarQuery::empty());
        parameters.parameters(&FIELDS, |name, parameter| {
            match name {
                "id" => {
                    let parameter = parameter.code(InvalidSimilarId);
                    let value = Value::String(parameter.text()?.to_owned());
                    id = Some(document_id(&value).map_err(|reason| parameter.invalid(reason))?);
                }
                "embedder" => embedder = Some(parameter.code(InvalidSimilarEmbedder).text()?.to_owned()),
                "offset" => query.offset = size(parameter.code(InvalidSimilarOffset).positive_integer()?),
                "limit" => query.limit = size(parameter.code(InvalidSimilarLimit).positive_integer()?),
                "filter" => {
                    let text = parameter.code(InvalidSimilarFilter).text()?.to_owned();
                    query.filter = Some(super::search::filter_parameter(&text));
                }
                "attributesToRetrieve" => {
                    let parameter = parameter.code(InvalidSimilarAttributesToRetrieve);
                    query.attributes_to_retrieve = Some(parameter.strings()?);
                }
                "retrieveVectors" => {
                    query.retrieve_vectors = parameter.code(InvalidSimilarRetrieveVectors).boolean()?;
                }
                "showRankingScore" => {
                    query.show_ranking_score = parameter.code(InvalidSimilarShowRankingScore).boolean()?;
                }
                "showRankingScoreDetails" => {
                    query.show_ranking_score_details =
                        parameter.code(InvalidSimilarShowRankingScoreDetails).boolean()?;
                }
                "showPerformanceDetails" => {
                    query.show_performance_details = parameter.code(InvalidSimilarShowPerformanceDetails).boolean()?;
                }
                _ => {
                    let parameter = parameter.code(InvalidSimilarRankingScoreThreshold);
                    let number = threshold(parameter.number()?).map_err(|reason| parameter.invalid(reason))?;
                    query.ranking_score_threshold = Some(number);
                }
            }
            Ok(())
        })?;
        query.id = query_string::required(id, "id", BadRequest)?;
        query.embedder = query_string::required(embedder, "embedder", BadRequest)?;
        Ok(query)
    }
}

fn threshold(number: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(super::search::out_of_range("rankingScoreThreshold")) }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bodies() {
        let refused = |body: Value| {
            let error = SimilarQuery::from_body(&body).unwrap_err();
            (error.code, error.message)
        };
        assert_eq!(refused(json!({"id": 1})), (Code::BadRequest, "Missing field `embedder`".into()));
        assert_eq!(refused(json!({"embedder": "e"})), (Code::BadRequest, "Missing field `id`".into()));
        assert_eq!(
            refused(json!({"id": "http://x"})),
            (
                Code::InvalidSimilarId,
                "Invalid value at `.id`: Document identifier `\"http://x\"` is invalid. A document identifier can be \
                 of type integer or string, only composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and \
                 underscores (_), and can not be more than 511 bytes."
                    .into()
            )
        );
        for (name, code) in [
            ("embedder", Code::InvalidSimilarEmbedder),
            ("offset", Code::InvalidSimilarOffset),
            ("limit", Code::InvalidSimilarLimit),
            ("attributesToRetrieve", Code::InvalidSimilarAttributesToRetrieve),
            ("retrieveVectors", Code::InvalidSimilarRetrieveVectors),
            ("showRankingScore", Code::InvalidSimilarShowRankingScore),
            ("showRankingScoreDetails", Code::InvalidSimilarShowRankingScoreDetails),
            ("showPerformanceDetails", Code::InvalidSimilarShowPerformanceDetails),
            ("rankingScoreThreshold", Code::InvalidSimilarRankingScoreThreshold),
            ("unknown", Code::BadRequest),
        ] {
            assert_eq!(refused(json!({"id": 1, name: -1.5})).0, code, "{name}");
        }
        let read = SimilarQuery::from_body(&json!({"id": 143, "embedder": "e", "limit": 3})).unwrap();
        assert_eq!((read.id.as_str(), read.limit), ("143", 3));
    }

    #[test]
    fn query_strings() {
        let read = |text: &str| SimilarQuery::from_parameters(&QueryString::parse(text));
        assert_eq!(read("id=1").unwrap_err().message, "Missing parameter `embedder`");
        assert_eq!(read("id=1&embedder=e&limit=x").unwrap_err().code, Code::InvalidSimilarLimit);
        assert_eq!(read("id=a/b&embedder=e").unwrap_err().code, Code::InvalidSimilarId);
        assert_eq!(read("id=1&embedder=e&filter=n%3E1").unwrap().filter, Some(json!("n>1")));
    }
}
