//! The same facet of several indexes as one.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::distribution::{FacetStats, FacetValues, FieldFacet, ordered};
use super::values::summed;
use crate::index::settings::FacetOrder;
use crate::text::normalize_facet;

/// Adds the counts of each value and lists the first `values_max` values in `order`: numbers before strings, which are
/// shown as the first of `facets` that has them writes them. Exact if each of `facets` is a
/// [listing to be merged](super::Listing) in that order, of `values_max` values or more.
///
/// A text that is a number here and a string there is one value.
pub fn merge_facets(name: &str, facets: &[&FieldFacet], order: FacetOrder, values_max: usize) -> FieldFacet {
    let (mut numbers, mut strings) = (Vec::new(), Vec::new());
    let mut stats: Option<FacetStats> = None;
    for facet in facets {
        for (place, (text, count)) in facet.values.iter().enumerate() {
            match text.parse::<f64>() {
                Ok(number) if place < facet.number_count => numbers.push((number, *count)),
                _ => strings.push((Spelling { value: normalize_facet(text), text }, *count)),
            }
        }
        if let Some(other) = facet.stats {
            let known = stats.get_or_insert(other);
            *known = FacetStats { min: known.min.min(other.min), max: known.max.max(other.max) };
        }
    }
    let mut numbers: FacetValues =
        summed(numbers, f64::total_cmp).into_iter().map(|(number, count)| (number.to_string(), count)).collect();
    let mut strings = summed(strings, |a, b| a.value.cmp(&b.value));
    if !numbers.is_empty() {
        let places: HashMap<String, usize> = (0..).zip(&numbers).map(|(at, (text, _))| (text.clone(), at)).collect();
        strings.retain(|(spelling, count)| match places.get(spelling.text) {
            Some(&at) => {
                numbers[at].1 += count;
                false
            }
            None => true,
        });
    }
    let is_cut = facets.iter().any(|facet| facet.is_cut) || numbers.len() + strings.len() > values_max;
    let mut values = ordered(numbers, order, values_max);
    let number_count = values.len();
    let strings = ordered(strings, order, values_max - number_count);
    values.extend(strings.into_iter().map(|(spelling, count)| (spelling.text.to_owned(), count)));
    FieldFacet { name: name.to_owned(), values, number_count, stats, is_cut }
}

/// A string value and how a document writes it.
struct Spelling<'a> {
    value: Cow<'a, str>,
    text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facet(numbers: &[(&str, u64)], strings: &[(&str, u64)], stats: Option<(f64, f64)>) -> FieldFacet {
        FieldFacet {
            name: "f".to_owned(),
            values: numbers.iter().chain(strings).map(|(text, count)| ((*text).to_owned(), *count)).collect(),
            number_count: numbers.len(),
            stats: stats.map(|(min, max)| FacetStats { min, max }),
            is_cut: false,
        }
    }

    #[test]
    fn counts_are_added_by_value() {
        let one = facet(&[("2", 1), ("10", 4)], &[("Drama", 1), ("War", 2)], Some((2.0, 10.0)));
        let other = facet(&[("-1.5", 1), ("10", 1)], &[("action", 5), ("war", 3)], Some((-1.5, 10.0)));
        let merge = |order, values_max| merge_facets("f", &[&one, &other], order, values_max);
        let by_name =
            facet(&[("-1.5", 1), ("2", 1), ("10", 5)], &[("action", 5), ("Drama", 1), ("War", 5)], Some((-1.5, 10.0)));
        assert_eq!(merge(FacetOrder::Alpha, 6), by_name, "neither texts of numbers nor capitals decide the order");
        let by_count = merge(FacetOrder::Count, 100);
        let texts: Vec<&str> = by_count.values.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["10", "-1.5", "2", "action", "War", "Drama"]);
        let cut = merge(FacetOrder::Alpha, 4);
        assert_eq!((&cut.values[..], cut.number_count, cut.is_cut), (&by_name.values[..4], 3, true));
        assert_eq!(merge(FacetOrder::Alpha, 1).number_count, 1);
        assert!(merge(FacetOrder::Alpha, 0).values.is_empty());
    }

    #[test]
    fn what_was_cut_before_is_still_cut() {
        let whole = facet(&[], &[("a", 1)], None);
        let cut = FieldFacet { is_cut: true, ..whole.clone() };
        assert!(merge_facets("f", &[&whole, &cut], FacetOrder::Alpha, 100).is_cut);
        assert!(!merge_facets("f", &[&whole, &whole], FacetOrder::Alpha, 100).is_cut);
    }

    #[test]
    fn a_text_is_listed_once() {
        let number = facet(&[("7", 2)], &[("x", 1)], Some((7.0, 7.0)));
        let string = facet(&[], &[("7", 3)], None);
        assert_eq!(
            merge_facets("f", &[&string, &number], FacetOrder::Alpha, 100),
            facet(&[("7", 5)], &[("x", 1)], Some((7.0, 7.0)))
        );
    }
}
