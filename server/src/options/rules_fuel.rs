//! How much a search may do for dynamic search rules. These are variables of the environment, as the protocol has them, and in no help.

use clap::Args;

/// Bounds on the work of one search. What lies beyond a bound does not act; no search fails for it.
#[derive(Clone, Debug, Args)]
pub struct RulesFuel {
    /// Different words of a query that count for rules, in alphabetical order, up to 255.
    #[arg(long, hide = true, default_value = "10", value_name = "COUNT", value_parser = super::count_or_none::<u8>)]
    pub experimental_dsr_fuel_max_counted_words: u8,

    /// Acting rules of a search that are looked at, those with the lowest precedence first.
    #[arg(long, hide = true, default_value = "1000", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_max_active_rules: usize,

    /// Documents that rules pin in a search.
    #[arg(long, hide = true, default_value = "100", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_max_pin_actions: usize,

    /// Combinations of words that are tried for each number of words: beyond, rules of so many words do not act.
    #[arg(long, hide = true, default_value = "4096", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_word_fuel: usize,

    /// The same for values of filters.
    #[arg(long, hide = true, default_value = "4096", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_fuel: usize,

    /// Alternatives of a filter that are looked at.
    #[arg(long, hide = true, default_value = "100", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_or_fuel: usize,

    /// Conditions of an alternative that are looked at.
    #[arg(long, hide = true, default_value = "100", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_and_fuel: usize,

    /// Levels of a filter that are looked at.
    #[arg(long, hide = true, default_value = "25", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_depth_fuel: usize,
}
