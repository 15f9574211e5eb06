//! The life of a server: from its options to the last answered request.

mod again;
mod committing;
mod expiring;
mod guarding;
mod opening;
mod remembering;
mod replicating;
mod sampling;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use lamina_base::console::{self, Severity};
use lamina_base::options::{
    self, MasterKeyError, Options, OutboundRequests, Unprotected, check_master_key, core_count, suggested_master_key,
};
use lamina_base::outbound::{Outbound, OutboundError};
use lamina_base::process_limits::{connections_max, raise_open_files};
use lamina_base::stopping::Stopping;
use lamina_base::{crash_mark, logs, memory};
use lamina_data::access::KeyStore;
use lamina_data::instance::{Instance, InstanceError, Older, VERSION, check_ours};
use lamina_data::tasks::{Content, NewTask, Stage, StoreError, TaskQueue};
use lamina_data::webhooks::{Deliveries, Webhook, Webhooks};
use lamina_engine::index::embedding::EmbedderProvider;
use lamina_engine::index::{IndexOptions, MergePolicy, Snapshot};
use lamina_engine::search::warm_up;
use lamina_models::embedders::{EmbedderOptions, Embedders};
use lamina_replication::{ObjectError, Replication, Role};
use rustix::fs::Mode;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

use crate::api::ROUTES;
use crate::api::middleware::Front;
use crate::app::{AppState, Opened};
use crate::banner;
use crate::http::routing::dispatch;
use crate::http::{ConnectionLimits, Origins, TlsError, listen, serve as accept, tls_acceptor};
use crate::usage_report::{self, traces};
use crate::work::backup::{self, BackupError, BackupPlaces, ImportError};
use crate::work::worker::{Limits, Scheduler, StartError};
use committing::commit_events;
use expiring::remove_expired;
use guarding::guard_experiments;
use opening::open_instance;
use remembering::{keep_queries, save_queries};
use replicating::{Replicating, prepare, replicate, settle_role};
use sampling::keep_history;

/// Threads that serve connections hand all work to others. Where there are as many as cores they mostly wake each other.
const CORES_PER_CONNECTION_THREAD: usize = 2;
/// Time that an idle thread is kept. The allocator holds a megabyte or two for each.
const IDLE_THREAD: std::time::Duration = std::time::Duration::from_secs(1);
/// Indexes whose frequent words are looked up at the start, which takes megabytes for each; those of others are when they
/// are searched.
const WARMED_UP: usize = 8;

/// Reason why the server did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The master key is not good enough for production.
    #[error(
        "{0}\n\nWe generated a new secure master key for you (you can safely use this token):\n\n>> --master-key {1} <<"
    )]
    MasterKey(MasterKeyError, String),
    /// The certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The copy to start from cannot be used.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Snapshots cannot go where they should.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The database folder cannot be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The tasks cannot be carried on.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}; --http-addr takes another address or port")]
    Listen {
        /// Address as in the options.
        address: String,
        /// The error of the file system.
        source: io::Error,
    },
    /// Everyone in the network could do everything.
    #[error(
        "without a master key, anyone who reaches {0} could read and change everything: set one with `--master-key` \
         (`SVC_MASTER_KEY`), or listen on `localhost` only, or say `--unprotected anywhere` (`SVC_UNPROTECTED=anywhere`) if \
         something else guards this server\n\nWe generated a new secure master key for you (you can safely use this \
         token):\n\n>> --master-key {1} <<"
    )]
    Unprotected(SocketAddr, String),
    /// The keys cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing can be published or followed.
    #[error("cannot use the store of `--publish` or `--follow`: {0}")]
    Replication(String),
    /// No requests can be made.
    #[error("cannot set up outbound requests: {0}")]
    Outbound(#[from] OutboundError),
    /// No threads, no signals.
    #[error("cannot start: {0}")]
    Io(#[from] io::Error),
}

/// The webhook that the options name.
fn task_webhook(options: &OutboundRequests) -> Option<Webhook> {
    let url = options.task_webhook_url.clone()?;
    Some(Webhook::of_command_line(url, options.task_webhook_authorization_header.clone()))
}

/// Puts the port that the system chose in the place of 0: links to this server have it.
fn name_port(address: &mut String, addresses: &[SocketAddr]) {
    if let Some(host) = address.strip_suffix(":0") {
        *address = format!("{host}:{}", addresses[0].port());
    }
}

/// Message to a user that the server is ready.
pub enum Ready {
    /// The banner, with the configuration file that was read.
    Banner(Option<PathBuf>),
    /// A call with the address, instead of the banner. Requests to it are answered soon.
    Call(Box<dyn FnOnce(SocketAddr)>),
}

impl Ready {
    fn announce(self, state: &AppState, addresses: &[SocketAddr]) {
        match self {
            Ready::Banner(config_file) => banner::print(state, config_file.as_deref(), addresses),
            Ready::Call(call) => call(addresses[0]),
        }
    }
}

/// Serves until SIGTERM or SIGINT. Blocks.
///
/// # Errors
/// When the server cannot start; nothing was served then.
pub fn serve(mut options: Options, ready: Ready) -> Result<ExitCode, ServeError> {
    let warning = check_master_key(options.service.env, options.service.master_key.as_deref())
        .map_err(|error| ServeError::MasterKey(error, suggested_master_key()))?;
    memory::bound_free_memory(options::usable_memory_bytes());
    let tls = options.tls.resolved().map(|tls| tls_acceptor(&tls)).transpose()?;
    logs::start(options.logging.log_level, options.logging.experimental_logs_mode, options.secrets());
    options.removed_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
    options::twin_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
    let open_files = raise_open_files();
    // Documents, keys and dumps are private to the user of the process, wherever the folders are.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(core_count().div_ceil(CORES_PER_CONNECTION_THREAD))
        .enable_all()
        .thread_name("http")
        .thread_keep_alive(IDLE_THREAD)
        .build()?;
    let _guard = runtime.enter();
    // The address comes first: a server that cannot be reached should not touch the database.
    let address = &mut options.service.http_addr;
    let listeners =
        runtime.block_on(listen(address)).map_err(|source| ServeError::Listen { address: address.clone(), source })?;
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
    name_port(address, &addresses);
    check_reach(&options, &addresses)?;
    let opened = open(&options)?;
    // Before the first task is carried out: there may be others before it.
    let prepared = match prepare(&options, &opened) {
        Ok(prepared) => prepared,
        // It was the writer when it looked, and is a follower now.
        Err(ObjectError::TakenOver(reason)) if options.replication.standby => {
            tracing::warn!("{reason}");
            return Err(again::begin().into());
        }
        Err(error) => return Err(ServeError::Replication(error.to_string())),
    };
    let deliveries = deliveries(&options, &opened);
    let scheduler = start_scheduler(&options, &opened)?;
    let state = Arc::new(AppState::new(options, opened));
    let replicating = replicate(&state, prepared).map_err(|error| ServeError::Replication(error.to_string()))?;
    ready.announce(&state, &addresses);
    warn(&state, warning);
    let background = Background::start(&state, scheduler, deliveries, replicating)?;
    let (status, stopping) = runtime.block_on(async {
        let connections = ConnectionLimits {
            patience: state.options.service.client_timeout,
            count_max: connections_max(open_files),
            drain: Stopping::drain_time(state.options.service.shutdown_timeout),
        };
        serve_requests(&state, Listening { listeners, addresses, tls, connections }, &background.scheduler).await
    })?;
    state.embedders.stop();
    background.stop(&state, &stopping, &runtime);
    tracing::info!("stopped");
    match status {
        Some(status) => Ok(ExitCode::from(status)),
        None => Err(again::begin().into()),
    }
}

/// Opens the database, with the tasks, keys and webhooks in it, and what makes requests for them.
fn open(options: &Options) -> Result<Opened, ServeError> {
    let outbound = Outbound::new(options.outbound.experimental_allowed_ip_networks.clone())?;
    let embedders = Arc::new(Embedders::new(outbound.clone(), embedder_options(options)));
    let index_options = index_options(options, &embedders);
    check_ours(&options.service.db_path)?;
    backup::import(options, &index_options)?;
    let (mut instance, store, at_start) = open_instance(options, index_options, &outbound)?;
    if at_start.role == Role::Replica {
        instance = instance.following();
    }
    settle_role(at_start, &store, options)?;
    if let Some(count) = options.indexing.max_open_indexes {
        instance = instance.keeping_open(count.get());
    }
    let queue = TaskQueue::new(store)
        .with_delay_max(options.indexing.queue_delay_max())
        .after_abort(crash_mark::watch(&options.service.db_path)?);
    if let Some(older) = instance.older_version() {
        upgrade(&instance, older, &queue, at_start.role)?;
    }
    let (instance, queue, replication) = (Arc::new(instance), Arc::new(queue), Replication::at_start(at_start).into());
    let keys = KeyStore::open(queue.store().connect()?, options.service.master_key.as_deref())?;
    let webhooks = Arc::new(Webhooks::open(queue.store().connect()?, task_webhook(&options.outbound))?);
    Ok(Opened { instance, queue, outbound, embedders, keys, webhooks, replication })
}

/// Makes the database one of this version. A replica has no tasks of its own; its indexes are those of the writer.
fn upgrade(instance: &Instance, older: &Older, queue: &TaskQueue, role: Role) -> Result<(), ServeError> {
    let from = &older.version;
    if role != Role::Replica {
        let upgrade = Content::UpgradeDatabase { from: from.clone(), to: VERSION.to_owned() };
        queue.enqueue_now(NewTask::global(upgrade))?;
    }
    // After the task: a crash in between leads to a second one, not to none.
    instance.set_version()?;
    let way_back = match &older.kept {
        Some(kept) => format!("{} has its earlier files until the next start", kept.display()),
        None => "no copy of its earlier files could be kept".to_owned(),
    };
    let folder = instance.folder().display();
    console::say(Severity::Info, format_args!("upgraded {folder} from version {from} to {VERSION}; {way_back}"));
    Ok(())
}

/// From here on, tasks are carried out.
fn start_scheduler(options: &Options, opened: &Opened) -> Result<Scheduler, ServeError> {
    let scheduler = Scheduler::start(
        Arc::clone(&opened.queue),
        Arc::clone(&opened.instance),
        BackupPlaces::new(options, &opened.outbound)?,
        opened.outbound.clone(),
        limits(options, opened.replication.holds_tasks()),
    )?;
    Ok(scheduler)
}

/// Logs warnings about the options of the start.
fn warn(state: &AppState, of_master_key: Option<&str>) {
    if let Some(warning) = of_master_key {
        tracing::warn!("{warning} For example: --master-key {}", suggested_master_key());
    }
    if state.options.indexing.memory_is_short() {
        tracing::warn!("--max-indexing-memory is below the minimum of 128 MiB: indexing may use more than that.");
    }
    let replication = &state.options.replication;
    if state.replication.role() == Role::Publisher
        && replication.takeover_after().is_some()
        && !replication.is_to_be_in_store()
    {
        tracing::warn!(
            "writes that this server has acknowledged but not published are lost if a standby takes over: clients should \
             resend unfinished writes, or start all servers with `--durability store`"
        );
    }
    if let Err(missing) = state.outbound.check_https() {
        tracing::warn!("{missing}. Webhooks, embedders and all other requests to `https` addresses will fail.");
    }
}

/// Listeners of the server, and the limits of their connections.
struct Listening {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    tls: Option<TlsAcceptor>,
    connections: ConnectionLimits,
}

/// Serves connections until a signal comes and those that are there have ended; the exit status that the signal asks for, or none
/// where the process is to begin again.
async fn serve_requests(
    state: &Arc<AppState>,
    listening: Listening,
    scheduler: &Scheduler,
) -> io::Result<(Option<u8>, Arc<Stopping>)> {
    let service = &state.options.service;
    let has_key = state.access.keys().master_key().is_some();
    let origins = Origins::new(has_key, &service.allowed_origins.0, &service.http_addr, &listening.addresses);
    let routes = hyper_util::service::TowerToHyperService::new(warp::service(dispatch(state, ROUTES)));
    let front = Front::new(routes, ROUTES, Arc::clone(state), origins);
    let mut stop = Stop::new()?;
    let limit = service.shutdown_timeout;
    let mut begun = None;
    let shutdown = async {
        let status = tokio::select! {
            status = stop.wait() => Some(status),
            () = state.replication.is_to_begin_again() => None,
        };
        let of_state = Arc::downgrade(state);
        let running = move || of_state.upgrade().map_or_else(String::new, |state| under_way(&state));
        begun = Some((status, Stopping::begin(limit, status.unwrap_or(1), running)));
        scheduler.is_to_stop();
        // Its reader would go on for ever.
        logs::stop_listening(None);
        state.queue.close_feed();
        // A second signal means: now. Whatever is under way is carried out again at the next start.
        tokio::spawn(async move {
            stop.wait().await;
            std::process::exit(INTERRUPTED.into());
        });
    };
    accept(listening.listeners, listening.tls, listening.connections, front, shutdown).await;
    Ok(begun.expect("connections are accepted until a signal comes"))
}

/// Parts that work besides the requests.
struct Background {
    scheduler: Scheduler,
    deliveries: Arc<Deliveries>,
    scrubbing: Option<std::thread::JoinHandle<()>>,
    replicating: Replicating,
    /// Thread that commits events.
    events: std::thread::JoinHandle<()>,
    /// Senders and tasks for the usage reports: the sender ends a report, which sends the rest, and the task is
    /// awaited.
    reports: Vec<(watch::Sender<bool>, JoinHandle<()>)>,
}

impl Background {
    fn start(
        state: &Arc<AppState>,
        scheduler: Scheduler,
        deliveries: Arc<Deliveries>,
        replicating: Replicating,
    ) -> io::Result<Background> {
        open_indexes(state);
        let scrubbing = state.scrubber.start(Arc::clone(&state.instance), &state.options.scrubbing)?;
        let events = commit_events(&state.instance)?;
        schedule_snapshots(state);
        remove_expired(state);
        guard_experiments(state);
        keep_queries(state);
        keep_history(state);
        Ok(Background { scheduler, deliveries, scrubbing, replicating, events, reports: report(state) })
    }

    /// Ends it, one after the other, in the time that `stopping` leaves.
    fn stop(self, state: &AppState, stopping: &Stopping, runtime: &Runtime) {
        tracing::info!("waiting for the running batch");
        state.scrubber.stop();
        stopping.enter("the running batch");
        self.scheduler.stop(stopping.batch_grace());
        if let Some(scrubbing) = self.scrubbing {
            stopping.enter("the scrubber");
            // Gone only if it panicked, and then there is nothing to wait for.
            let _ = scrubbing.join();
        }
        stopping.enter("events");
        state.instance.events().stop();
        // Gone only if it panicked, and then there is nothing to wait for.
        let _ = self.events.join();
        // What the last batch wrote is published.
        stopping.enter("the store of replicas");
        drop(self.replicating);
        save_queries(state);
        stopping.enter("webhooks");
        runtime.block_on(self.deliveries.drain(stopping.delivery_grace()));
        for (stopped, sending) in self.reports {
            stopping.enter("usage figures and spans");
            // The sender is gone only if it panicked, and then there is nothing to wait for.
            let _ = stopped.send(true);
            let _ = runtime.block_on(sending);
        }
        stopping.enter("threads");
    }
}

/// Describes the running work, for a stop that takes too long.
fn under_way(state: &AppState) -> String {
    let batch = state.queue.live().map(|live| {
        let steps: Vec<String> = live.steps.open().into_iter().map(|step| step.name).collect();
        let at = if steps.is_empty() { format!("{:?}", live.progress.phase()) } else { steps.join(" > ") };
        format!("; batch {} of {} is at: {at}", live.uid, live.index_uid.as_deref().unwrap_or("no index"))
    });
    let searches = state.searches.load().running;
    let searches = (searches > 0).then(|| format!("; searches that run: {searches}"));
    batch.into_iter().chain(searches).collect()
}

/// Refuses an address that others reach where there is no master key, if the options say so.
fn check_reach(options: &Options, addresses: &[SocketAddr]) -> Result<(), ServeError> {
    let has_key = options.service.master_key.as_ref().is_some_and(|key| !key.is_empty());
    if has_key || options.service.unprotected == Unprotected::Anywhere {
        return Ok(());
    }
    match addresses.iter().find(|address| !address.ip().to_canonical().is_loopback()) {
        Some(address) => Err(ServeError::Unprotected(*address, suggested_master_key())),
        None => Ok(()),
    }
}

/// Exit status after an interrupt: 128 + the number of the signal.
const INTERRUPTED: u8 = 130;

/// The two signals that end the server.
struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
    fn new() -> io::Result<Stop> {
        Ok(Stop { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them; the exit status that it asks for.
    async fn wait(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => {
                tracing::info!("terminated: finishing running requests");
                0
            }
            _ = self.interrupt.recv() => {
                tracing::info!("interrupted: finishing running requests");
                INTERRUPTED
            }
        }
    }
}

/// Webhooks are notified of every batch that ends from now on.
fn deliveries(options: &Options, opened: &Opened) -> Arc<Deliveries> {
    let docs = options.error_docs();
    let (webhooks, queue) = (Arc::clone(&opened.webhooks), Arc::clone(&opened.queue));
    let is_packed = !options.outbound.task_webhook_plain;
    let deliveries = Deliveries::new(webhooks, queue, opened.outbound.clone(), docs, is_packed);
    let announcing = Arc::downgrade(&deliveries);
    opened.queue.on_stage(move |batch, stage| {
        if let (Stage::Ended, Some(deliveries)) = (stage, announcing.upgrade()) {
            deliveries.announce(batch);
        }
    });
    deliveries
}

fn embedder_options(options: &Options) -> EmbedderOptions {
    let folder = &options.service.db_path;
    EmbedderOptions {
        cached_queries: options.outbound.experimental_embedding_cache_entries,
        limits: options.outbound.embedder_limits(),
        models_folder: folder.join("models"),
        kept_folder: folder.join("embeddings"),
        kept_bytes_max: options.outbound.embedding_cache_size.bytes(),
    }
}

fn index_options(options: &Options, embedders: &Arc<Embedders>) -> IndexOptions {
    IndexOptions {
        indexing_memory_bytes: usize::try_from(options.indexing.batch_heap_bytes_max()).unwrap_or(usize::MAX),
        indexing_threads: options.indexing.threads(),
        merge_policy: MergePolicy { heap_bytes_max: options.indexing.merge_heap_bytes_max(), ..MergePolicy::default() },
        embedders: Arc::clone(embedders) as Arc<dyn EmbedderProvider>,
        when_merged: Some(look_up_words),
        keep: options.backups.keep,
        ..IndexOptions::default()
    }
}

/// Looks up the frequent words of large segments that are new, and gives back the memory that was needed to make them.
fn look_up_words(snapshot: &Snapshot) {
    if warm_up(snapshot) {
        memory::give_back();
    }
}

fn limits(options: &Options, is_held: bool) -> Limits {
    Limits {
        tasks: options.indexing.experimental_max_number_of_batched_tasks,
        bytes: options.indexing.batch_bytes_max(),
        cleans_up: !options.experimental.experimental_replication_parameters,
        inline_bytes: options.indexing.inline_bytes_max(),
        is_held,
    }
}

/// Asks for a snapshot after every interval, if one is set.
fn schedule_snapshots(state: &Arc<AppState>) {
    let Some(interval) = state.options.backups.schedule_snapshot.0 else { return };
    if state.replication.role() == Role::Replica {
        return;
    }
    let queue = Arc::clone(&state.queue);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = queue.enqueue(NewTask::global(Content::CreateSnapshot)).await {
                tracing::error!(error = %error.message, "cannot enqueue a snapshot");
            }
        }
    });
}

/// Sends usage figures and spans, to collectors that the operator named; how to end that, which sends what is left.
fn report(state: &Arc<AppState>) -> Vec<(watch::Sender<bool>, JoinHandle<()>)> {
    let of = |url: Option<&str>| url.map(|url| (Arc::clone(state), url.to_owned(), watch::channel(false)));
    let figures = of(state.options.service.collector())
        .map(|(state, url, (stopped, receiver))| (stopped, tokio::spawn(usage_report::run(state, url, receiver))));
    let spans = of(state.options.service.trace_collector())
        .map(|(state, url, (stopped, receiver))| (stopped, tokio::spawn(traces::run(state, url, receiver))));
    figures.into_iter().chain(spans).collect()
}

/// Opens the indexes beside the first requests, as many as stay open, so that the first search of each does not wait for it,
/// and looks up the frequent words of the first of them.
fn open_indexes(state: &Arc<AppState>) {
    let state = Arc::clone(state);
    tokio::task::spawn_blocking(move || {
        let uids = state.instance.uids().into_iter().take(state.instance.kept_open_max());
        for (place, uid) in uids.enumerate() {
            match state.instance.state(&uid) {
                Ok(snapshot) if place < WARMED_UP => drop(warm_up(&snapshot)),
                Ok(_) => {}
                Err(error) => tracing::error!(index = uid, error = %error.message, "cannot open an index"),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_port_takes_the_place_of_0() {
        let addresses = ["127.0.0.1:4711".parse().unwrap()];
        for (given, expected) in [("localhost:0", "localhost:4711"), ("[::1]:0", "[::1]:4711"), ("::70", "::70")] {
            let mut address = given.to_owned();
            name_port(&mut address, &addresses);
            assert_eq!(address, expected);
        }
    }
}
