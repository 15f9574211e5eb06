//! The header that names the limits which an answer met.

use lamina_protocol::wire::LIMITS_HEADER;
use warp::http::HeaderValue;
use warp::reply::Response;

/// Names them in the header, if there are any.
pub(super) fn report_limits(answer: &mut Response, cuts: &[String]) {
    if !cuts.is_empty() {
        answer.headers_mut().insert(LIMITS_HEADER, header(cuts));
    }
}

fn header(cuts: &[String]) -> HeaderValue {
    // Names of attributes that no header can carry are left out.
    let plain = |cut: &String| cut.split_once(':').map_or(cut.as_str(), |(limit, _)| limit).to_owned();
    HeaderValue::from_str(&cuts.join(", "))
        .or_else(|_| HeaderValue::from_str(&cuts.iter().map(plain).collect::<Vec<_>>().join(", ")))
        .unwrap_or(HeaderValue::from_static("some"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_header_carries_are_left_out() {
        let shown = |cuts: &[&str]| header(&cuts.iter().map(|cut| (*cut).to_owned()).collect::<Vec<_>>());
        assert_eq!(shown(&["maxTotalHits", "maxValuesPerFacet:genre"]), "maxTotalHits, maxValuesPerFacet:genre");
        assert_eq!(shown(&["maxTotalHits", "maxValuesPerFacet:a\nb"]), "maxTotalHits, maxValuesPerFacet");
    }
}
