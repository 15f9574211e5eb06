//! Files of the TREC conferences: topics, judgements (qrels), and runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::judgement::{Judgement, JudgementError};

/// The questions of `topics` with their judgements; questions without any are left out.
///
/// # Errors
/// A line that is none, or files that have no question in common.
pub(super) fn read(topics: &str, qrels: &str) -> Result<Vec<Judgement>, JudgementError> {
    let mut grades = read_qrels(qrels)?;
    let judged = read_topics(topics).into_iter().filter_map(|(id, q)| {
        let relevant = grades.remove(&id)?;
        Some(Judgement { id, q, relevant, unjudged: 0.0, search: serde_json::Map::new() })
    });
    let judged: Vec<Judgement> = judged.collect();
    if judged.is_empty() { Err(JudgementError::Empty) } else { Ok(judged) }
}

/// By question: grades by document. Grades below zero, of what must not be found, count as none.
fn read_qrels(text: &str) -> Result<BTreeMap<String, BTreeMap<String, f64>>, JudgementError> {
    let mut grades: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let grade = match fields[..] {
            [_, _, _, grade] => grade.parse::<f64>().ok().filter(|grade| grade.is_finite()),
            _ => None,
        };
        let Some(grade) = grade else {
            let reason = "expected a question, an iteration, a document and a grade".to_owned();
            return Err(JudgementError::Line { line, reason });
        };
        grades.entry(fields[0].to_owned()).or_default().insert(fields[2].to_owned(), grade.max(0.0));
    }
    Ok(grades)
}

/// Topics as `<top>` with `<num>` and `<title>`, as `<DOC>` with `<DOCNO>`, or a number, a tab and the question a line.
fn read_topics(text: &str) -> Vec<(String, String)> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let elements = |name: &str| -> Vec<String> {
        let (start, end) = (format!("<{name}>"), format!("</{name}>"));
        text.split(&start).skip(1).map(|rest| rest.split(&end).next().unwrap_or(rest).to_owned()).collect()
    };
    // Classic files close none of the elements inside a topic.
    let field = |topic: &str, name: &str| -> Option<String> {
        let rest = topic.split_once(&format!("<{name}>"))?.1;
        Some(plain(rest.split('<').next().unwrap_or(rest)))
    };
    let tops = elements("top");
    if !tops.is_empty() {
        let topic = |topic: &String| {
            let number = field(topic, "num")?;
            let number = number.strip_prefix("Number:").unwrap_or(&number).trim().to_owned();
            let title = field(topic, "title")?;
            let title = title.strip_prefix("Topic:").unwrap_or(&title).trim().to_owned();
            Some((number, title))
        };
        return tops.iter().filter_map(topic).collect();
    }
    let documents = elements("DOC");
    if !documents.is_empty() {
        let topic = |topic: &String| {
            let number = field(topic, "DOCNO")?;
            Some((number, plain(topic.split_once("</DOCNO>")?.1)))
        };
        return documents.iter().filter_map(topic).collect();
    }
    text.lines().filter_map(|line| line.split_once('\t')).map(|(id, q)| (id.trim().to_owned(), plain(q))).collect()
}

/// The lines of a run for one question: document and score of each hit, best first.
pub(super) fn write_run(out: &mut String, question: &str, hits: &[(String, f64)], tag: &str) {
    for (rank, (document, score)) in (1..).zip(hits) {
        let _ = writeln!(out, "{question} Q0 {document} {rank} {score} {tag}");
    }
}

/// A name without what separates the fields of a run, or means something in paths.
pub(super) fn tag(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.=+".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QRELS: &str = "1 0 A-1 2\n1 0 A-2 0\n\n2 0 B 1\n3 0 C -1\n";

    fn questions(topics: &str) -> Vec<(String, String, BTreeMap<String, f64>)> {
        read(topics, QRELS).unwrap().into_iter().map(|read| (read.id, read.q, read.relevant)).collect()
    }

    #[test]
    fn topics_come_in_three_forms() {
        let expected = || {
            let grades = |grades: &[(&str, f64)]| grades.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect();
            vec![
                ("1".to_owned(), "red foxes".to_owned(), grades(&[("A-1", 2.0), ("A-2", 0.0)])),
                ("2".to_owned(), "blue dogs".to_owned(), grades(&[("B", 1.0)])),
            ]
        };
        let classic = "<top>\n<num> Number: 1\n<title> Topic: red\n  foxes\n<desc> more\n</top>\n\
                       <top><num>2</num><title>blue dogs</title></top><top><num>9<title>unjudged</top>";
        assert_eq!(questions(classic), expected());
        let documents = "<DOC>\n<DOCNO>\n1\n</DOCNO>\nred\nfoxes\n</DOC>\n<DOC><DOCNO>2</DOCNO> blue dogs</DOC>";
        assert_eq!(questions(documents), expected());
        assert_eq!(questions("1\tred foxes\n2\t blue  dogs \nno tab\n"), expected());
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |topics: &str, qrels: &str| read(topics, qrels).unwrap_err().to_string();
        assert_eq!(
            refused("1\ta", "1 0 A 1\n1 A 1"),
            "line 2: expected a question, an iteration, a document and a grade"
        );
        assert!(refused("1\ta", "1 0 A x").starts_with("line 1: "));
        assert_eq!(refused("7\ta", QRELS), "it has no query");
    }

    #[test]
    fn runs_have_six_fields() {
        let mut out = String::new();
        write_run(&mut out, "7", &[("A".into(), 0.5), ("B".into(), 0.25)], &tag("any, 0.5/x"));
        assert_eq!(out, "7 Q0 A 1 0.5 any__0.5_x\n7 Q0 B 2 0.25 any__0.5_x\n");
    }
}
