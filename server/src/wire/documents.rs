//! Requests about documents: how they are added, which are listed.

use lamina_engine::document::PayloadFormat;
use lamina_engine::index::At as State;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::body::check_json;
use super::generations;
use super::identifier;
use super::json::At;
use super::query_string::QueryString;
use super::search::{filter_parameter, sort_parameter};
use crate::error::{ApiError, ApiResult, Code};

/// The query parameter of a text that a client wants to find again in the task of a write. Routes that accept no other
/// parameter, or read them all, know its name.
pub const CUSTOM_METADATA: &str = "customMetadata";

/// How a payload is sent and how messages call that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// For the engine.
    pub format: PayloadFormat,
    /// `json`, `ndjson` or `csv`
    pub name: &'static str,
}

/// Query parameters of POST and PUT documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddParameters {
    /// Field that identifies documents.
    pub primary_key: Option<String>,
    /// Byte between the cells of a CSV.
    pub csv_delimiter: Option<u8>,
    /// Ignore documents that are not in the index yet.
    pub skip_creation: bool,
}

impl AddParameters {
    /// Reads a query string.
    ///
    /// # Errors
    /// The first problem in the order of the text.
    pub fn from_query(query: &QueryString) -> ApiResult<AddParameters> {
        let mut parameters = AddParameters::default();
        query.parameters(&["primaryKey", "csvDelimiter", CUSTOM_METADATA, "skipCreation"], |name, parameter| {
            match name {
                "primaryKey" => {
                    parameters.primary_key = Some(parameter.code(Code::InvalidIndexPrimaryKey).text()?.to_owned());
                }
                "csvDelimiter" => {
                    let parameter = parameter.code(Code::InvalidDocumentCsvDelimiter);
                    let delimiter = csv_delimiter(parameter.text()?).map_err(|reason| parameter.invalid(reason))?;
                    parameters.csv_delimiter = Some(delimiter);
                }
                "skipCreation" => {
                    let parameter = parameter.code(Code::InvalidSkipCreation);
                    let text = parameter.text()?;
                    parameters.skip_creation = match text.to_ascii_lowercase().as_str() {
                        "true" => true,
                        "false" => false,
                        _ => {
                            return Err(parameter
                                .invalid(format!("skipCreation must be either `true` or `false`. Found: `{text}`")));
                        }
                    };
                }
                // Read for every write.
                _ => {}
            }
            Ok(())
        })?;
        Ok(parameters)
    }

    /// The format of a body, from its content type.
    ///
    /// # Errors
    /// No content type, an unknown one, or a delimiter for something that is no CSV.
    pub fn format(&self, content_type: Option<&str>) -> ApiResult<Format> {
        const ACCEPTED: &str = "Accepted values for the Content-Type header are: `application/json`, \
                                `application/x-ndjson`, `text/csv`";
        let Some(content_type) = content_type else {
            return Err(ApiError::new(
                Code::MissingContentType,
                format!("A Content-Type header is missing. {ACCEPTED}"),
            ));
        };
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let format = match essence.as_str() {
            "application/json" => Format { format: PayloadFormat::Json, name: "json" },
            "application/x-ndjson" => Format { format: PayloadFormat::NdJson, name: "ndjson" },
            "text/csv" => {
                let delimiter = self.csv_delimiter.unwrap_or(b',');
                Format { format: PayloadFormat::Csv { delimiter }, name: "csv" }
            }
            _ => {
                return Err(ApiError::new(
                    Code::InvalidContentType,
                    format!("The Content-Type `{content_type}` is invalid. {ACCEPTED}"),
                ));
            }
        };
        if self.csv_delimiter.is_some() && format.name != "csv" {
            return Err(ApiError::new(
                Code::InvalidContentType,
                format!(
                    "The Content-Type `{essence}` does not support the use of a csv delimiter. The csv delimiter can \
                     only be used with the Content-Type `text/csv`."
                ),
            ));
        }
        Ok(format)
    }
}

fn csv_delimiter(text: &str) -> Result<u8, String> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (None, _) => Err("expected a string of one character, but found an empty string".to_owned()),
        // These have a meaning of their own in every CSV file.
        (Some(one @ ('"' | '\r' | '\n')), None) => Err(format!(
            "csv delimiter must be another character than quotes and line breaks. Found: `{}`",
            one.escape_default()
        )),
        (Some(one), None) => u8::try_from(one)
            .ok()
            .filter(u8::is_ascii)
            .ok_or_else(|| format!("csv delimiter must be an ascii character. Found: `{one}`")),
        (Some(_), Some(_)) => Err(format!(
            "expected a string of one character, but found the following string of {} characters: `{text}`",
            text.chars().count()
        )),
    }
}

/// Which documents to list, and what of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ListQuery {
    /// Documents skipped.
    pub offset: u64,
    /// Documents returned at most.
    pub limit: u64,
    /// Fields shown; `None` shows all.
    pub fields: Option<Vec<String>>,
    /// Whether `_vectors` is shown.
    pub retrieve_vectors: bool,
    /// Only these documents.
    pub ids: Option<Vec<String>>,
    /// Only documents that match.
    pub filter: Option<Value>,
    /// Order; insertion order without.
    pub sort: Option<Vec<String>>,
    /// The state of the index that is read, if not the present one.
    pub at: Option<State>,
}

impl Default for ListQuery {
    fn default() -> ListQuery {
        ListQuery {
            offset: 0,
            limit: 20,
            fields: None,
            retrieve_vectors: false,
            ids: None,
            filter: None,
            sort: None,
            at: None,
        }
    }
}

/// What lists of documents can be asked with.
pub const LIST_FIELDS: [&str; 9] =
    ["offset", "limit", "fields", "retrieveVectors", "ids", "filter", "sort", "useNetwork", "at"];

impl ListQuery {
    /// From the query string of GET.
    ///
    /// # Errors
    /// The first problem in the order of the text.
    pub fn from_query(query: &QueryString) -> ApiResult<ListQuery> {
        let mut list = ListQuery::default();
        query.parameters(&LIST_FIELDS, |name, parameter| {
            match name {
                "offset" => list.offset = parameter.code(Code::InvalidDocumentOffset).positive_integer()?,
                "limit" => list.limit = parameter.code(Code::InvalidDocumentLimit).positive_integer()?,
                "fields" => list.fields = Some(parameter.code(Code::InvalidDocumentFields).strings()?),
                "retrieveVectors" => {
                    list.retrieve_vectors = parameter.code(Code::InvalidDocumentRetrieveVectors).boolean()?;
                }
                "ids" => {
                    let parameter = parameter.code(Code::InvalidDocumentIds);
                    let values = parameter.texts()?.into_iter().map(Value::from);
                    list.ids = Some(document_ids(values)?);
                }
                "filter" => {
                    list.filter = Some(filter_parameter(parameter.code(Code::InvalidDocumentFilter).text()?));
                }
                "sort" => list.sort = Some(sort_parameter(parameter.code(Code::InvalidDocumentSort).text()?)),
                "at" => list.at = Some(generations::state_parameter(&parameter.code(Code::InvalidDocumentAt))?),
                _ => drop(parameter.code(Code::InvalidDocumentUseNetwork).boolean()?),
            }
            Ok(())
        })?;
        Ok(list)
    }

    /// From the body of POST fetch.
    ///
    /// # Errors
    /// The first problem in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<ListQuery> {
        let mut list = ListQuery::default();
        At::root(body).fields(&LIST_FIELDS, |name, field| {
            match name {
                "offset" => {
                    list.offset =
                        field.code(Code::InvalidDocumentOffset).optional(|f| f.positive_integer())?.unwrap_or(0);
                }
                "limit" => {
                    list.limit =
                        field.code(Code::InvalidDocumentLimit).optional(|f| f.positive_integer())?.unwrap_or(20);
                }
                "fields" => list.fields = field.code(Code::InvalidDocumentFields).optional(|f| f.strings())?,
                "retrieveVectors" => {
                    let field = field.code(Code::InvalidDocumentRetrieveVectors);
                    list.retrieve_vectors = field.optional(|f| f.boolean())?.unwrap_or(false);
                }
                "ids" => {
                    let values = field
                        .code(Code::InvalidDocumentIds)
                        .optional(|field| field.list(|element| Ok(element.value().clone())))?;
                    list.ids = values.map(document_ids).transpose()?;
                }
                "filter" => list.filter = Some(field.value().clone()),
                "sort" => list.sort = field.code(Code::InvalidDocumentSort).optional(|f| f.strings())?,
                "at" => list.at = field.code(Code::InvalidDocumentAt).optional(generations::state)?,
                _ => drop(field.code(Code::InvalidDocumentUseNetwork).optional(|f| f.boolean())?),
            }
            Ok(())
        })?;
        Ok(list)
    }
}

/// The parameters of GET for one document. Each server answers with its own, whatever `useNetwork` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetParameters {
    /// `None`: all.
    pub fields: Option<Vec<String>>,
    /// Whether its vectors are shown.
    pub retrieve_vectors: bool,
    /// The state of the index that is read, if not the present one.
    pub at: Option<State>,
}

impl GetParameters {
    /// Reads a query string.
    ///
    /// # Errors
    /// The first problem in the order of the text.
    pub fn from_query(query: &QueryString) -> ApiResult<GetParameters> {
        let mut read = GetParameters::default();
        query.parameters(&["fields", "retrieveVectors", "at", "useNetwork"], |name, parameter| {
            match name {
                "fields" => read.fields = Some(parameter.code(Code::InvalidDocumentFields).strings()?),
                "at" => read.at = Some(generations::state_parameter(&parameter.code(Code::InvalidDocumentAt))?),
                "useNetwork" => drop(parameter.code(Code::InvalidDocumentUseNetwork).boolean()?),
                _ => read.retrieve_vectors = parameter.code(Code::InvalidDocumentRetrieveVectors).boolean()?,
            }
            Ok(())
        })?;
        Ok(read)
    }
}

fn document_ids(values: impl IntoIterator<Item = Value>) -> ApiResult<Vec<String>> {
    let check = |(index, value)| {
        identifier::document_id(&value)
            .map_err(|reason| ApiError::new(Code::InvalidDocumentIds, format!("In `.ids[{index}]`: {reason}")))
    };
    values.into_iter().enumerate().map(check).collect()
}

/// Writes about documents have one query parameter, which is read for every write.
///
/// # Errors
/// Any other parameter.
pub fn check_parameters(query: &QueryString) -> ApiResult<()> {
    query.parameters(&[CUSTOM_METADATA], |_, _| Ok(()))
}

/// The ids of a `delete-batch` body: texts as they are, other values by their JSON text.
///
/// # Errors
/// A body that is broken, or no array.
pub fn ids_to_delete(body: &[u8]) -> ApiResult<Vec<String>> {
    check_json(body)?;
    let refuse = |error| ApiError::new(Code::BadRequest, format!("Json deserialize error: {error}"));
    // There may be millions: no tree of them is made.
    let values: Vec<&RawValue> = serde_json::from_slice(body).map_err(refuse)?;
    let text = |value: &RawValue| match serde_json::from_str(value.get()).map_err(refuse)? {
        Value::String(text) => Ok(text),
        other => Ok(other.to_string()),
    };
    values.into_iter().map(text).collect()
}

/// The filter of a deletion: present and not empty. Its syntax is checked elsewhere.
///
/// # Errors
/// `missing_document_filter`, `invalid_document_filter`
pub fn filter_to_delete(body: &Value) -> ApiResult<Value> {
    let root = At::root(body);
    let mut filter = None;
    root.fields(&["filter"], |_, field| {
        filter = Some(field.value().clone());
        Ok(())
    })?;
    let filter = super::json::required(filter, &root, "filter", Code::MissingDocumentFilter)?;
    not_empty(filter)
}

fn not_empty(filter: Value) -> ApiResult<Value> {
    let is_empty = match &filter {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        other => other.is_null(),
    };
    if is_empty { Err(empty_filter()) } else { Ok(filter) }
}

/// A function that changes documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Its text.
    pub function: String,
    /// What it can read besides the document.
    pub context: Option<Map<String, Value>>,
    /// Only documents that match; JSON value of the request.
    pub filter: Option<Value>,
}

/// The body of `documents/edit`. Neither the function nor the syntax of the filter is checked here.
///
/// # Errors
/// `missing_document_edition_function`, `invalid_document_edition_function_filter`,
/// `invalid_document_edition_context`, `invalid_document_filter`
pub fn edit(body: &Value) -> ApiResult<Edit> {
    let root = At::root(body);
    let (mut filter, mut context, mut function) = (None, None, None);
    root.fields(&["filter", "context", "function"], |name, field| {
        match name {
            "filter" => filter = field.optional(|field| Ok(field.value().clone()))?.map(not_empty).transpose()?,
            "context" => {
                let not_an_object =
                    || ApiError::new(Code::InvalidDocumentEditionContext, "The context must be an object");
                context = field.optional(|field| field.value().as_object().cloned().ok_or_else(not_an_object))?;
            }
            _ => function = Some(field.code(Code::InvalidDocumentEditionFunctionFilter).string()?),
        }
        Ok(())
    })?;
    let function = super::json::required(function, &root, "function", Code::MissingDocumentEditionFunction)?;
    Ok(Edit { function, context, filter })
}

/// A filter that asks for nothing would delete everything.
pub fn empty_filter() -> ApiError {
    ApiError::new(Code::InvalidDocumentFilter, "Sending an empty filter is forbidden.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
}
