// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An experiment's options are those of `compare`, and `compare` itself says whether they are
//! right.

use crate::cell::options::CompareOptions;
use crate::engines;
use crate::studies::campaign::CompareLine;

/// What the runner sets itself.
const TAKEN: [&str; 6] = ["scheme", "seed", "json", "agent-config", "samples", "help"];

/// What is wrong with an option.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// There is no such key.
    Key(String),
    /// Its value.
    Value(String),
}

/// Checks one option by itself. `value`: none for a flag.
///
/// # Errors
/// `compare` has no such option, or it does not take the value.
pub(super) fn check(key: &str, value: Option<&str>) -> Result<(), Wrong> {
    if TAKEN.contains(&key) {
        let what = format!("`{key}` is set by the runner: see `seeds` and `series`");
        return Err(Wrong::Key(what));
    }
    if key == "flent" {
        let what = "`flent` names one file, which every run would write: use `compare`";
        return Err(Wrong::Key(what.to_owned()));
    }
    let command = CompareLine::command();
    let options = || command.get_arguments();
    let Some(option) = options().find(|arg| arg.get_long() == Some(key)) else {
        let likeness = |name: &&str| (strsim::jaro_winkler(key, name) * 1e6) as u32;
        let near = options()
            .filter_map(|arg| arg.get_long())
            .max_by_key(likeness);
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(Wrong::Key(format!("unknown option `{key}`{hint}")));
    };
    let value = match (value, option.get_action().takes_values()) {
        (Some(value), true) => value,
        (None, false) => return Ok(()),
        (Some(_), false) => return Err(Wrong::Value(format!("{key}: write true or false"))),
        (None, true) => return Err(Wrong::Value(format!("{key}: needs a value"))),
    };
    CompareLine::check_value(key, value).map_err(|what| Wrong::Value(format!("{key}: {what}")))
}

/// Checks the options of one run.
///
/// # Errors
/// They contradict each other, make more than one run, or something that they name is missing.
pub(super) fn check_together(args: &[String]) -> Result<(), String> {
    let compare = CompareLine::parse(args)?;
    engines::check_options(&compare).map_err(|error| format!("{error:#}"))?;
    check_is_one(&compare)
}

/// Of several congestion controls `compare` makes as many runs, of which one has a place.
fn check_is_one(compare: &CompareOptions) -> Result<(), String> {
    match &compare.congestion_controls()[..] {
        [_] => Ok(()),
        several => Err(format!(
            "cc: a run has one congestion control and not {}: give one, and for several a series or \
             an axis of each",
            several.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compare_says_what_is_right() {
        assert_eq!(check("rate", Some("2mbit")), Ok(()));
        assert_eq!(check("ber", Some("1e-5")), Ok(()));
        assert!(
            matches!(check("rate", Some("2")), Err(Wrong::Value(what)) if what.contains("2mbit"))
        );
        assert!(matches!(check("rate", None), Err(Wrong::Value(_))));
        assert!(
            matches!(check("rates", Some("2mbit")), Err(Wrong::Key(what)) if what.contains("`rate`"))
        );
        assert!(
            matches!(check("flent", Some("x.flent.gz")), Err(Wrong::Key(what)) if what.contains("compare"))
        );
        assert!(
            matches!(check("seed", Some("1")), Err(Wrong::Key(what)) if what.contains("seeds"))
        );
    }

    #[test]
    fn what_contradicts_itself() {
        let args = ["--rtt", "10ms", "--local-rtt", "20ms"].map(str::to_owned);
        assert!(check_together(&args).unwrap_err().contains("--local-rtt"));
    }
}
