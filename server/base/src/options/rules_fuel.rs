//! How much a search may do for dynamic search rules. These are variables of the environment, as the protocol has them, and in no help.

use clap::Args;

/// Bounds on the work of one search. What lies beyond a bound does not act; no search fails for it.
#[derive(Clone, Debug, Args)]
pub struct RulesFuel {
    /// Maximum number of different words of a query that rules see, in alphabetical order, up to 255.
    #[arg(long, hide = true, default_value = "10", value_name = "COUNT", value_parser = super::count_or_none::<u8>)]
    pub experimental_dsr_fuel_max_counted_words: u8,

    /// Maximum number of active rules that a search evaluates, those with the lowest precedence first.
    #[arg(long, hide = true, default_value = "1000", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_max_active_rules: usize,

    /// Maximum number of documents that rules pin in a search.
    #[arg(long, hide = true, default_value = "100", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_max_pin_actions: usize,

    /// Maximum number of word combinations to try for each number of words. Beyond it, rules with that many words do
    /// not apply.
    #[arg(long, hide = true, default_value = "4096", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_word_fuel: usize,

    /// The same for values of filters.
    #[arg(long, hide = true, default_value = "4096", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_fuel: usize,

    /// Maximum number of alternatives of a filter to evaluate.
    #[arg(long, hide = true, default_value = "100", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_or_fuel: usize,

    /// Maximum number of conditions of an alternative to evaluate.
    #[arg(long, hide = true, default_value = "100", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_and_fuel: usize,

    /// Maximum number of levels of a filter to evaluate.
    #[arg(long, hide = true, default_value = "25", value_name = "COUNT", value_parser = super::count_or_none::<usize>)]
    pub experimental_dsr_fuel_filter_depth_fuel: usize,
}
