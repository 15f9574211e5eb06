//! The text format of Prometheus.

use std::fmt::{Display, Write};

/// First part of every name.
const PREFIX: &str = "lamina_";

/// Type of a family of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A page that is being written.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins a family; its samples follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        // Writing into a string does not fail.
        let _ = write!(self.text, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {}\n", kind.name());
    }

    /// A sample of the family begun last; `name` has its suffix, if there is one.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &dyn Display)], value: impl Display) {
        let _ = write!(self.text, "{PREFIX}{name}");
        for (place, (label, text)) in labels.iter().enumerate() {
            let open = if place == 0 { '{' } else { ',' };
            let text = text.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{open}{label}=\"{text}\"");
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    /// A family of one gauge.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Kind::Gauge, help);
        self.sample(name, &[], value);
    }

    /// A family of one counter.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Kind::Counter, help);
        self.sample(name, &[], value);
    }

    /// A figure of the process, under the name without our prefix that dashboards of every server look for.
    pub fn of_process(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        let (text, kind) = (&mut self.text, kind.name());
        let _ = write!(text, "# HELP process_{name} {help}\n# TYPE process_{name} {kind}\nprocess_{name} {value}\n");
    }

    /// The page.
    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Exposition::default();
        page.family("x_total", Kind::Counter, "Things.");
        page.sample("x_total", &[("a", &"q\"\\\n"), ("b", &2)], 1.5);
        page.gauge("y", "A thing.", 3);
        page.of_process("z", Kind::Gauge, "Another.", 4);
        assert_eq!(
            page.finish(),
            "# HELP lamina_x_total Things.\n# TYPE lamina_x_total counter\nlamina_x_total{a=\"q\\\"\\\\\\n\",b=\"2\"} 1.5\n\
             # HELP lamina_y A thing.\n# TYPE lamina_y gauge\nlamina_y 3\n\
             # HELP process_z Another.\n# TYPE process_z gauge\nprocess_z 4\n"
        );
    }
}
