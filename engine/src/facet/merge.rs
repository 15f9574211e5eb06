//! The same facet of several indexes as one.

use std::borrow::Cow;

use hashbrown::HashMap;
use lamina_index::index::settings::FacetOrder;
use lamina_text::text::{facet_number, normalize_facet};

use super::distribution::{FacetStats, FieldFacet, ordered};
use super::values::summed;

/// Adds the counts of each value and lists the first `values_max` values in `order`; strings are shown as the first of
/// `facets` that has them writes them. Exact if each of `facets` is a [listing to be merged](super::Listing) in that order,
/// of `values_max` values or more.
///
/// A text that is a number here and a string there is one value.
pub fn merge_facets(name: &str, facets: &[&FieldFacet], order: FacetOrder, values_max: usize) -> FieldFacet {
    let (mut numbers, mut alone, mut strings) = (Vec::new(), Vec::new(), Vec::new());
    let mut stats: Option<FacetStats> = None;
    for facet in facets {
        let first = strings.len();
        let mut own = facet.numbers.iter().peekable();
        // How many have the number itself, by its bits.
        let mut own_numbers = HashMap::new();
        for (place, (text, count)) in facet.values.iter().enumerate() {
            let as_number = own.next_if(|(at, _)| *at == place);
            match as_number.and_then(|(_, alone)| Some((text.parse::<f64>().ok()?, *alone))) {
                Some((number, of_number)) => {
                    numbers.push((number, *count));
                    alone.push((number, of_number));
                    own_numbers.insert(number.to_bits(), of_number);
                }
                None => strings.push((Spelling { value: normalize_facet(text), text }, *count)),
            }
        }
        // Other ways to write a number count those who have the number, which are added below for all facets.
        for (spelling, count) in &mut strings[first..] {
            if let Some(of_number) = facet_number(&spelling.value).and_then(|value| own_numbers.get(&value.to_bits())) {
                *count = count.saturating_sub(*of_number);
            }
        }
        if let Some(other) = facet.stats {
            let known = stats.get_or_insert(other);
            *known = FacetStats { min: known.min.min(other.min), max: known.max.max(other.max) };
        }
    }
    let mut numbers = summed(numbers, f64::total_cmp);
    let alone = summed(alone, f64::total_cmp);
    let mut strings = summed(strings, |a, b| a.value.cmp(&b.value));
    join(&mut numbers, &alone, &mut strings);
    let is_cut = facets.iter().any(|facet| facet.is_cut) || numbers.len() + strings.len() > values_max;
    let number = |((number, count), (_, alone)): ((f64, u64), (f64, u64))| ((number.to_string(), Some(alone)), count);
    let mut values: Vec<((String, Option<u64>), u64)> = numbers.into_iter().zip(alone).map(number).collect();
    values.extend(strings.into_iter().map(|(spelling, count)| ((spelling.text.to_owned(), None), count)));
    let values = ordered(values, order, values_max);
    let numbers = values.iter().enumerate().filter_map(|(at, ((_, alone), _))| Some((at, (*alone)?))).collect();
    let values = values.into_iter().map(|((text, _), count)| (text, count)).collect();
    FieldFacet { name: name.to_owned(), values, numbers, stats, is_cut }
}

/// Takes the strings out that are shown as one of `numbers` and adds their counts to it. Strings that are another way to
/// write a number get the count of the number `alone`, which has the same places.
fn join(numbers: &mut [(f64, u64)], alone: &[(f64, u64)], strings: &mut Vec<(Spelling<'_>, u64)>) {
    strings.retain_mut(|(spelling, count)| {
        let Some(value) = facet_number(&spelling.value) else { return true };
        let Ok(at) = numbers.binary_search_by(|(number, _)| number.total_cmp(&value)) else { return true };
        if value.to_string() == *spelling.value {
            numbers[at].1 += *count;
            return false;
        }
        *count += alone[at].1;
        true
    });
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
            numbers: (0..).zip(numbers).map(|(at, (_, count))| (at, *count)).collect(),
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
        assert_eq!(texts, ["10", "action", "War", "-1.5", "2", "Drama"], "types decide between equal counts only");
        let cut = merge(FacetOrder::Alpha, 4);
        assert_eq!((&cut.values[..], cut.numbers.len(), cut.is_cut), (&by_name.values[..4], 3, true));
        assert_eq!(merge(FacetOrder::Alpha, 1).numbers, [(0, 1)]);
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
        let merged = merge_facets("f", &[&string, &number], FacetOrder::Alpha, 100);
        let values = [("7".to_owned(), 5), ("x".to_owned(), 1)];
        assert_eq!((&merged.values[..], &merged.numbers[..]), (&values[..], &[(0, 2)][..]));
    }

    #[test]
    fn another_way_to_write_a_number_counts_it_everywhere() {
        // Two of the first have the number 7, one the text 7; one of its documents has 7.0, and not 7.
        let both = FieldFacet { numbers: vec![(0, 2)], ..facet(&[("7", 3)], &[("7.0", 3)], Some((7.0, 7.0))) };
        let number = facet(&[("7", 5)], &[], Some((7.0, 7.0)));
        let merged = merge_facets("f", &[&both, &number], FacetOrder::Alpha, 100);
        assert_eq!(merged.values, [("7".to_owned(), 8), ("7.0".to_owned(), 8)]);
    }
}
