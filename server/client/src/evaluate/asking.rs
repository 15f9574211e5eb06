//! Requests to the server that is measured.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::judgement::{Judgement, id_text};
use super::measure::Measures;
use super::trial::{Trials, task};
use super::variant::Variant;
use super::{Asking, EvaluateError};
use crate::client::Client;

pub(super) struct Server<'a> {
    pub(super) client: Client,
    pub(super) asking: &'a Asking,
}

/// Result of one query under one variant.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) measures: Measures,
    /// Documents with their scores, best first.
    pub(super) hits: Vec<(String, f64)>,
}

impl Server<'_> {
    pub(super) async fn primary_key(&self, uid: &str) -> Result<String, EvaluateError> {
        let index = self.client.call(Method::GET, self.client.route(&["indexes", uid]), None).await?;
        let key = index["primaryKey"].as_str();
        key.map(str::to_owned).ok_or_else(|| EvaluateError::NoPrimaryKey(uid.to_owned()))
    }

    /// The answers of a way of searching, in the order of the questions. Settings of its own are those of a clone meanwhile.
    pub(super) async fn answers(
        &self,
        variant: &Variant,
        judgements: &[Judgement],
        trials: &mut Trials<'_>,
        is_cloned: bool,
    ) -> Result<Vec<Answer>, EvaluateError> {
        let uid = self.index_of(variant);
        if !is_cloned {
            return self.asked(variant, uid, judgements).await;
        }
        let clone = trials.clone_of(uid).await?;
        if variant.settings.is_empty() {
            return self.asked(variant, &clone, judgements).await;
        }
        let before = self.settings_before(&clone, &variant.settings).await?;
        trials.set(&clone, &variant.settings).await.map_err(as_settings)?;
        let answers = self.asked(variant, &clone, judgements).await?;
        // The clone serves the next way of searching.
        trials.set(&clone, &before).await.map_err(as_settings)?;
        Ok(answers)
    }

    /// The index that a way of searching searches.
    pub(super) fn index_of<'v>(&'v self, variant: &'v Variant) -> &'v str {
        variant.index.as_ref().unwrap_or(&self.asking.index)
    }

    /// Returns what undoes a change of settings. Secrets are not shown, and a change leaves those alone that it does not name.
    async fn settings_before(
        &self,
        uid: &str,
        settings: &Map<String, Value>,
    ) -> Result<Map<String, Value>, EvaluateError> {
        let known = self.client.call(Method::GET, self.client.route(&["indexes", uid, "settings"]), None).await?;
        // What settings do not show has its default.
        let before = settings.iter().map(|(key, new)| {
            let mut before = known.get(key).cloned().unwrap_or(Value::Null);
            if let (Value::Object(named), Value::Object(new)) = (&mut before, new) {
                named.values_mut().filter_map(Value::as_object_mut).for_each(without_secrets);
                // What the change adds by name goes again.
                let added: Vec<String> = new.keys().filter(|name| !named.contains_key(*name)).cloned().collect();
                named.extend(added.into_iter().map(|name| (name, Value::Null)));
            }
            (key.clone(), before)
        });
        Ok(before.collect())
    }

    /// Gives the settings of a way of searching to its index, for good. Returns the change that undoes it.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn apply(&self, variant: &Variant) -> Result<Map<String, Value>, EvaluateError> {
        let uid = self.index_of(variant);
        let before = self.settings_before(uid, &variant.settings).await?;
        let route = self.client.route(&["indexes", uid, "settings"]);
        task(&self.client, Method::PATCH, route, Some(&json!(variant.settings))).await.map_err(as_settings)?;
        Ok(before)
    }

    async fn asked(
        &self,
        variant: &Variant,
        uid: &str,
        judgements: &[Judgement],
    ) -> Result<Vec<Answer>, EvaluateError> {
        let primary_key = self.primary_key(uid).await?;
        let mut answers = Vec::with_capacity(judgements.len());
        for judgement in judgements {
            answers.push(self.answer(variant, uid, &primary_key, judgement).await?);
        }
        Ok(answers)
    }

    async fn answer(
        &self,
        variant: &Variant,
        uid: &str,
        primary_key: &str,
        judgement: &Judgement,
    ) -> Result<Answer, EvaluateError> {
        let depth = usize::from(self.asking.depth);
        let mut body = variant.parameters.clone();
        body.extend(judgement.search.clone());
        body.insert("q".into(), json!(judgement.q));
        body.insert("limit".into(), json!(self.asking.fetch.unwrap_or(self.asking.depth).max(self.asking.depth)));
        body.insert("showRankingScore".into(), json!(true));
        // Whole documents take longer to send and read than to find.
        body.insert("attributesToRetrieve".into(), json!([primary_key]));
        let route = self.client.route(&["indexes", uid, "search"]);
        let answer = self.client.call(Method::POST, route, Some(&Value::Object(body))).await?;
        let hits = answer["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let hits = hits.iter().map(|hit| (id_text(&hit[primary_key]), hit["_rankingScore"].as_f64().unwrap_or(0.0)));
        let is_wanted = |hit: &(String, f64)| !self.asking.judged_only || judgement.relevant.contains_key(&hit.0);
        let mut hits: Vec<(String, f64)> = hits.filter(is_wanted).collect();
        hits.truncate(depth);
        let grades: Vec<f64> = hits.iter().map(|(id, _)| judgement.grade(id)).collect();
        let judged: Vec<f64> = judgement.relevant.values().copied().collect();
        let unjudged = if self.asking.judged_only { 0.0 } else { judgement.unjudged };
        Ok(Answer { measures: Measures::new(&grades, &judged, unjudged, depth), hits })
    }
}

/// Takes out what the server shows masked.
fn without_secrets(fields: &mut Map<String, Value>) {
    fields.remove("apiKey");
    fields.remove("headers");
    fields.values_mut().filter_map(Value::as_object_mut).for_each(without_secrets);
}

fn as_settings(error: EvaluateError) -> EvaluateError {
    match error {
        EvaluateError::Task { reason, .. } => EvaluateError::Settings(reason),
        other => other,
    }
}
