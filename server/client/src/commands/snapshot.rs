//! `lamina snapshot`: a snapshot of the database of a running server.

use clap::Args;
use reqwest::Method;
use serde_json::json;

use super::{CommandError, task_failure};
use crate::client::{Client, ServerArgs};

/// Take a snapshot of a running server.
#[derive(Debug, Clone, Args)]
pub struct SnapshotArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Print the result and errors as JSON, for programs.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) async fn run(args: &SnapshotArgs) -> Result<String, CommandError> {
    let client = Client::new(&args.server)?;
    let mut route = client.route(&["snapshots"]);
    route.query_pairs_mut().append_pair("wait", "searchable");
    let answer = client.call(Method::POST, route, None).await?;
    let task = client.ended_task(answer).await?;
    let uid = task["uid"].as_u64().unwrap_or_default();
    match task["status"].as_str() {
        Some("succeeded") if args.json => Ok(format!("{:#}\n", json!({"taskUid": uid, "status": "succeeded"}))),
        Some("succeeded") => Ok(format!(
            "made a snapshot (task {uid}), in the --snapshot-dir or the --snapshot-store of the server\n\
             restore it with `lamina restore SNAPSHOT --db-path NEW_FOLDER`\n"
        )),
        _ => Err(task_failure("makes the snapshot", &task)),
    }
}
