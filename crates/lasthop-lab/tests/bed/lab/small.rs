// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The text of a small experiment, to which each test adds what it is about.

/// An experiment's file that grows line by line, in the order in which files are written.
pub struct Small(String);

// No test needs all of it.
#[allow(dead_code)]
impl Small {
    /// One with a title and seeds, from nowhere.
    pub fn new(title: &str, seeds: &str) -> Self {
        Self(format!(
            "title = \"{title}\"\nsource = \"nowhere\"\nabout = \"Made up.\"\nreported = \"Nothing.\"\n\
             seeds = \"{seeds}\"\n"
        ))
    }

    /// Options of all runs.
    pub fn setup(self, options: &str) -> Self {
        self.with("[setup]", options)
    }

    /// The axis.
    pub fn axis(self, label: &str, rest: &str) -> Self {
        self.with("[axis]", &format!("label = \"{label}\"\n{rest}"))
    }

    /// A series.
    pub fn series(self, name: &str, label: &str, scheme: &str, rest: &str) -> Self {
        let lines =
            format!("name = \"{name}\"\nlabel = \"{label}\"\nscheme = \"{scheme}\"\n{rest}");
        self.with("[[series]]", &lines)
    }

    /// The series without agent, and that with Snoop.
    pub fn tcp_and_snoop(self, rest_of_snoop: &str) -> Self {
        self.series("tcp", "TCP", "none", "")
            .series("snoop", "Snoop", "snoop", rest_of_snoop)
    }

    /// A figure.
    pub fn figure(self, name: &str, title: &str, kind: &str, rest: &str) -> Self {
        let lines = format!("name = \"{name}\"\ntitle = \"{title}\"\nkind = \"{kind}\"\n{rest}");
        self.with("[[figure]]", &lines)
    }

    /// A figure of the goodput.
    pub fn goodput(self, name: &str, title: &str, kind: &str, rest: &str) -> Self {
        let rest = format!("metric = \"goodput_mbit\"\n{rest}");
        self.figure(name, title, kind, &rest)
    }

    /// A condition on the goodput of a series, or on its relation to that of another.
    pub fn check(self, text: &str, of: &str, to: Option<&str>, rest: &str) -> Self {
        let to = to.map_or(String::new(), |to| format!("to = \"{to}\"\n"));
        let lines =
            format!("text = \"{text}\"\nof = \"{of}\"\n{to}metric = \"goodput_mbit\"\n{rest}");
        self.with("[[check]]", &lines)
    }

    /// Any other part.
    pub fn with(mut self, head: &str, lines: &str) -> Self {
        for part in [head, lines.trim_end()] {
            if !part.is_empty() {
                self.0.push_str(part);
                self.0.push('\n');
            }
        }
        self
    }

    /// The file.
    pub fn text(self) -> String {
        self.0
    }
}
