//! How much is done to find the rules of a search.

use lamina_base::options::RulesFuel;

/// Bounds on the work of one search. What lies beyond does not act; no search fails for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fuel {
    /// Different words of the query that count, in alphabetical order.
    pub counted_words: usize,
    /// Acting rules that are looked at.
    pub active_rules: usize,
    /// Documents that are pinned.
    pub pin_actions: usize,
    /// Steps from combinations of words to longer ones, for each number of words.
    pub words: usize,
    /// Sets of rules that are joined for the values of filters.
    pub filter: usize,
    /// Alternatives of a filter.
    pub filter_or: usize,
    /// Conditions of an alternative.
    pub filter_and: usize,
    /// Nesting of a filter.
    pub filter_depth: usize,
}

impl From<&RulesFuel> for Fuel {
    fn from(options: &RulesFuel) -> Fuel {
        Fuel {
            counted_words: options.experimental_dsr_fuel_max_counted_words.into(),
            active_rules: options.experimental_dsr_fuel_max_active_rules,
            pin_actions: options.experimental_dsr_fuel_max_pin_actions,
            words: options.experimental_dsr_fuel_word_fuel,
            filter: options.experimental_dsr_fuel_filter_fuel,
            filter_or: options.experimental_dsr_fuel_filter_or_fuel,
            filter_and: options.experimental_dsr_fuel_filter_and_fuel,
            filter_depth: options.experimental_dsr_fuel_filter_depth_fuel,
        }
    }
}

impl Default for Fuel {
    fn default() -> Fuel {
        Fuel {
            counted_words: 10,
            active_rules: 1000,
            pin_actions: 100,
            words: 4096,
            filter: 4096,
            filter_or: 100,
            filter_and: 100,
            filter_depth: 25,
        }
    }
}
