//! `lamina evaluate`: how good answers are, by the judgements of a user.
//!
//! A client like any other: it sends the judged queries to a running server, once for each way of searching that is to
//! be compared, and prints measures with intervals of confidence side by side, and which questions changed. The exit status says whether what was demanded was reached, so a
//! change of settings can be guarded by a test.
//!
//! `lamina judge` makes judged queries of what users did, `lamina tune` searches for settings that answer them better.

mod asking;
pub mod judge;
mod judgement;
mod measure;
mod report;
mod statistics;
mod trec;
mod trial;
pub mod tune;
mod variant;
mod verdict;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args as ClapArgs;
use lamina_base::console;
use lamina_base::options;
use lamina_base::plural::counted;
use lamina_base::text_file::without_mark;
use serde_json::{Map, Value, json};
use thiserror::Error;

use asking::Server;
use judgement::{Judgement, JudgementError, read_judgements};
use report::{Form, Measured};
use trial::Trials;
use variant::{Sweep, Variant, grid, parse_sweep, parse_variant};
use verdict::Verdict;

use crate::client::{Client, ClientError, ServerArgs, run_to_end};

/// Ways of searching that are measured in one go.
const VARIANTS_MAX: usize = 1000;

/// Measure relevance with judged queries.
#[derive(Debug, Clone, ClapArgs)]
pub struct Args {
    /// Judged queries, one JSON object per line: `{"q": "red fox", "relevant": {"17": 3, "4": 1}}`.
    ///
    /// `"relevant": ["17", "4"]` works, too. `"search": {…}` sets parameters of this query only, `"id"` its name in runs.
    #[arg(value_name = "FILE", required_unless_present = "topics", conflicts_with = "topics")]
    file: Option<PathBuf>,
    /// Instead of FILE: TREC topics, or lines with a number, a tab and a query.
    #[arg(long, value_name = "FILE", requires = "qrels")]
    topics: Option<PathBuf>,
    /// The judgements of the topics, one per line: query, iteration, document and grade.
    #[arg(long, value_name = "FILE", requires = "topics")]
    qrels: Option<PathBuf>,
    #[command(flatten)]
    asking: Asking,
    /// A way of searching: a name and search parameters as JSON, e.g. `any={"matchingStrategy":"any"}`.
    ///
    /// `indexUid` searches another index. `settings` tries an object of settings on a clone; the index itself does not change. Each
    /// further way is compared with the first one. Without this option, plain searches are measured.
    #[arg(long = "with", value_name = "NAME=JSON", value_parser = parse_variant)]
    variants: Vec<Variant>,
    /// Try several values of a parameter in each way of searching: `hybrid.semanticRatio=0.3,0.5`.
    ///
    /// `settings.NAME` sweeps a setting. Several sweeps try every combination.
    #[arg(long = "sweep", value_name = "PATH=VALUE,VALUE", value_parser = parse_sweep)]
    sweeps: Vec<Sweep>,
    /// Write a TREC run of each way of searching into this folder.
    #[arg(long, value_name = "FOLDER")]
    runs: Option<PathBuf>,
    /// Apply the settings of the winner to the index if it beats the first way by more than chance, and print the command that undoes it.
    #[arg(long)]
    apply: bool,
    /// Fail if another way of searching has a higher nDCG than the last one.
    #[arg(long)]
    last_is_best: bool,
    /// Fail if nDCG of the last way of searching is lower.
    #[arg(long, value_name = "0..1", value_parser = share)]
    min_ndcg: Option<f64>,
    /// Fail if MRR of the last way of searching is lower.
    #[arg(long, value_name = "0..1", value_parser = share)]
    min_mrr: Option<f64>,
}

/// Options of commands that send judged queries and print figures.
#[derive(Debug, Clone, ClapArgs)]
struct Asking {
    /// The index to search.
    #[arg(short, long, value_name = "UID")]
    index: String,
    #[command(flatten)]
    server: ServerArgs,
    /// Number of hits to judge.
    #[arg(short = 'k', long, value_name = "COUNT", default_value = "10", value_parser = options::count::<u16>)]
    depth: u16,
    /// Number of hits to request, if more are needed.
    #[arg(long, value_name = "COUNT", value_parser = options::count::<u16>)]
    fetch: Option<u16>,
    /// Ignore hits without a judgement, for sets that judge few documents.
    #[arg(long)]
    judged_only: bool,
    /// Confidence level of intervals.
    #[arg(long, value_name = "0..1", default_value = "0.95", value_parser = share)]
    confidence: f64,
    /// Number of queries that a comparison lists, those with the largest changes.
    #[arg(long, value_name = "COUNT", default_value = "5")]
    changes: usize,
    /// Print results and errors as JSON, for programs.
    #[arg(long)]
    json: bool,
}

impl Asking {
    fn form(&self) -> Form {
        Form { depth: self.depth, confidence: self.confidence, changes: self.changes }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.trim().parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is not a share: expected a number from 0 to 1"))
}

/// Reason why nothing could be measured.
#[derive(Debug, Error)]
enum EvaluateError {
    #[error("{file}: {source}")]
    Read { file: String, source: std::io::Error },
    #[error("{file}: {source}")]
    Judgement { file: String, source: JudgementError },
    #[error(transparent)]
    Server(#[from] ClientError),
    #[error("index `{0}` has no primary key, so its documents cannot be distinguished")]
    NoPrimaryKey(String),
    #[error("{0}")]
    Grid(String),
    #[error("the settings of a way of searching cannot be set: {0}")]
    Settings(String),
    #[error("{reason}")]
    Task { code: String, reason: String },
    #[error(
        "settings are tried on a clone of index `{index}`, which the key may not make: {reason}\nUse a key with the actions \
         `indexes.create`, `indexes.get`, `indexes.delete`, `settings.get`, `settings.update`, `tasks.get` and `search` on \
         `{index}` and `lamina-evaluate-*`, or leave out ways with `settings`"
    )]
    Rights { index: String, reason: String },
    #[error(
        "this server is a replica, on which no clone can be made: ways of searching with `settings` are measured at the writer"
    )]
    Replica,
    #[error("interrupted; the clones of the index are removed")]
    Interrupted,
    #[error("the settings of index `{0}` have changed meanwhile, so nothing was applied: search again")]
    SettingsChanged(String),
    #[error("nothing is judged: {0}")]
    NoJudgement(String),
    #[error("{kept} of {read} judged queries can be used: at least {needed} are needed")]
    Few { kept: usize, read: usize, needed: usize },
    #[error("a budget of {budget} is too small for {queries}: at least {needed} are needed")]
    Budget { budget: String, queries: String, needed: String },
    #[error("cannot print the results: {0}")]
    Print(std::io::Error),
}

impl EvaluateError {
    fn code(&self) -> Option<&str> {
        match self {
            EvaluateError::Server(error) => error.code(),
            EvaluateError::Task { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// Nothing could be measured: neither good nor bad news of the answers.
const UNMEASURED: u8 = 2;

/// Measures and prints. The exit status is 0 when all demands are met, 1 when one is not, 2 when nothing could be measured.
pub fn run(args: &Args) -> ExitCode {
    match run_to_end(evaluate(args)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::failed("evaluate", args.asking.json, &error, error.code());
            ExitCode::from(UNMEASURED)
        }
    }
}

async fn evaluate(args: &Args) -> Result<bool, EvaluateError> {
    let judgements = judgements(args)?;
    let words = Variant { name: "words".to_owned(), index: None, settings: Map::new(), parameters: Map::new() };
    let named = if args.variants.is_empty() { vec![words] } else { args.variants.clone() };
    let size = args.sweeps.iter().map(Sweep::len).fold(named.len(), usize::saturating_mul);
    if size > VARIANTS_MAX {
        return Err(EvaluateError::Grid(format!("{size} ways of searching; at most {VARIANTS_MAX} are allowed")));
    }
    let variants = grid(&named, &args.sweeps).map_err(EvaluateError::Grid)?;
    let server = Server { client: Client::new(&args.asking.server)?, asking: &args.asking };
    let measured = measure(&server, &variants, &judgements).await?;
    if let Some(folder) = &args.runs {
        write_runs(folder, &judgements, &measured)?;
    }
    let form = args.asking.form();
    let verdict = Verdict::of(&measured, form.confidence);
    let winner = verdict.winner().and_then(|name| variants.iter().find(|variant| variant.name == name));
    let applied = match winner {
        Some(winner) if args.apply => apply(&server, winner).await?,
        _ => Value::Null,
    };
    let shown = if args.asking.json {
        let mut shown = report::as_json(&judgements, &measured, form);
        shown["verdict"] = verdict.as_json();
        shown["applied"] = applied;
        format!("{shown:#}")
    } else {
        let lines = [report::table(&judgements, &measured, form), verdict.to_string()];
        let said = args.apply.then(|| applied_in_words(&applied));
        lines.into_iter().chain(said).collect::<Vec<_>>().join("\n\n")
    };
    console::print(&format!("{shown}\n")).map_err(EvaluateError::Print)?;
    Ok(is_as_demanded(args, &measured))
}

/// Measures all ways of searching.
async fn measure(
    server: &Server<'_>,
    variants: &[Variant],
    judgements: &[Judgement],
) -> Result<Vec<Measured>, EvaluateError> {
    // Ways that are compared see the same documents.
    let tries_settings =
        |uid: &str| variants.iter().any(|variant| server.index_of(variant) == uid && !variant.settings.is_empty());
    let is_cloned = variants.iter().any(|variant| tries_settings(server.index_of(variant)));
    let work =
        async |trials: &mut Trials<'_>| measure_with(server, variants, judgements, &tries_settings, trials).await;
    with_trials(&server.client, is_cloned, work).await
}

/// Does work on clones. They are gone when this ends, however it does.
async fn with_trials<T>(
    client: &Client,
    is_cloned: bool,
    work: impl AsyncFnOnce(&mut Trials<'_>) -> Result<T, EvaluateError>,
) -> Result<T, EvaluateError> {
    let mut trials = Trials::new(client);
    if is_cloned {
        let removed = trials.remove_dead().await?;
        if removed > 0 {
            announce(format_args!("removed {} of an earlier run", counted(removed, "clone")));
        }
    }
    let done = tokio::select! {
        biased;
        () = interrupted() => Err(EvaluateError::Interrupted),
        done = work(&mut trials) => done,
    };
    let ended = trials.end().await;
    let done = done?;
    for index in ended? {
        announce(format_args!("index `{index}` has changed meanwhile: it was measured as it was when it was cloned"));
    }
    Ok(done)
}

async fn measure_with(
    server: &Server<'_>,
    variants: &[Variant],
    judgements: &[Judgement],
    tries_settings: &dyn Fn(&str) -> bool,
    trials: &mut Trials<'_>,
) -> Result<Vec<Measured>, EvaluateError> {
    let (mut measured, mut is_replica) = (Vec::new(), false);
    for variant in variants {
        let is_cloned = !is_replica && tries_settings(server.index_of(variant));
        let mut answers = match is_replica && !variant.settings.is_empty() {
            true => Err(EvaluateError::Replica),
            false => server.answers(variant, judgements, trials, is_cloned).await,
        };
        if matches!(answers, Err(EvaluateError::Replica)) {
            is_replica = true;
            if variant.settings.is_empty() {
                answers = server.answers(variant, judgements, trials, false).await;
            } else {
                announce(format_args!("`{}` is left out: {}", variant.name, EvaluateError::Replica));
                continue;
            }
        }
        measured.push(Measured { name: variant.name.clone(), answers: answers? });
    }
    if measured.is_empty() { Err(EvaluateError::Replica) } else { Ok(measured) }
}

/// Returns when the process is asked to end.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Says something beside the results.
fn announce(text: std::fmt::Arguments<'_>) {
    console::line(text);
}

/// Gives the settings of the winner to its index: what was done, and the command that undoes it. Null without settings.
async fn apply(server: &Server<'_>, winner: &Variant) -> Result<Value, EvaluateError> {
    if winner.settings.is_empty() {
        return Ok(Value::Null);
    }
    let before = server.apply(winner).await?;
    let index = server.index_of(winner);
    let change = Value::Object(before).to_string().replace('\'', r"'\''");
    let url = server.client.base();
    let undo = format!("lamina settings set --url '{url}' --index '{index}' '{change}'");
    Ok(json!({ "name": winner.name, "indexUid": index, "settings": winner.settings, "undo": undo }))
}

/// Describes what [`apply`] did.
fn applied_in_words(applied: &Value) -> String {
    let field = |name: &str| applied[name].as_str().unwrap_or_default();
    match applied.is_null() {
        true => "No settings were applied.".to_owned(),
        false => format!(
            "The settings of {} are those of `{}` now. To undo it:\n{}",
            field("name"),
            field("indexUid"),
            field("undo")
        ),
    }
}

fn judgements(args: &Args) -> Result<Vec<Judgement>, EvaluateError> {
    match (&args.topics, &args.qrels) {
        (Some(topics), Some(qrels)) => read_trec(topics, qrels),
        _ => read_file(args.file.as_deref().unwrap_or(Path::new(""))),
    }
}

fn read_file(path: &Path) -> Result<Vec<Judgement>, EvaluateError> {
    let file = || path.display().to_string();
    let opened = File::open(path).map_err(|source| EvaluateError::Read { file: file(), source })?;
    read_judgements(BufReader::new(opened)).map_err(|source| EvaluateError::Judgement { file: file(), source })
}

fn read_trec(topics: &Path, qrels: &Path) -> Result<Vec<Judgement>, EvaluateError> {
    let shown = |path: &Path| path.display().to_string();
    let text = |path: &Path| {
        // Old collections are not always UTF-8.
        let bytes = fs::read(path).map_err(|source| EvaluateError::Read { file: shown(path), source })?;
        Ok::<String, EvaluateError>(String::from_utf8_lossy(without_mark(&bytes)).into_owned())
    };
    let read = trec::read(&text(topics)?, &text(qrels)?);
    read.map_err(|source| EvaluateError::Judgement { file: shown(qrels), source })
}

fn write_runs(folder: &Path, judgements: &[Judgement], measured: &[Measured]) -> Result<(), EvaluateError> {
    let failed = |path: &Path| {
        let file = path.display().to_string();
        move |source| EvaluateError::Read { file, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    for way in measured {
        let tag = trec::tag(&way.name);
        let mut run = String::new();
        for (judgement, answer) in judgements.iter().zip(&way.answers) {
            trec::write_run(&mut run, &judgement.id, &answer.hits, &tag);
        }
        let path = folder.join(format!("{tag}.run"));
        fs::write(&path, run).map_err(failed(&path))?;
    }
    Ok(())
}

fn is_as_demanded(args: &Args, measured: &[Measured]) -> bool {
    let (Some(last), Some(best)) =
        (measured.last(), measured.iter().max_by(|one, other| one.ndcg().total_cmp(&other.ndcg())))
    else {
        return true;
    };
    let say = |text: std::fmt::Arguments<'_>| match args.asking.json {
        true => console::failed("evaluate", true, &text, None),
        false => console::line(text),
    };
    let reached = |name: &str, found: f64, demanded: Option<f64>| match demanded {
        Some(demanded) if found < demanded => {
            say(format_args!("{name} is {found:.4}, below {demanded}"));
            false
        }
        _ => true,
    };
    let ndcg_reached = reached("nDCG", last.ndcg(), args.min_ndcg);
    let mrr_reached = reached("MRR", last.mrr(), args.min_mrr);
    let is_beaten = args.last_is_best && last.ndcg() < best.ndcg();
    if is_beaten {
        say(format_args!("nDCG is {:.4}, and `{}` has {:.4}", last.ndcg(), best.name, best.ndcg()));
    }
    ndcg_reached && mrr_reached && !is_beaten
}

/// Cases worked out by hand, which the page reads too.
#[cfg(test)]
fn golden_cases(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../../../../tests/golden/measures.json")).unwrap();
    all[name].as_array().unwrap().clone()
}
