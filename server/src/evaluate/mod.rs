//! `lamina evaluate`: how good answers are, by the judgements of a user.
//!
//! A client like any other: it sends the judged queries to a running server, once for each way of searching that is to
//! be compared, and prints nDCG and MRR side by side. The exit status says whether what was demanded was reached, so a
//! change of settings can be guarded by a test.

mod judgement;
mod measure;

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use reqwest::Method;
use serde_json::{Map, Value, json};
use thiserror::Error;

use judgement::{Judgement, JudgementError, read_judgements};
use measure::{Quality, ndcg, reciprocal_rank};

use crate::client::{Client, ClientError, ServerArgs, run_to_end};
use crate::console;
use crate::options;

/// Measure the quality of answers with judged queries.
#[derive(Debug, Clone, ClapArgs)]
pub struct Args {
    /// One JSON object a line: `{"q": "red fox", "relevant": {"17": 3, "4": 1}}` or `"relevant": ["17", "4"]`; with
    /// `"search": {…}` for parameters of this query only.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The index that is searched.
    #[arg(short, long, value_name = "UID")]
    index: String,
    #[command(flatten)]
    server: ServerArgs,
    /// A way of searching: a name and search parameters as JSON, e.g.
    /// `hybrid={"hybrid":{"embedder":"e","semanticRatio":0.5}}`, and with `indexUid` another index, to compare settings. Several
    /// are compared; without any, words alone.
    #[arg(long = "with", value_name = "NAME=JSON", value_parser = parse_variant)]
    variants: Vec<Variant>,
    /// Hits that are looked at.
    #[arg(short = 'k', long, value_name = "COUNT", default_value = "10", value_parser = options::count::<u16>)]
    depth: u16,
    /// Fail when another way of searching has a higher nDCG than the last one.
    #[arg(long)]
    last_is_best: bool,
    /// Fail when nDCG is lower for the last way of searching.
    #[arg(long, value_name = "0..1", value_parser = share)]
    min_ndcg: Option<f64>,
    /// Fail when MRR is lower for the last way of searching.
    #[arg(long, value_name = "0..1", value_parser = share)]
    min_mrr: Option<f64>,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.trim().parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is not a share: expected a number from 0 to 1"))
}

/// A way of searching.
#[derive(Debug, Clone)]
struct Variant {
    name: String,
    /// Instead of the one that all others search.
    index: Option<String>,
    parameters: Map<String, Value>,
}

fn parse_variant(text: &str) -> Result<Variant, String> {
    let (name, json) = text.split_once('=').ok_or("expected NAME=JSON")?;
    let parameters = serde_json::from_str(json).map_err(|error| format!("`{json}` is no JSON object: {error}"));
    let mut parameters: Map<String, Value> = parameters?;
    let index = match parameters.remove("indexUid") {
        None => None,
        Some(Value::String(index)) => Some(index),
        Some(other) => return Err(format!("`indexUid` must be a string, not `{other}`")),
    };
    Ok(Variant { name: name.to_owned(), index, parameters })
}

/// Why nothing could be measured.
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
    #[error("what was measured cannot be printed: {0}")]
    Print(std::io::Error),
}

/// Nothing could be measured: neither good nor bad news of the answers.
const UNMEASURED: u8 = 2;

/// Measures and prints. The exit status is 0 when all demands are met, 1 when one is not, 2 when nothing could be measured.
pub fn run(args: &Args) -> ExitCode {
    match run_to_end(evaluate(args)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            console::line(format_args!("lamina evaluate: {error}"));
            ExitCode::from(UNMEASURED)
        }
    }
}

async fn evaluate(args: &Args) -> Result<bool, EvaluateError> {
    let file = args.file.display().to_string();
    let opened = File::open(&args.file).map_err(|source| EvaluateError::Read { file: file.clone(), source })?;
    let judgements =
        read_judgements(BufReader::new(opened)).map_err(|source| EvaluateError::Judgement { file, source })?;
    let server = Server { client: Client::new(&args.server)?, args };
    let words = [Variant { name: "words".to_owned(), index: None, parameters: Map::new() }];
    let variants = if args.variants.is_empty() { &words[..] } else { &args.variants };
    let width = variants.iter().map(|variant| variant.name.chars().count()).max().unwrap_or(0).max(6);
    let print = |line: fmt::Arguments<'_>| console::print(&format!("{line}\n")).map_err(EvaluateError::Print);
    print(format_args!("{} queries, {} hits each", judgements.len(), args.depth))?;
    let ndcg_title = format!("nDCG@{}", args.depth);
    print(format_args!("{:width$}  {ndcg_title:>7}  {:>7}  {:>10}", "search", "MRR", "unanswered"))?;
    let (mut last, mut best) = (Quality::default(), (0.0, ""));
    for variant in variants {
        last = server.quality(variant, &judgements).await?;
        if last.ndcg() > best.0 {
            best = (last.ndcg(), &variant.name);
        }
        let (name, unanswered) = (&variant.name, last.unanswered);
        print(format_args!("{name:width$}  {:>7.4}  {:>7.4}  {unanswered:>10}", last.ndcg(), last.mrr()))?;
    }
    let reached = |name: &str, found: f64, demanded: Option<f64>| match demanded {
        Some(demanded) if found < demanded => {
            console::line(format_args!("{name} is {found:.4}, below {demanded}"));
            false
        }
        _ => true,
    };
    let ndcg_reached = reached("nDCG", last.ndcg(), args.min_ndcg);
    let mrr_reached = reached("MRR", last.mrr(), args.min_mrr);
    let is_beaten = args.last_is_best && last.ndcg() < best.0;
    if is_beaten {
        console::line(format_args!("nDCG is {:.4}, and `{}` has {:.4}", last.ndcg(), best.1, best.0));
    }
    Ok(ndcg_reached && mrr_reached && !is_beaten)
}

struct Server<'a> {
    client: Client,
    args: &'a Args,
}

impl Server<'_> {
    async fn primary_key(&self, uid: &str) -> Result<String, EvaluateError> {
        let index = self.client.call(Method::GET, self.client.route(&["indexes", uid]), None).await?;
        let key = index["primaryKey"].as_str();
        key.map(str::to_owned).ok_or_else(|| EvaluateError::NoPrimaryKey(uid.to_owned()))
    }

    async fn quality(&self, variant: &Variant, judgements: &[Judgement]) -> Result<Quality, EvaluateError> {
        let uid = variant.index.as_ref().unwrap_or(&self.args.index);
        let (route, primary_key) = (self.client.route(&["indexes", uid, "search"]), self.primary_key(uid).await?);
        let mut quality = Quality::default();
        for judgement in judgements {
            let mut body = variant.parameters.clone();
            body.extend(judgement.search.clone());
            body.insert("q".into(), json!(judgement.q));
            body.insert("limit".into(), json!(self.args.depth));
            let answer = self.client.call(Method::POST, route.clone(), Some(&Value::Object(body))).await?;
            let hits = answer["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
            let grades: Vec<f64> = hits.iter().map(|hit| judgement.grade(&hit[&*primary_key])).collect();
            let ideal: Vec<f64> = judgement.relevant.values().copied().collect();
            quality.add(ndcg(&grades, &ideal, usize::from(self.args.depth)), reciprocal_rank(&grades));
        }
        Ok(quality)
    }
}
