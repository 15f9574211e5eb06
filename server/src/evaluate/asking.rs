//! Requests to the server that is measured.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::judgement::{Judgement, id_text};
use super::measure::Measures;
use super::variant::Variant;
use super::{Args, EvaluateError};
use crate::client::Client;

/// How long a change of settings may take.
const TASK_TIME: Duration = Duration::from_secs(600);
const TASK_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Server<'a> {
    pub(super) client: Client,
    pub(super) args: &'a Args,
}

/// What a way of searching made of a question.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) measures: Measures,
    /// Documents with their scores, best first.
    pub(super) hits: Vec<(String, f64)>,
}

impl Server<'_> {
    async fn primary_key(&self, uid: &str) -> Result<String, EvaluateError> {
        let index = self.client.call(Method::GET, self.client.route(&["indexes", uid]), None).await?;
        let key = index["primaryKey"].as_str();
        key.map(str::to_owned).ok_or_else(|| EvaluateError::NoPrimaryKey(uid.to_owned()))
    }

    /// The answers of a way of searching, in the order of the questions. Settings of its own are set before, and are as they
    /// were when this ends.
    pub(super) async fn answers(
        &self,
        variant: &Variant,
        judgements: &[Judgement],
    ) -> Result<Vec<Answer>, EvaluateError> {
        let uid = variant.index.as_ref().unwrap_or(&self.args.index);
        if variant.settings.is_empty() {
            return self.asked(variant, uid, judgements).await;
        }
        let known = self.client.call(Method::GET, self.client.route(&["indexes", uid, "settings"]), None).await?;
        // What settings do not show has its default.
        let before = variant.settings.keys().map(|key| (key.clone(), known.get(key).cloned().unwrap_or(Value::Null)));
        let before: Map<String, Value> = before.collect();
        self.set(uid, &variant.settings).await?;
        let answers = self.asked(variant, uid, judgements).await;
        self.set(uid, &before).await?;
        answers
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

    async fn set(&self, uid: &str, settings: &Map<String, Value>) -> Result<(), EvaluateError> {
        let route = self.client.route(&["indexes", uid, "settings"]);
        let task = self.client.call(Method::PATCH, route, Some(&json!(settings))).await?;
        let task_uid = task["taskUid"].as_u64().unwrap_or_default().to_string();
        let start = Instant::now();
        loop {
            let task = self.client.call(Method::GET, self.client.route(&["tasks", &task_uid]), None).await?;
            match task["status"].as_str() {
                Some("succeeded") => return Ok(()),
                Some("enqueued" | "processing") if start.elapsed() < TASK_TIME => tokio::time::sleep(TASK_PAUSE).await,
                _ => {
                    let reason = task["error"]["message"].as_str().unwrap_or("they are not in place").to_owned();
                    return Err(EvaluateError::Settings(reason));
                }
            }
        }
    }

    async fn answer(
        &self,
        variant: &Variant,
        uid: &str,
        primary_key: &str,
        judgement: &Judgement,
    ) -> Result<Answer, EvaluateError> {
        let depth = usize::from(self.args.depth);
        let mut body = variant.parameters.clone();
        body.extend(judgement.search.clone());
        body.insert("q".into(), json!(judgement.q));
        body.insert("limit".into(), json!(self.args.fetch.unwrap_or(self.args.depth).max(self.args.depth)));
        body.insert("showRankingScore".into(), json!(true));
        let route = self.client.route(&["indexes", uid, "search"]);
        let answer = self.client.call(Method::POST, route, Some(&Value::Object(body))).await?;
        let hits = answer["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
        let hits = hits.iter().map(|hit| (id_text(&hit[primary_key]), hit["_rankingScore"].as_f64().unwrap_or(0.0)));
        let is_wanted = |hit: &(String, f64)| !self.args.judged_only || judgement.relevant.contains_key(&hit.0);
        let mut hits: Vec<(String, f64)> = hits.filter(is_wanted).collect();
        hits.truncate(depth);
        let grades: Vec<f64> = hits.iter().map(|(id, _)| judgement.grade(id)).collect();
        let judged: Vec<f64> = judgement.relevant.values().copied().collect();
        Ok(Answer { measures: Measures::new(&grades, &judged, depth), hits })
    }
}
