//! `/render-template`: what a template or a fragment makes of a document or a query, before anything is indexed with it.

use std::sync::Arc;

use lamina_base::budget::costs::RENDERING_FACTOR;
use lamina_base::budget::{AnswerBudget, VALUE_BYTES, json_heap_bytes};
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::{Action, Rights};
use lamina_data::features::Feature;
use lamina_data::instance::Instance;
use lamina_engine::index::Snapshot;
use lamina_engine::index::embedding::{
    JsonTemplate, RenderFailure, TemplateError, TemplateVariables, TextTemplate, work_bytes,
};
use lamina_engine::index::settings::{
    DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX, EmbedderSettings, SEARCH_FRAGMENTS, fragments_of,
};
use lamina_protocol::wire::render::{Input, RenderRequest, Template, schema};
use lamina_protocol::wire::settings::chat;
use serde_json::{Value, json};
use warp::reply::Response;

use crate::http::json_text;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[Route::post("/render-template", Action::SettingsGet)
    // What it renders are settings and documents.
    .also(Action::DocumentsGet)
    .about("Render a template or a fragment; feature `renderRoute`", Answer::Ok("RenderedTemplate"))
    .json(schema, "")
    .run(|request| Box::pin(render(request)))];

async fn render(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    if !state.features.is_on(Feature::RenderRoute) {
        return Err(ApiError::feature_not_enabled("calling the /render-template route", "render_route"));
    }
    let rights = request.rights().clone();
    let asked = RenderRequest::from_body(&*request.json().await?)?;
    asked.index_uids().try_for_each(|uid| rights.check_index(uid))?;
    let instance = Arc::clone(&state.instance);
    let budget = state.budgets.answer();
    // It takes as long as templates may, which is bounded, and no thread that others wait for.
    let counted = budget.clone();
    let render = move || Rendering { instance: &instance, rights: &rights, budget: &counted }.answer(&asked);
    let body = state.answer(&budget, render).await?;
    Ok(json_text(budget.body(body)))
}

/// Sources of templates and documents.
struct Rendering<'a> {
    instance: &'a Instance,
    rights: &'a Rights,
    /// The memory of the answer.
    budget: &'a AnswerBudget,
}

/// A template, found.
enum Found {
    /// For documents, with its most bytes.
    Text(String, usize),
    /// The same of a chat, which may name fields without `doc.`.
    OfChat(String, usize),
    /// For documents or queries.
    Fragment(Value, Takes),
}

/// Inputs that a fragment accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Documents,
    Queries,
    Both,
}

impl Rendering<'_> {
    fn answer(&self, asked: &RenderRequest) -> ApiResult<Vec<u8>> {
        let holder = asked.template.index_uid().map(|uid| self.state(uid)).transpose()?;
        let found = find(&asked.template, holder.as_deref())?;
        let rendered = match &asked.input {
            Some(input) => self.rendered(&found, input, holder.as_deref())?,
            None => Value::Null,
        };
        let template = match found {
            Found::Text(text, _) | Found::OfChat(text, _) => Value::String(text),
            Found::Fragment(value, _) => value,
        };
        Ok(json!({ "template": template, "rendered": rendered }).to_string().into_bytes())
    }

    fn document(&self, snapshot: &Snapshot, id: &str) -> ApiResult<Vec<u8>> {
        let Some(address) = snapshot.find(id) else {
            snapshot.check_whole()?;
            return Err(ApiError::new(Code::RenderDocumentNotFound, format!("Document `{id}` not found.")));
        };
        self.budget.take(snapshot.document_bytes(address)?.saturating_mul(2))?;
        Ok(snapshot.document(address)?)
    }

    /// The bytes that a rendering may read and make, which are counted as if it did: as many as templates may anywhere, or half of
    /// what is left.
    fn work(&self, input_bytes: usize) -> ApiResult<u64> {
        let work = usize::try_from(work_bytes(input_bytes)).unwrap_or(usize::MAX).min(self.budget.left() / 2);
        self.budget.take(work)?;
        Ok(work as u64)
    }

    fn state(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        self.instance.state(self.rights.target(uid))
    }

    /// Renders `found` with `input`; `holder` is the index that the template comes from.
    fn rendered(&self, found: &Found, input: &Input, holder: Option<&Snapshot>) -> ApiResult<Value> {
        let (document, origin) = match input {
            Input::IndexDocument { index_uid, id } => {
                let snapshot = self.state(index_uid)?;
                (Some(self.document(&snapshot, id)?), Some(snapshot))
            }
            Input::InlineDocument(document) => (Some(document.to_string().into_bytes()), None),
            Input::InlineSearch { .. } => (None, None),
        };
        if let Some(document) = &document {
            self.budget.take(
                json_heap_bytes(document, RENDERING_FACTOR * VALUE_BYTES)
                    .saturating_add(RENDERING_FACTOR * document.len()),
            )?;
        }
        let work = self.work(document.as_ref().map_or(0, Vec::len))?;
        match (found, &document) {
            (Found::Text(text, bytes_max) | Found::OfChat(text, bytes_max), Some(document)) => {
                let parse =
                    if matches!(found, Found::OfChat(..)) { TextTemplate::with_bare_fields } else { TextTemplate::new };
                let template = parse(text, *bytes_max).map_err(|error| not_parsed(&error))?;
                let is_searchable = |field: &str| {
                    let settings = holder.or(origin.as_deref()).map(|snapshot| &snapshot.settings);
                    settings.is_none_or(|settings| settings.is_searchable_to_templates(field))
                };
                template.render_within(document, &is_searchable, work).map(Value::String).map_err(not_rendered)
            }
            (Found::Fragment(value, Takes::Documents | Takes::Both), Some(document)) => {
                let variables = TemplateVariables::of_document(document).map_err(not_rendered)?;
                fragment(value, &variables.within(work))
            }
            (Found::Fragment(value, Takes::Queries | Takes::Both), None) => {
                let Input::InlineSearch { q, media } = input else { return Err(unfit(input)) };
                let q = q.as_ref().map(|q| ("q", Value::from(q.as_str())));
                let media = media.as_ref().map(|media| ("media", media.clone()));
                fragment(value, &TemplateVariables::new(q.into_iter().chain(media)).within(work))
            }
            _ => Err(unfit(input)),
        }
    }
}

fn find(template: &Template, holder: Option<&Snapshot>) -> ApiResult<Found> {
    let embedder_of = |index_uid: &str, name: &str| {
        let found = holder.and_then(|snapshot| snapshot.settings.embedder(name));
        found.ok_or_else(|| wrong(format!("The index `{index_uid}` has no embedder `{name}`.")))
    };
    Ok(match template {
        Template::Document { index_uid, embedder } => {
            let settings = embedder_of(index_uid, embedder)?;
            if settings.user_provided || !settings.fragments.is_empty() {
                return Err(wrong(format!("The embedder `{embedder}` of the index `{index_uid}` has no template.")));
            }
            Found::Text(settings.template, settings.template_bytes_max)
        }
        Template::IndexingFragment { index_uid, embedder, fragment } => {
            let fragments = embedder_of(index_uid, embedder)?.fragments;
            Found::Fragment(of_name(fragments, fragment, embedder, "indexing")?, Takes::Documents)
        }
        Template::SearchFragment { index_uid, embedder, fragment } => {
            let fragments = search_fragments(&embedder_of(index_uid, embedder)?);
            Found::Fragment(of_name(fragments, fragment, embedder, "search")?, Takes::Queries)
        }
        Template::Chat { .. } => {
            let (text, bytes_max) = holder.map_or((DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX), |snapshot| {
                chat::document_template(&snapshot.settings)
            });
            Found::OfChat(text.to_owned(), bytes_max)
        }
        Template::InlineDocument { text, bytes_max } => Found::Text(text.clone(), *bytes_max),
        Template::InlineFragment(value) => Found::Fragment(value.clone(), Takes::Both),
    })
}

fn search_fragments(settings: &EmbedderSettings) -> Vec<(String, Value)> {
    let configuration = &settings.configuration;
    let side = configuration.get("searchEmbedder").and_then(Value::as_object).unwrap_or(configuration);
    fragments_of(side, SEARCH_FRAGMENTS)
}

fn of_name(fragments: Vec<(String, Value)>, name: &str, embedder: &str, side: &str) -> ApiResult<Value> {
    let names: Vec<String> = fragments.iter().map(|(name, _)| format!("`{name}`")).collect();
    let found = fragments.into_iter().find(|(known, _)| known == name).map(|(_, value)| value);
    found.ok_or_else(|| {
        let there_are =
            if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        wrong(format!("The embedder `{embedder}` has no {side} fragment `{name}`: {there_are}."))
    })
}

fn fragment(value: &Value, variables: &TemplateVariables) -> ApiResult<Value> {
    let template = JsonTemplate::new(value).map_err(|error| not_parsed(&error))?;
    template.render(variables).map_err(not_rendered)
}

fn wrong(message: String) -> ApiError {
    ApiError::new(Code::InvalidRenderTemplate, message)
}

fn unfit(input: &Input) -> ApiError {
    let message = match input {
        Input::InlineSearch { .. } => "The template is for documents, and `.input` is a search.",
        _ => "The template is for searches, and `.input` is a document.",
    };
    ApiError::new(Code::InvalidRenderInput, message)
}

fn not_parsed(error: &TemplateError) -> ApiError {
    ApiError::new(Code::TemplateParsingError, format!("The template cannot be parsed: {}", error.sentence()))
}

fn not_rendered(failure: RenderFailure) -> ApiError {
    let reason = match failure {
        RenderFailure::Missing(reason) => reason,
        RenderFailure::Limit(limit) => limit.sentence(),
    };
    ApiError::new(Code::TemplateRenderingError, format!("The template cannot be rendered with this input: {reason}"))
}
