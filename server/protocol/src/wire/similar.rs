//! A request for documents like another one.

use lamina_base::error::{ApiResult, Code};
use serde_json::Value;

use super::identifier::document_id;
use super::json::{self, At};
use super::query_string::{self, QueryString};
use super::search::{Place, SearchQuery, similar_fields};

/// The parameters, checked for shape and bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarQuery {
    /// The document that the others are like.
    pub id: String,
    /// Embedder whose vectors are compared.
    pub embedder: String,
    /// Parameters that select the hits and what is shown of them.
    pub query: SearchQuery,
}

impl SimilarQuery {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<SimilarQuery> {
        let (mut id, mut embedder, mut query) = (None, None, SearchQuery::default());
        let root = At::root(body);
        root.given(similar_fields(), &["id", "embedder"], |name, field| {
            match name {
                "id" => {
                    let field = field.code(Code::InvalidSimilarId);
                    id = Some(document_id(field.value()).map_err(|reason| field.invalid(reason))?);
                }
                "embedder" => embedder = Some(field.code(Code::InvalidSimilarEmbedder).string()?),
                _ => query.read_field_of(Place::Similar, name, field)?,
            }
            Ok(())
        })?;
        let id = json::required(id, &root, "id", Code::BadRequest)?;
        let embedder = json::required(embedder, &root, "embedder", Code::BadRequest)?;
        Ok(SimilarQuery { id, embedder, query })
    }

    /// Reads a query string.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_parameters(parameters: &QueryString) -> ApiResult<SimilarQuery> {
        let (mut id, mut embedder, mut query) = (None, None, SearchQuery::default());
        parameters.parameters(similar_fields(), |name, parameter| {
            match name {
                "id" => {
                    let parameter = parameter.code(Code::InvalidSimilarId);
                    let value = Value::String(parameter.text()?.to_owned());
                    id = Some(document_id(&value).map_err(|reason| parameter.invalid(reason))?);
                }
                "embedder" => embedder = Some(parameter.code(Code::InvalidSimilarEmbedder).text()?.to_owned()),
                _ => query.read_text_of(Place::Similar, name, parameter)?,
            }
            Ok(())
        })?;
        let id = query_string::required(id, "id", Code::BadRequest)?;
        let embedder = query_string::required(embedder, "embedder", Code::BadRequest)?;
        Ok(SimilarQuery { id, embedder, query })
    }
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
        assert_eq!((read.id.as_str(), read.query.limit), ("143", 3));
    }

    #[test]
    fn query_strings() {
        let read = |text: &str| SimilarQuery::from_parameters(&QueryString::parse(text));
        assert_eq!(read("id=1").unwrap_err().message, "Missing parameter `embedder`");
        assert_eq!(read("id=1&embedder=e&limit=x").unwrap_err().code, Code::InvalidSimilarLimit);
        assert_eq!(read("id=a/b&embedder=e").unwrap_err().code, Code::InvalidSimilarId);
        assert_eq!(read("id=1&embedder=e&filter=n%3E1").unwrap().query.filter, Some(json!("n>1")));
    }
}
