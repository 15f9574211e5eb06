//! Headers by which a replica asks for the task numbers of its original (`--experimental-replication-parameters`).
//!
//! They belong to the request, not to what its route does, so routes know nothing of them: they are read before the route
//! runs and are there when it registers its task.

use std::future::Future;

use lamina_base::error::{ApiError, ApiResult, Code};
use warp::http::HeaderMap;

/// Replication parameters in the headers of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replication {
    /// Uid of the new task.
    pub(crate) task_uid: Option<u32>,
    /// Check everything, register nothing.
    pub(crate) is_dry_run: bool,
}

tokio::task_local! {
    static OF_REQUEST: Replication;
}

impl Replication {
    /// Reads the headers.
    ///
    /// # Errors
    /// `bad_request` for a number or a switch that is none.
    pub(super) fn of(headers: &HeaderMap) -> ApiResult<Replication> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
        let refuse = |message: String| ApiError::new(Code::BadRequest, message);
        let task_uid = text("taskid")
            .map(|text| text.parse().map_err(|error| refuse(format!("Could not parse the TaskId as a u32: {error}"))))
            .transpose()?;
        let is_dry_run = text("dryrun")
            .map(|text| text.parse().map_err(|error| refuse(format!("Could not parse the DryRun as a bool: {error}"))))
            .transpose()?;
        Ok(Replication { task_uid, is_dry_run: is_dry_run.unwrap_or(false) })
    }

    /// Runs `work` for a request with these headers.
    pub(super) async fn during<F: Future>(self, work: F) -> F::Output {
        OF_REQUEST.scope(self, work).await
    }

    /// Returns the parameters of the current request: none, unless the option is on.
    pub(crate) fn of_request() -> Replication {
        OF_REQUEST.try_with(|replication| *replication).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_with_care() {
        let of = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            Replication::of(&headers).map_err(|error| error.message)
        };
        assert_eq!(of("taskid", "12"), Ok(Replication { task_uid: Some(12), is_dry_run: false }));
        assert_eq!(of("dryrun", "true"), Ok(Replication { task_uid: None, is_dry_run: true }));
        assert!(of("taskid", "-1").unwrap_err().starts_with("Could not parse the TaskId as a u32: "));
        assert!(of("dryrun", "maybe").unwrap_err().starts_with("Could not parse the DryRun as a bool: "));
        assert_eq!(Replication::of_request(), Replication::default());
    }
}
