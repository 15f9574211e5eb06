//! What all routes share.

use std::sync::Arc;

use lamina_base::budget::{AnswerBudget, Budgets};
use lamina_base::error::{ApiResult, ErrorDocs};
use lamina_base::options::Options;
use lamina_base::outbound::Outbound;
use lamina_data::access::{Access, KeyStore};
use lamina_data::chats::Chats;
use lamina_data::experiments::Experiments;
use lamina_data::features::Features;
use lamina_data::instance::Instance;
use lamina_data::network::Network;
use lamina_data::observe::{Observations, Spans};
use lamina_data::tasks::TaskQueue;
use lamina_data::telemetry::Telemetry;
use lamina_data::webhooks::Webhooks;
use lamina_models::embedders::Embedders;
use lamina_replication::Replication;

use crate::answer::chat::Turns;
use crate::answer::points_in_time::PointsInTime;
use crate::answer::query_log::QueryLog;
use crate::answer::search::ResponseCache;
use crate::answer::search_pool::SearchPool;
use crate::work::scrub::Scrubber;

/// The server behind the routes. One per process, behind an [`Arc`].
#[derive(Debug)]
pub(crate) struct AppState {
    /// Options of the launch.
    pub options: Options,
    /// Access control.
    pub access: Access,
    /// Base address of error links.
    pub error_docs: ErrorDocs,
    /// The indexes.
    pub instance: Arc<Instance>,
    /// The changes.
    pub queue: Arc<TaskQueue>,
    /// Pool that runs searches.
    pub searches: SearchPool,
    /// Responses to recent searches.
    pub response_cache: Arc<ResponseCache>,
    /// Log of the queries of earlier searches, for completions.
    pub asked: QueryLog,
    /// Memory of requests and answers.
    pub budgets: Budgets,
    /// States of indexes that searches hold on to.
    pub points_in_time: Arc<PointsInTime>,
    /// Switches that clients turn.
    pub features: Features,
    /// Client for requests of the server itself.
    pub outbound: Outbound,
    /// Embedders, which make vectors from texts.
    pub embedders: Arc<Embedders>,
    /// Recorded observations of requests.
    pub observations: Observations,
    /// Requests that are sent to a collector of traces.
    pub spans: Spans,
    /// Figures for an operator who shares them.
    pub telemetry: Telemetry,
    /// Servers that searches can be spread over.
    pub network: Network,
    /// Workspaces of conversations.
    pub chats: Chats,
    /// Comparisons on live searches.
    pub experiments: Experiments,
    /// Turns of conversations.
    pub turns: Turns,
    /// Receivers of news of finished batches.
    pub webhooks: Arc<Webhooks>,
    /// Background check of files against their checksums.
    pub scrubber: Arc<Scrubber>,
    /// Progress of publishing or following.
    pub replication: Arc<Replication>,
}

/// The parts of a server that can fail to open, and those that the scheduler has too.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The indexes.
    pub instance: Arc<Instance>,
    /// The changes.
    pub queue: Arc<TaskQueue>,
    /// Client for requests of the server itself.
    pub outbound: Outbound,
    /// Embedders, which make vectors from texts.
    pub embedders: Arc<Embedders>,
    /// The API keys.
    pub keys: KeyStore,
    /// Receivers of news of finished batches.
    pub webhooks: Arc<Webhooks>,
    /// State of publishing or following.
    pub replication: Arc<Replication>,
}

impl AppState {
    /// Puts the parts together.
    pub(crate) fn new(options: Options, opened: Opened) -> AppState {
        let Opened { instance, queue, outbound, embedders, keys, webhooks, replication } = opened;
        AppState {
            access: Access::new(keys),
            error_docs: options.error_docs(),
            searches: SearchPool::new(&options),
            response_cache: Arc::new(ResponseCache::new(options.searching.answer_cache_size.bytes())),
            asked: QueryLog::open(&options.service.db_path),
            budgets: Budgets::new(&options),
            points_in_time: Arc::default(),
            features: Features::open(&options.service.db_path, &options.preset_features()),
            network: Network::open(&options.service.db_path),
            chats: Chats::open(&options.service.db_path),
            experiments: Experiments::open(&options.service.db_path),
            turns: Turns::default(),
            scrubber: Arc::default(),
            replication,
            observations: Observations::default(),
            spans: Spans::new(options.service.trace_collector().is_some()),
            telemetry: Telemetry::new(options.service.collector().is_some()),
            instance,
            queue,
            outbound,
            embedders,
            webhooks,
            options,
        }
    }

    /// Runs `work`, which makes an answer and counts what it takes in `budget`, on the pool of searches. Where other
    /// answers have taken what is left, it waits for its share, and runs again.
    ///
    /// # Errors
    /// The errors of [`SearchPool::run`], and those of `work`.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        budget: &AnswerBudget,
        work: impl Fn() -> ApiResult<T> + Send + Sync + 'static,
    ) -> ApiResult<T> {
        let work = Arc::new(work);
        let run = || {
            let work = Arc::clone(&work);
            self.searches.run(move || work())
        };
        match run().await? {
            Err(_) if budget.is_short() => {
                budget.reserve().await?;
                run().await?
            }
            result => result,
        }
    }
}
