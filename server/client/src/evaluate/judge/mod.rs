//! `lamina judge`: from what users did to judged queries, which `evaluate` and `tune` read.

mod log;
mod model;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args as ClapArgs;
use lamina_base::console;
use lamina_base::plural::counted;
use lamina_base::timestamp::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::judgement::Judgement;
use super::statistics::mean;
use super::{EvaluateError, UNMEASURED, read_trec};
use log::Log;
use model::{Fit, wilson};

/// The best grade; the worst is 0.
const GRADE_MAX: f64 = 3.0;

/// Make judged queries from clicks, votes or TREC files.
#[derive(Debug, Clone, ClapArgs)]
pub struct JudgeArgs {
    /// Searches with their hits and clicks, a JSON object a line, and votes. `-` is standard input.
    ///
    /// `{"queryUid": "…", "userId": "…", "q": "red fox", "hits": ["17", "4"], "clicks": [{"objectId": "4", "position": 1}]}`, optionally with `at`
    /// (milliseconds since 1970, or RFC 3339), `offset` of the first hit, and `search`: parameters such as a filter. A vote is
    /// `{"userId": "…", "q": "red fox", "objectId": "17", "vote": 1}`, or -1.
    #[arg(value_name = "FILE", required_unless_present = "topics", conflicts_with = "topics")]
    file: Option<PathBuf>,
    /// Instead of FILE: TREC topics, or lines with a number, a tab and a query.
    #[arg(long, value_name = "FILE", requires = "qrels")]
    topics: Option<PathBuf>,
    /// The judgements of the topics, one per line: query, iteration, document and grade.
    #[arg(long, value_name = "FILE", requires = "topics")]
    qrels: Option<PathBuf>,
    /// File for the judged queries, which `lamina evaluate` and `lamina tune` read.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Leave out queries that were searched less often, by different users.
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = lamina_base::options::count::<u32>)]
    min_searches: u32,
    /// Print the report and errors as JSON, for programs.
    #[arg(long)]
    json: bool,
}

/// Writes judged queries and reports what they are made of. The exit status is 2 if there are none.
pub fn run(args: &JudgeArgs) -> ExitCode {
    match judge(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("judge", args.json, &error, None);
            ExitCode::from(UNMEASURED)
        }
    }
}

fn judge(args: &JudgeArgs) -> Result<(), EvaluateError> {
    let shown = |path: &Path| path.display().to_string();
    let (lines, report) = match (&args.topics, &args.qrels) {
        (Some(topics), Some(qrels)) => of_trec(&read_trec(topics, qrels)?),
        _ => {
            let path = args.file.as_deref().unwrap_or(Path::new("-"));
            let failed = |source| EvaluateError::Read { file: shown(path), source };
            let (mut log, now) = (Log::default(), Timestamp::now().nanos() / 1_000_000);
            match path == Path::new("-") {
                true => log.read(io::stdin().lock(), now).map_err(failed)?,
                false => log.read(BufReader::new(File::open(path).map_err(failed)?), now).map_err(failed)?,
            }
            of_log(&log, args.min_searches)
        }
    };
    if lines.is_empty() {
        return Err(EvaluateError::NoJudgement(report.as_text()));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&args.output, text).map_err(|source| EvaluateError::Read { file: shown(&args.output), source })?;
    let said = if args.json { format!("{:#}", json!(report)) } else { report.as_text() };
    console::print(&format!("{said}\n")).map_err(EvaluateError::Print)
}

/// Source and size of the judged queries.
#[derive(Debug, Default, Serialize)]
struct Report {
    searches: usize,
    queries: usize,
    judgements: usize,
    /// Name of the click model; `None` without searches.
    model: Option<&'static str>,
    /// Examination of each place, relative to the place that is examined most.
    examination: Vec<f64>,
    dropped: BTreeMap<&'static str, usize>,
}

impl Report {
    fn as_text(&self) -> String {
        let queries = format!("{} with {}", counted(self.queries, "query"), counted(self.judgements, "judgement"));
        let mut said = vec![format!("{queries} from {}.", counted(self.searches, "search"))];
        if let Some(model) = self.model {
            let places: Vec<String> = self.examination.iter().take(10).map(|share| format!("{share:.2}")).collect();
            said.push(format!("Model: {model}. Examined by place: {}", places.join(" ")));
        }
        if !self.dropped.is_empty() {
            let dropped = self.dropped.iter().map(|(reason, count)| format!("\n  {count} {reason}"));
            said.push(format!("Left out:{}", dropped.collect::<String>()));
        }
        said.join("\n")
    }
}

fn of_trec(judgements: &[Judgement]) -> (Vec<Value>, Report) {
    let line = |judgement: &Judgement| json!({ "id": judgement.id, "q": judgement.q, "relevant": judgement.relevant });
    let count = judgements.iter().map(|judgement| judgement.relevant.len()).sum();
    let report = Report { queries: judgements.len(), judgements: count, ..Report::default() };
    (judgements.iter().map(line).collect(), report)
}

/// Counts of a document of a query.
#[derive(Clone, Copy, Default)]
struct Evidence {
    shown: u32,
    clicks: u32,
    /// Expected number of times that it was examined, by the model.
    examined: f64,
}

fn of_log(log: &Log, searches_min: u32) -> (Vec<Value>, Report) {
    let cells = log.cells();
    let fit = Fit::of(&cells, log.pair_count());
    let votes = log.votes();
    let mut evidence = vec![Evidence::default(); log.pair_count()];
    for cell in &cells {
        let of = &mut evidence[cell.pair];
        *of = Evidence {
            shown: of.shown + cell.shown,
            clicks: of.clicks + cell.clicks,
            examined: of.examined + fit.examined(cell),
        };
    }
    let model = if fit.is_fitted { "position-based" } else { "clicks over expected clicks" };
    let mut report = Report { searches: log.searches, dropped: log.dropped.clone(), ..Report::default() };
    if !cells.is_empty() {
        (report.model, report.examination) = (Some(model), fit.examination.clone());
    }
    let unjudged = unjudged(&evidence, &fit);
    let mut lines = Vec::new();
    for ((q, parameters), documents) in log.queries() {
        let most = documents.values().map(|pair| evidence[*pair].shown).max().unwrap_or(0);
        let has_votes = documents.values().any(|pair| votes.contains_key(pair));
        let is_clicked = most >= searches_min && unjudged > 0.0;
        if !is_clicked && !has_votes {
            *report.dropped.entry("queries with too few searches or clicks").or_default() += 1;
            continue;
        }
        let (mut relevant, mut about) = (Map::new(), Map::new());
        for (id, pair) in documents {
            let Evidence { shown, clicks, examined } = evidence[pair];
            let (low, high) = wilson(f64::from(clicks), examined.max(f64::from(clicks)));
            let mut of_clicks = json!({ "shown": shown, "clicks": clicks, "examined": hundredths(examined),
                "attraction": hundredths(fit.attraction[pair]), "low": hundredths(low), "high": hundredths(high) });
            let gain = match votes.get(&pair) {
                Some((up, down)) => {
                    (of_clicks["up"], of_clicks["down"]) = (json!(up), json!(down));
                    f64::from(*up) / f64::from(up + down)
                }
                None if shown < searches_min || !is_clicked => continue,
                None => gain(fit.attraction[pair], fit.mean),
            };
            relevant.insert(id.to_owned(), json!(grade(gain)));
            about.insert(id.to_owned(), of_clicks);
        }
        report.judgements += relevant.len();
        let mut line = json!({ "q": q, "relevant": relevant, "evidence": about });
        if is_clicked {
            line["unjudged"] = json!(grade(unjudged));
        }
        if let Ok(parameters) = serde_json::from_str::<Value>(parameters) {
            line["search"] = parameters;
        }
        lines.push(line);
    }
    report.queries = lines.len();
    (lines, report)
}

/// The gain of a document, from 0 to 1: how far it attracts more than the mean.
fn gain(attraction: f64, mean: f64) -> f64 {
    if mean < 1.0 { ((attraction - mean) / (1.0 - mean)).max(0.0) } else { attraction }
}

/// The gain that is assumed of documents that were not shown: half of what those have that were. If it were 0, what is shown now would
/// be the best; if it were the mean, what is new would be as good as what was chosen (decision 0117).
fn unjudged(evidence: &[Evidence], fit: &Fit) -> f64 {
    let shown = evidence.iter().zip(&fit.attraction).filter(|(evidence, _)| evidence.shown > 0);
    let gains: Vec<f64> = shown.map(|(_, attraction)| gain(*attraction, fit.mean)).collect();
    mean(&gains) / 2.0
}

/// The grade whose gain in nDCG, 2 to its power less 1, grows in step with a gain from 0 to 1.
fn grade(gain: f64) -> f64 {
    hundredths((1.0 + (GRADE_MAX.exp2() - 1.0) * gain).log2())
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
