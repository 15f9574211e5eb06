//! Clones that settings are tried on, so that the index which others search never changes.
//!
//! A clone shares the files of its index, and is gone when the run ends. One of a run that was killed is removed by the next: its
//! name says which process made it, and when.

use std::process;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::EvaluateError;
use crate::client::{Client, ClientError};

/// Prefix of the names of clones.
const PREFIX: &str = "lamina-evaluate-";
/// A clone that was made on another machine belongs to a dead run when it is as old.
const AGE_MAX: Duration = Duration::from_secs(24 * 3600);
/// Maximum time to make a clone, or to change settings.
const TASK_TIME: Duration = Duration::from_secs(3600);
/// Indexes of a page.
const PAGE: u64 = 1000;

/// Process that makes clones.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Maker {
    /// Distinguishes machines, and what they run in.
    place: String,
    process: u32,
    /// Seconds since 1970.
    since: u64,
}

impl Maker {
    fn own() -> Maker {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Maker { place: place(), process: process::id(), since }
    }

    fn clone_name(&self, number: usize) -> String {
        format!("{PREFIX}{}-{}-{}-{number}", self.place, self.process, self.since)
    }

    /// Returns who made the clone of this name; `None` for names that this command does not give.
    fn of(uid: &str) -> Option<Maker> {
        let mut parts = uid.strip_prefix(PREFIX)?.split('-');
        let place = parts.next().filter(|place| place.len() == 16)?.to_owned();
        let (process, since) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let _: usize = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Maker { place, process, since })
    }

    /// Returns whether the run has ended, as far as can be known from here.
    fn is_dead(&self, own: &Maker) -> bool {
        if self == own {
            return false;
        }
        let is_old = own.since.saturating_sub(self.since) > AGE_MAX.as_secs();
        is_old || (self.place == own.place && !is_running(self.process))
    }
}

/// The machine since it was started, and the processes that can be seen.
fn place() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let text = format!("{} {}", boot.trim(), processes.display());
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

/// Returns whether a process measures. Where the system does not say, it does.
fn is_running(process: u32) -> bool {
    match std::fs::read(format!("/proc/{process}/cmdline")) {
        Ok(line) => line.split(|byte| *byte == 0).any(|argument| argument == b"evaluate" || argument == b"tune"),
        Err(_) => !std::path::Path::new("/proc/self/cmdline").exists(),
    }
}

/// A clone that is there.
#[derive(Clone, Debug)]
struct Trial {
    /// The index as the user calls it.
    of: String,
    uid: String,
    /// Time of the last change of the index when it was cloned.
    updated_at: Value,
}

/// The clones of this run.
#[derive(Debug)]
pub(super) struct Trials<'a> {
    client: &'a Client,
    maker: Maker,
    trials: Vec<Trial>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(client: &'a Client) -> Trials<'a> {
        Trials { client, maker: Maker::own(), trials: Vec::new() }
    }

    /// The clone of an index, made when it is first asked for.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn clone_of(&mut self, index: &str) -> Result<String, EvaluateError> {
        if let Some(trial) = self.trials.iter().find(|trial| trial.of == index) {
            return Ok(trial.uid.clone());
        }
        let uid = self.maker.clone_name(self.trials.len());
        let updated_at = self.updated_at(index).await?;
        // Before it is there: one that is made while this is given up is removed, too.
        self.trials.push(Trial { of: index.to_owned(), uid: uid.clone(), updated_at });
        let route = self.client.route(&["indexes", index, "clone"]);
        let made = task(self.client, Method::POST, route, Some(&json!({ "uid": uid }))).await;
        if made.is_err() {
            self.trials.pop();
        }
        made.map_err(|error| in_words(index, error)).map(|()| uid)
    }

    async fn updated_at(&self, index: &str) -> Result<Value, EvaluateError> {
        let found = self.client.call(Method::GET, self.client.route(&["indexes", index]), None).await?;
        Ok(found["updatedAt"].clone())
    }

    /// Sets settings of a clone.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn set(&self, clone: &str, settings: &Map<String, Value>) -> Result<(), EvaluateError> {
        let route = self.client.route(&["indexes", clone, "settings"]);
        task(self.client, Method::PATCH, route, Some(&json!(settings))).await
    }

    /// Removes the clones of runs that are dead; how many. A key that does not see them leaves them to another run.
    ///
    /// # Errors
    /// What the server says of one that is seen.
    pub(super) async fn remove_dead(&self) -> Result<usize, EvaluateError> {
        let mut dead = Vec::new();
        for page in 0.. {
            let mut route = self.client.route(&["indexes"]);
            route.query_pairs_mut().append_pair("limit", &PAGE.to_string());
            route.query_pairs_mut().append_pair("offset", &(page * PAGE).to_string());
            let Ok(found) = self.client.call(Method::GET, route, None).await else { break };
            let found = found["results"].as_array().cloned().unwrap_or_default();
            let uids = found.iter().filter_map(|index| index["uid"].as_str());
            let is_dead = |uid: &&str| Maker::of(uid).is_some_and(|maker| maker.is_dead(&self.maker));
            dead.extend(uids.filter(is_dead).map(str::to_owned));
            if (found.len() as u64) < PAGE {
                break;
            }
        }
        for uid in &dead {
            self.remove(uid).await?;
        }
        Ok(dead.len())
    }

    /// Removes the clones of this run; the indexes that have changed since they were cloned.
    ///
    /// # Errors
    /// What the server says, after all of them were tried.
    pub(super) async fn end(&mut self) -> Result<Vec<String>, EvaluateError> {
        let (mut changed, mut failed) = (Vec::new(), None);
        for trial in std::mem::take(&mut self.trials) {
            if self.updated_at(&trial.of).await.is_ok_and(|updated_at| updated_at != trial.updated_at) {
                changed.push(trial.of);
            }
            if let Err(error) = self.remove(&trial.uid).await {
                failed = Some(error);
            }
        }
        failed.map_or(Ok(changed), Err)
    }

    async fn remove(&self, uid: &str) -> Result<(), EvaluateError> {
        match task(self.client, Method::DELETE, self.client.route(&["indexes", uid]), None).await {
            Err(EvaluateError::Task { code, .. }) if code == "index_not_found" => Ok(()),
            other => other,
        }
    }
}

/// Sends a change and waits for its task.
///
/// # Errors
/// The server refused the request, or it failed.
pub(super) async fn task(
    client: &Client,
    method: Method,
    route: reqwest::Url,
    body: Option<&Value>,
) -> Result<(), EvaluateError> {
    let task = client.call(method, route, body).await?;
    let task_uid = task["taskUid"].as_u64().unwrap_or_default();
    let text = |task: &Value, field: &str| task["error"][field].as_str().unwrap_or_default().to_owned();
    match tokio::time::timeout(TASK_TIME, client.ended(task_uid)).await {
        Ok(task) => match task? {
            task if task["status"] == "succeeded" => Ok(()),
            task => Err(EvaluateError::Task { code: text(&task, "code"), reason: text(&task, "message") }),
        },
        Err(_) => {
            let reason = format!("task {task_uid} has not ended in time");
            Err(EvaluateError::Task { code: String::new(), reason })
        }
    }
}

/// Explains the failure to make a clone, with advice.
fn in_words(index: &str, error: EvaluateError) -> EvaluateError {
    match &error {
        EvaluateError::Server(ClientError::Refused { status: 401 | 403, message, .. }) => {
            EvaluateError::Rights { index: index.to_owned(), reason: message.clone() }
        }
        EvaluateError::Server(ClientError::Refused { code, .. }) if code == "replica_takes_no_writes" => {
            EvaluateError::Replica
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_dead_runs_are_recognised() {
        let own = Maker::own();
        assert_eq!(Maker::of(&own.clone_name(3)), Some(own.clone()));
        assert!(!own.is_dead(&own));
        // No process has this number.
        let killed = Maker { process: u32::MAX, ..own.clone() };
        assert!(killed.is_dead(&own));
        let elsewhere = Maker { place: "0123456789abcdef".to_owned(), ..killed };
        assert!(!elsewhere.is_dead(&own), "what runs on another machine is not known");
        assert!(Maker { since: own.since - AGE_MAX.as_secs() - 1, ..elsewhere }.is_dead(&own));
        for other in
            ["films", "lamina-evaluate-", "lamina-evaluate-mine-1-2-3", "lamina-evaluate-0123456789abcdef-1-2-x"]
        {
            assert_eq!(Maker::of(other), None, "{other}");
        }
    }
}
