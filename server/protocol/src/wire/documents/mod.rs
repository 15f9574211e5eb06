//! Requests about documents: how they are added, which are listed.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::document::PayloadFormat;
use lamina_engine::index::At as State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::body::check_json;
use super::generations;
use super::identifier;
use super::json::At;
use super::query_string::QueryString;
use super::search::{NAMES_MAX, SORTS_MAX, filter_parameter, sort_parameter};

/// The query parameter of a text that a client wants to find again in the task of a write. Routes that accept no other
/// parameter, or read them all, know its name.
pub const CUSTOM_METADATA: &str = "customMetadata";

/// Format of a payload, and its name in messages.
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

/// Documents to list, and the parts to show.
#[derive(Clone, Debug, PartialEq)]
pub struct ListQuery {
    /// Documents skipped.
    pub offset: u64,
    /// Documents returned at most.
    pub limit: u64,
    /// Fields shown; `None` shows all.
    pub fields: Option<Vec<String>>,
    /// True if `_vectors` is shown.
    pub retrieve_vectors: bool,
    /// Only these documents.
    pub ids: Option<Vec<String>>,
    /// Only documents that match.
    pub filter: Option<Value>,
    /// Order; insertion order without.
    pub sort: Option<Vec<String>>,
    /// The state of the index that is read, if not the present one.
    pub at: Option<State>,
    /// True if the other servers of the network are queried too; `None`: unspecified.
    pub use_network: Option<bool>,
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
            use_network: None,
        }
    }
}

/// Fields of a request for a list of documents.
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
                _ => list.use_network = Some(parameter.code(Code::InvalidDocumentUseNetwork).boolean()?),
            }
            Ok(())
        })?;
        list.check()?;
        Ok(list)
    }

    /// Refuses lists that are too long, and options that cannot be combined with a query to the network.
    fn check(&self) -> ApiResult<()> {
        let fields = ("fields", self.fields.as_ref(), NAMES_MAX, Code::InvalidDocumentFields);
        let sort = ("sort", self.sort.as_ref(), SORTS_MAX, Code::InvalidDocumentSort);
        for (name, list, most, code) in [fields, sort] {
            let found = list.map_or(0, Vec::len);
            if found > most {
                let what = format!("Invalid value at `.{name}`: {found} entries; at most {most} are allowed.");
                return Err(ApiError::new(code, what));
            }
        }
        if self.use_network != Some(true) {
            return Ok(());
        }
        if self.sort.is_some() {
            let why = "`sort` cannot be used with `useNetwork`: documents come server by server.";
            return Err(ApiError::new(Code::InvalidDocumentSort, why));
        }
        if self.at.is_some() {
            return Err(states_are_own());
        }
        Ok(())
    }

    /// Returns the body of a request to another server for `limit` of these documents, from its own position `offset`
    /// on.
    pub fn of_remote(&self, offset: u64, limit: u64) -> Value {
        let mut body = json!({ "offset": offset, "limit": limit, "retrieveVectors": self.retrieve_vectors });
        if let Some(fields) = &self.fields {
            body["fields"] = fields.as_slice().into();
        }
        if let Some(ids) = &self.ids {
            body["ids"] = ids.as_slice().into();
        }
        if let Some(filter) = &self.filter {
            body["filter"] = filter.clone();
        }
        body
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
                _ => {
                    let field = field.code(Code::InvalidDocumentUseNetwork);
                    list.use_network = field.optional(|f| f.boolean())?;
                }
            }
            Ok(())
        })?;
        list.check()?;
        Ok(list)
    }
}

fn states_are_own() -> ApiError {
    let why = "`at` names a state of this server's index: leave `useNetwork` out.";
    ApiError::new(Code::InvalidDocumentAt, why)
}

/// The parameters of GET for one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GetParameters {
    /// `None`: all.
    pub fields: Option<Vec<String>>,
    /// True if the vectors of the document are shown.
    pub retrieve_vectors: bool,
    /// The state of the index that is read, if not the present one.
    pub at: Option<State>,
    /// True if the other servers of the network are queried too; `None`: unspecified.
    pub use_network: Option<bool>,
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
                "useNetwork" => {
                    read.use_network = Some(parameter.code(Code::InvalidDocumentUseNetwork).boolean()?);
                }
                _ => read.retrieve_vectors = parameter.code(Code::InvalidDocumentRetrieveVectors).boolean()?,
            }
            Ok(())
        })?;
        match (read.use_network, read.at) {
            (Some(true), Some(_)) => Err(states_are_own()),
            _ => Ok(read),
        }
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

/// A function that changes documents; stored with its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// Text of the function.
    pub function: String,
    /// Values that the function can read besides the document.
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
mod tests;
