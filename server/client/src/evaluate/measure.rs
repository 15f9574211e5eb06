//! The measures of one question.

/// Quality measures of the result of a query; each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measures {
    /// Normalised discounted cumulative gain: 1 when the best documents come first, in the order of their grades.
    pub(super) ndcg: f64,
    /// One over the place of the first relevant hit; 0 without one.
    pub(super) mrr: f64,
    /// The share of the relevant documents that are hits.
    pub(super) recall: f64,
    /// The share of the places that relevant documents have.
    pub(super) precision: f64,
}

impl Measures {
    /// `found` are the grades of the hits, `judged` those of all judged documents, `unjudged` is the grade of the others; the first `depth`
    /// hits count. Relevant is what is better than a document without a judgement.
    pub(super) fn new(found: &[f64], judged: &[f64], unjudged: f64, depth: usize) -> Measures {
        let found = &found[..found.len().min(depth)];
        let relevant = |grades: &[f64]| grades.iter().filter(|grade| **grade > unjudged).count() as f64;
        let all = relevant(judged);
        let others = std::iter::repeat_n(unjudged, depth);
        let known: Vec<f64> = judged.iter().copied().chain(others).collect();
        Measures {
            ndcg: ndcg(found, &known, depth),
            mrr: reciprocal_rank(found, unjudged),
            recall: if all > 0.0 { relevant(found) / all } else { 0.0 },
            precision: relevant(found) / depth.max(1) as f64,
        }
    }
}

fn ndcg(found: &[f64], judged: &[f64], depth: usize) -> f64 {
    let gain = |grades: &[f64]| -> f64 {
        let each = grades.iter().take(depth).enumerate();
        each.map(|(place, grade)| (grade.exp2() - 1.0) / (place as f64 + 2.0).log2()).sum()
    };
    let mut ideal = judged.to_vec();
    ideal.sort_by(|one, other| other.total_cmp(one));
    let best = gain(&ideal);
    // Of nothing, the sum is minus zero.
    if best > 0.0 { gain(found) / best + 0.0 } else { 0.0 }
}

fn reciprocal_rank(found: &[f64], unjudged: f64) -> f64 {
    found.iter().position(|grade| *grade > unjudged).map_or(0.0, |place| 1.0 / (place as f64 + 1.0))
}

#[cfg(test)]
mod tests {
    use super::super::golden_cases as cases;
    use super::*;

    #[test]
    fn measures_are_those_worked_out_by_hand() {
        for case in cases("measures") {
            let unjudged = case["unjudged"].as_f64().unwrap_or(0.0);
            let grade = |id| case["relevant"][id].as_f64().unwrap_or(unjudged);
            let found: Vec<f64> =
                case["hits"].as_array().unwrap().iter().map(|id| grade(id.as_str().unwrap())).collect();
            let judged: Vec<f64> = case["relevant"].as_object().unwrap().keys().map(|id| grade(id)).collect();
            let Measures { ndcg, mrr, recall, precision } =
                Measures::new(&found, &judged, unjudged, case["depth"].as_u64().unwrap() as usize);
            for (name, value) in [("ndcg", ndcg), ("mrr", mrr), ("recall", recall), ("precision", precision)] {
                let expected = case[name].as_f64().unwrap();
                assert!((value - expected).abs() < 1e-6, "{}, {name}: {value}, not {expected}", case["name"]);
            }
        }
    }
}
