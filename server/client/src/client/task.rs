//! Waiting for a task.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::{Client, ClientError};

/// Time between two looks at a task.
const PAUSE: Duration = Duration::from_millis(200);

impl Client {
    /// Waits until the task of an answer has ended; the whole task, with its details.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn ended_task(&self, answer: Value) -> Result<Value, ClientError> {
        let uid = answer["taskUid"].as_u64().or(answer["uid"].as_u64()).unwrap_or_default().to_string();
        let look = || self.call(Method::GET, self.route(&["tasks", &uid]), None);
        // An answer that waited may end before its task does, and a short one has no details.
        let mut task = if answer.get("details").is_some() { answer } else { look().await? };
        while matches!(task["status"].as_str(), Some("enqueued" | "processing") | None) {
            tokio::time::sleep(PAUSE).await;
            task = look().await?;
        }
        Ok(task)
    }
}
