//! `lamina tune`: searches for settings that answer judged queries better.
//!
//! Settings are chosen on one part of the queries and tested on the other, which they have not seen: what is found among many ways
//! of searching is fitted to chance, too. Every trial is a change of settings of one clone; the index itself changes with `--apply` alone.

mod search;
mod space;

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use indicatif::{ProgressBar, ProgressStyle};
use lamina_base::console;
use lamina_base::options;
use lamina_base::plural::counted;
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::asking::Server;
use super::judgement::{Judgement, id_text};
use super::report::{self, Change, Form, Measured};
use super::statistics::{Chance, mean};
use super::trial::Trials;
use super::variant::Variant;
use super::verdict::Verdict;
use super::{Asking, EvaluateError, UNMEASURED, applied_in_words, apply, read_file, with_trials};
use crate::client::{Client, run_to_end};
use search::{Point, search};
use space::Space;

/// Queries of which a part is held out, at least.
const QUERIES_MIN: usize = 4;
/// Ids of a request.
const PAGE: usize = 1000;

/// Search for settings that answer judged queries better.
#[derive(Debug, Clone, ClapArgs)]
pub struct TuneArgs {
    /// Judged queries, in the format of `lamina evaluate`. `lamina judge` makes them from clicks.
    #[arg(long, value_name = "FILE")]
    judgements: PathBuf,
    #[command(flatten)]
    asking: Asking,
    /// Number of searches to send at most.
    #[arg(long, value_name = "COUNT", default_value = "50000", value_parser = options::count::<u32>)]
    budget: u32,
    /// Share of the queries that settings are tested on. They are chosen on the others.
    #[arg(long, value_name = "0..1", default_value = "0.5", value_parser = super::share)]
    held_out: f64,
    /// Number that chance begins with. The same number gives the same result.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// Apply the settings to the index if they are better by more than chance, and print the command that undoes it.
    ///
    /// Then only settings are tried, no parameters of requests.
    #[arg(long)]
    apply: bool,
}

/// Searches, tests and prints. The exit status is 2 if nothing could be measured.
pub fn run(args: &TuneArgs) -> ExitCode {
    match run_to_end(tune(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::failed("tune", args.asking.json, &error, error.code());
            ExitCode::from(UNMEASURED)
        }
    }
}

/// Judgements that are left out, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Dropped {
    /// Judgements of documents that the index does not have.
    gone: usize,
    /// Queries without a document that is relevant.
    unanswerable: usize,
}

/// Result of the search, and of the test.
struct Outcome {
    tuned: Variant,
    trials: usize,
    searches: usize,
    /// nDCG of the queries that settings were chosen on, before and after.
    chosen_on: (f64, f64),
    /// Answers to the queries held out: as it is, and tuned.
    measured: Vec<Measured>,
}

async fn tune(args: &TuneArgs) -> Result<(), EvaluateError> {
    let server = Server { client: Client::new(&args.asking.server)?, asking: &args.asking };
    let read = read_file(&args.judgements)?;
    let count = read.len();
    let (judgements, dropped) = usable(&server, read).await?;
    let kept = judgements.len();
    let (chosen_on, held_out) = parts(judgements, args.held_out, args.seed);
    if kept < QUERIES_MIN || chosen_on.is_empty() || held_out.is_empty() {
        return Err(EvaluateError::Few { kept, read: count, needed: QUERIES_MIN });
    }
    let trials_max = trials_max(args.budget as usize, chosen_on.len(), held_out.len())?;
    let space = Space::of(&server, !args.apply).await?;
    let queries = (&*chosen_on, &*held_out);
    let work = async |trials: &mut Trials<'_>| outcome(&server, &space, queries, trials_max, args.seed, trials).await;
    let outcome = with_trials(&server.client, true, work).await?;
    let verdict = Verdict::of(&outcome.measured, args.asking.confidence);
    let applied = match verdict.winner() {
        Some(_) if args.apply && !space.is_current(&server).await? => {
            return Err(EvaluateError::SettingsChanged(args.asking.index.clone()));
        }
        Some(_) if args.apply => apply(&server, &outcome.tuned).await?,
        _ => Value::Null,
    };
    let found = Report { outcome: &outcome, dropped, changes: space.changes(&outcome.tuned), verdict, applied };
    let form = args.asking.form();
    let shown = match args.asking.json {
        true => format!("{:#}", found.as_json(chosen_on.len(), &held_out, form)),
        false => found.as_text(chosen_on.len(), &held_out, form, args.apply),
    };
    console::print(&format!("{shown}\n")).map_err(EvaluateError::Print)
}

/// Leaves out judgements of documents that are gone: no settings find them.
async fn usable(server: &Server<'_>, judgements: Vec<Judgement>) -> Result<(Vec<Judgement>, Dropped), EvaluateError> {
    let index = &*server.asking.index;
    let key = server.primary_key(index).await?;
    let ids: BTreeSet<&String> = judgements.iter().flat_map(|judgement| judgement.relevant.keys()).collect();
    let ids: Vec<&String> = ids.into_iter().collect();
    let mut there = BTreeSet::new();
    for page in ids.chunks(PAGE) {
        let route = server.client.route(&["indexes", index, "documents", "fetch"]);
        let body = json!({ "ids": page, "fields": [key], "limit": PAGE });
        let found = server.client.call(Method::POST, route, Some(&body)).await?;
        there.extend(found["results"].as_array().into_iter().flatten().map(|document| id_text(&document[&key])));
    }
    let mut dropped = Dropped::default();
    let mut kept = Vec::with_capacity(judgements.len());
    for mut judgement in judgements {
        let before = judgement.relevant.len();
        judgement.relevant.retain(|id, _| there.contains(id));
        dropped.gone += before - judgement.relevant.len();
        // Documents that were not shown may be better than those that were bad.
        let is_assumed = judgement.unjudged > 0.0 && !judgement.relevant.is_empty();
        match is_assumed || judgement.relevant.values().any(|grade| *grade > 0.0) {
            true => kept.push(judgement),
            false => dropped.unanswerable += 1,
        }
    }
    Ok((kept, dropped))
}

/// The queries that settings are chosen on, and those held out. Queries of the same text are in the same part.
fn parts(judgements: Vec<Judgement>, share: f64, seed: u64) -> (Vec<Judgement>, Vec<Judgement>) {
    let text = |judgement: &Judgement| judgement.q.trim().to_lowercase();
    let mut texts: Vec<String> = judgements.iter().map(text).collect::<BTreeSet<_>>().into_iter().collect();
    Chance(seed).shuffle(&mut texts);
    let held_out: BTreeSet<String> =
        texts.iter().take((texts.len() as f64 * share).round() as usize).cloned().collect();
    judgements.into_iter().partition(|judgement| !held_out.contains(&text(judgement)))
}

/// Trials that a budget of searches allows: the held-out queries are sent twice at the end.
fn trials_max(budget: usize, chosen_on: usize, held_out: usize) -> Result<usize, EvaluateError> {
    let trials = budget.saturating_sub(2 * held_out) / chosen_on;
    if trials < 2 {
        let [budget, needed] = [budget, 2 * (held_out + chosen_on)].map(|count| counted(count, "search"));
        return Err(EvaluateError::Budget { budget, queries: counted(held_out + chosen_on, "query"), needed });
    }
    Ok(trials)
}

async fn outcome(
    server: &Server<'_>,
    space: &Space,
    (chosen_on, held_out): (&[Judgement], &[Judgement]),
    trials_max: usize,
    seed: u64,
    trials: &mut Trials<'_>,
) -> Result<Outcome, EvaluateError> {
    let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(trials_max as u64));
    let style = ProgressStyle::with_template("{bar:12} {pos} of {len} trials  {msg}");
    let bar = bar.map(|bar| bar.with_style(style.expect("the template is a constant and valid")));
    let (mut first, mut best, mut values) = (None, f64::MIN, BTreeMap::new());
    let measure = async |point: &Point| {
        let answers = server.answers(&space.variant(point), chosen_on, trials, true).await?;
        let value = mean(&answers.iter().map(|answer| answer.measures.ndcg).collect::<Vec<f64>>());
        first.get_or_insert(value);
        best = value.max(best);
        values.insert(point.clone(), value);
        if let Some(bar) = &bar {
            bar.inc(1);
            bar.set_message(format!("nDCG {best:.4}, at first {:.4}", first.unwrap_or(value)));
        }
        Ok(value)
    };
    let sizes = space.sizes();
    let plain = |point| space.plain(point);
    let found: Result<_, EvaluateError> = search(&sizes, plain, trials_max, seed, measure).await;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let found = found?;
    let tuned = space.variant(&found.point);
    let now = Variant { name: "now".to_owned(), settings: Map::new(), parameters: Map::new(), ..tuned.clone() };
    let mut measured = Vec::new();
    for variant in [&now, &tuned] {
        let answers = server.answers(variant, held_out, trials, true).await?;
        measured.push(Measured { name: variant.name.clone(), answers });
    }
    let searches = found.trials * chosen_on.len() + measured.len() * held_out.len();
    let chosen_on = (first.unwrap_or_default(), values[&found.point]);
    Ok(Outcome { tuned, trials: found.trials, searches, chosen_on, measured })
}

/// Result of a run, to be printed.
struct Report<'a> {
    outcome: &'a Outcome,
    dropped: Dropped,
    changes: Vec<String>,
    verdict: Verdict,
    applied: Value,
}

impl Report<'_> {
    fn as_json(&self, queries: usize, held_out: &[Judgement], form: Form) -> Value {
        let Outcome { tuned, trials, searches, chosen_on: (before, after), measured } = self.outcome;
        let mut shown = report::as_json(held_out, measured, form);
        shown["tuning"] =
            json!({ "queries": queries, "trials": trials, "searches": searches, "before": before, "after": after });
        shown["tuned"] = json!({ "settings": tuned.settings, "parameters": tuned.parameters });
        shown["unjudged"] = json!(unjudged(held_out, measured));
        shown["dropped"] = json!({ "judgements": self.dropped.gone, "queries": self.dropped.unanswerable });
        shown["verdict"] = self.verdict.as_json();
        shown["applied"] = self.applied.clone();
        shown
    }

    fn as_text(&self, queries: usize, held_out: &[Judgement], form: Form, is_to_apply: bool) -> String {
        let Outcome { trials, searches, chosen_on: (before, after), measured, .. } = self.outcome;
        let Dropped { gone, unanswerable } = self.dropped;
        let mut said = Vec::new();
        if gone + unanswerable > 0 {
            let (gone, queries) = (counted(gone, "judgement"), counted(unanswerable, "query"));
            said.push(format!("Left out: {gone} of documents that are gone, {queries} without a relevant document."));
        }
        said.push(format!(
            "Chosen on {} in {}, {}: nDCG {before:.4} to {after:.4}. Tested on the others:",
            counted(queries, "query"),
            counted(*trials, "trial"),
            counted(*searches, "search")
        ));
        said.push(report::table(held_out, measured, Form { changes: 0, ..form }));
        let changed = report::changes(held_out, &measured[0], &measured[1]);
        let (better, worse): (Vec<Change<'_>>, Vec<Change<'_>>) =
            changed.into_iter().partition(|change| change.after > change.before);
        for (name, changed) in [("Better", better), ("Worse", worse)] {
            let lines = changed.iter().take(form.changes).map(|change| format!("\n  {change}"));
            said.extend((!changed.is_empty()).then(|| format!("{name}:{}", lines.collect::<String>())));
        }
        let shares = unjudged(held_out, measured).map(|share| format!("{:.0} %", share * 100.0));
        said.push(format!("Of the first hits, {} now and {} tuned have no judgement.", shares[0], shares[1]));
        let changes: String = self.changes.iter().map(|change| format!("\n  {change}")).collect();
        said.push(if changes.is_empty() { "Nothing is changed.".to_owned() } else { format!("Changed:{changes}") });
        said.push(self.verdict.to_string());
        said.extend(is_to_apply.then(|| applied_in_words(&self.applied)));
        said.join("\n\n")
    }
}

/// The share of hits without a judgement, now and tuned: what is said of them is assumed.
fn unjudged(judgements: &[Judgement], measured: &[Measured]) -> [f64; 2] {
    [0, 1].map(|way| {
        let both = judgements.iter().zip(&measured[way].answers);
        let is_unjudged = both.flat_map(|(judgement, answer)| {
            answer.hits.iter().map(|(id, _)| f64::from(u8::from(!judgement.relevant.contains_key(id))))
        });
        mean(&is_unjudged.collect::<Vec<f64>>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(q: &str) -> Judgement {
        let relevant = BTreeMap::from([("1".to_owned(), 1.0)]);
        Judgement { id: q.to_owned(), q: q.to_owned(), relevant, unjudged: 0.0, search: Map::new() }
    }

    #[test]
    fn parts_are_apart_and_the_same_each_time() {
        let all = || (0..100).map(|n| judged(["a", "A ", "b", "c", "d"][n % 5])).collect::<Vec<Judgement>>();
        let (chosen_on, held_out) = parts(all(), 0.5, 3);
        assert_eq!(chosen_on.len() + held_out.len(), 100);
        let text = |judgement: &Judgement| judgement.q.trim().to_lowercase();
        let texts = |part: &[Judgement]| part.iter().map(text).collect::<BTreeSet<String>>();
        assert_eq!((texts(&chosen_on).len(), texts(&held_out).len()), (2, 2));
        assert!(texts(&chosen_on).is_disjoint(&texts(&held_out)));
        assert_eq!(parts(all(), 0.5, 3), (chosen_on, held_out));
        assert!(parts(all(), 0.0, 3).1.is_empty());
    }

    #[test]
    fn a_budget_is_kept() {
        assert_eq!(trials_max(1000, 100, 50).unwrap(), 9);
        let said = trials_max(299, 100, 50).unwrap_err().to_string();
        assert_eq!(said, "a budget of 299 searches is too small for 150 queries: at least 300 searches are needed");
        assert_eq!(trials_max(300, 100, 50).unwrap(), 2);
    }
}
