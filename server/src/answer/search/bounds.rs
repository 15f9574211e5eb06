//! How long the lists of a request may be: what is beyond is of no use, and would be looked through for every hit. And how
//! long filters may take that no search bounds.

use std::time::{Duration, Instant};

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::condition::TimeLimit;
use lamina_protocol::wire::search::SearchQuery;

/// Names in each list of attributes, and facets.
pub(super) const NAMES_MAX: usize = 1000;
/// Facets with ranges, histograms or statistics; each looks at the values of all candidates.
const MEASURES_MAX: usize = 50;
/// Expressions of a sort; each is a comparison of every document that is ordered.
const SORTS_MAX: usize = 100;
/// More than there are languages.
const LOCALES_MAX: usize = 500;

/// For filters that no time budget of an index bounds. Those that are of use take some milliseconds.
const FILTER_TIME_MAX: Duration = Duration::from_secs(5);

/// Until when a filter is evaluated that belongs to no search, or to another index than the searched one: from now.
pub(crate) fn filter_time() -> TimeLimit<'static> {
    TimeLimit::until(Instant::now() + FILTER_TIME_MAX)
}

/// Refuses a query whose lists are too long.
///
/// # Errors
/// With the code of the parameter.
pub(super) fn check(query: &SearchQuery) -> ApiResult<()> {
    use Code::*;
    let lists = [
        ("attributesToRetrieve", &query.attributes_to_retrieve, NAMES_MAX, InvalidSearchAttributesToRetrieve),
        ("attributesToCrop", &query.attributes_to_crop, NAMES_MAX, InvalidSearchAttributesToCrop),
        ("attributesToHighlight", &query.attributes_to_highlight, NAMES_MAX, InvalidSearchAttributesToHighlight),
        ("attributesToSearchOn", &query.attributes_to_search_on, NAMES_MAX, InvalidSearchAttributesToSearchOn),
        ("facets", &query.facets, NAMES_MAX, InvalidSearchFacets),
        ("sort", &query.sort, SORTS_MAX, InvalidSearchSort),
    ];
    for (name, list, most, code) in lists {
        length(name, list.as_ref().map_or(0, Vec::len), most, code)?;
    }
    length("facets", query.measures.len(), MEASURES_MAX, InvalidSearchFacets)?;
    length("locales", query.locales.len(), LOCALES_MAX, InvalidSearchLocales)
}

/// Checks a list of documents like a search: the names of `fields` and the expressions of `sort`.
///
/// # Errors
/// Fails with the code of the parameter.
pub(crate) fn check_list(fields: Option<&[String]>, sort: Option<&[String]>) -> ApiResult<()> {
    length("fields", fields.map_or(0, <[String]>::len), NAMES_MAX, Code::InvalidDocumentFields)?;
    length("sort", sort.map_or(0, <[String]>::len), SORTS_MAX, Code::InvalidDocumentSort)
}

pub(super) fn length(name: &str, found: usize, most: usize, code: Code) -> ApiResult<()> {
    if found <= most {
        return Ok(());
    }
    Err(ApiError::new(code, format!("Invalid value at `.{name}`: {found} entries, and there may be {most} at most.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_refused_with_the_code_of_the_parameter() {
        let long = || Some(vec!["title".to_owned(); 300_000]);
        let none = SearchQuery::default;
        let refused = |query: SearchQuery| check(&query).unwrap_err();
        assert_eq!(
            refused(SearchQuery { sort: long(), ..none() }).message,
            "Invalid value at `.sort`: 300000 entries, and there may be 100 at most."
        );
        for (query, code) in [
            (SearchQuery { sort: long(), ..none() }, Code::InvalidSearchSort),
            (SearchQuery { facets: long(), ..none() }, Code::InvalidSearchFacets),
            (SearchQuery { attributes_to_retrieve: long(), ..none() }, Code::InvalidSearchAttributesToRetrieve),
            (SearchQuery { attributes_to_crop: long(), ..none() }, Code::InvalidSearchAttributesToCrop),
            (SearchQuery { attributes_to_highlight: long(), ..none() }, Code::InvalidSearchAttributesToHighlight),
            (SearchQuery { attributes_to_search_on: long(), ..none() }, Code::InvalidSearchAttributesToSearchOn),
        ] {
            assert_eq!(refused(query).code, code);
        }
        assert_eq!(check_list(long().as_deref(), None).unwrap_err().code, Code::InvalidDocumentFields);
        assert_eq!(check_list(None, long().as_deref()).unwrap_err().code, Code::InvalidDocumentSort);
        check(&SearchQuery { facets: Some(vec!["a".to_owned(); 1000]), ..none() }).unwrap();
    }
}
