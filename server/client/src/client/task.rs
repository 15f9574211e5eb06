//! Waits for tasks.

use lamina_base::backoff::TASK;
use reqwest::Method;
use serde_json::Value;

use super::{Client, ClientError};

impl Client {
    /// Waits until the task of an answer has ended; the whole task, with its details.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn ended_task(&self, answer: Value) -> Result<Value, ClientError> {
        // An answer that waited may end before its task does, and a short one has no details.
        if !is_open(&answer) && answer.get("details").is_some() {
            return Ok(answer);
        }
        self.ended(answer["taskUid"].as_u64().or(answer["uid"].as_u64()).unwrap_or_default()).await
    }

    /// Waits for the end of a task, and returns it.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub(crate) async fn ended(&self, task_uid: u64) -> Result<Value, ClientError> {
        let mut pauses = TASK;
        loop {
            let task = self.call(Method::GET, self.route(&["tasks", &task_uid.to_string()]), None).await?;
            if !is_open(&task) {
                return Ok(task);
            }
            tokio::time::sleep(pauses.next_pause()).await;
        }
    }
}

fn is_open(task: &Value) -> bool {
    matches!(task["status"].as_str(), Some("enqueued" | "processing"))
}
