// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What packages bring beside the program, out of the program's own words: man pages, completions
//! for shells, the configuration file. `cargo run -p xtask -- man OUTDIR` and its kin run it; a crate
//! of its own, so that `xtask -- bindings` builds where the agent does not, for want of bindings.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use lasthop::cli::Cli;
use lasthop::config::keys::defaults;

const USAGE: &str = "usage: lasthop-pages man|completions|config OUTDIR";
const MANUAL: &str = "lasthop";
/// Programs that take root: see hier(7), man-pages(7).
const OF_ROOT: &str = "8";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["man", out] => write_man(Path::new(out)),
        ["completions", out] => write_completions(Path::new(out)),
        ["config", out] => write_config(Path::new(out)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lasthop-pages: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// lasthop(8), a page for each of its verbs, lasthop.toml(5).
fn write_man(out: &Path) -> Result<()> {
    make(out)?;
    // `help` has nothing to say that `man` does not.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, out)?;
    write(
        &out.join("lasthop.toml.5"),
        configuration_page(&date()?).as_bytes(),
    )
}

fn write_pages(command: &Command, out: &Path) -> Result<()> {
    let shown = |verb: &&Command| !verb.is_hide_set();
    for verb in command.get_subcommands().filter(shown) {
        write_pages(verb, out)?;
    }
    let man = Man::new(command.clone())
        .section(OF_ROOT)
        .date(date()?)
        .source(source())
        .manual(MANUAL);
    let mut page = Vec::new();
    man.render(&mut page).context("a man page")?;
    write(&out.join(man.get_filename()), &page)
}

fn source() -> String {
    format!("lasthop {}", env!("CARGO_PKG_VERSION"))
}

/// The day of the pages: today, or SOURCE_DATE_EPOCH, by which who builds a package gets the same ones.
fn date() -> Result<String> {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => {
            let seconds = seconds
                .parse()
                .with_context(|| format!("SOURCE_DATE_EPOCH {seconds:?}: no number of seconds"))?;
            UNIX_EPOCH + Duration::from_secs(seconds)
        }
        Err(_) => SystemTime::now(),
    };
    let mut day = humantime::format_rfc3339_seconds(time).to_string();
    day.truncate("2026-01-01".len());
    Ok(day)
}

/// All that `lasthop defaults` explains, as it stands in the file.
fn configuration_page(date: &str) -> String {
    let mut page = Roff::new();
    page.control("TH", ["lasthop.toml", "5", date, &source(), MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman("lasthop.toml - configuration of lasthop")]);
    page.control("SH", ["SYNOPSIS"]);
    page.text([bold("/etc/lasthop/lasthop.toml")]);
    page.control("br", []);
    page.text([bold("/etc/lasthop/conf.d/*.toml")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(
        "The file that lasthop defaults prints, which explains every key and shows its default:",
    )]);
    page.control("PP", []);
    page.control("nf", []);
    for line in defaults().lines() {
        // An empty line of its own would be a paragraph's end in some formatters.
        page.text([roman(if line.is_empty() { " " } else { line })]);
    }
    page.control("fi", []);
    page.control("SH", ["SEE ALSO"]);
    page.text([
        bold("lasthop"),
        roman("(8), "),
        bold("lasthop-daemon"),
        roman("(8), "),
        bold("lasthop-reload"),
        roman("(8)"),
    ]);
    page.to_roff()
}

/// For the shells that Debian and Fedora have a place for.
fn write_completions(out: &Path) -> Result<()> {
    make(out)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "lasthop", out)
            .with_context(|| format!("cannot write the completions of {shell}"))?;
    }
    Ok(())
}

/// The file as packages install it: comments only, so that nothing is attached by itself.
fn write_config(out: &Path) -> Result<()> {
    make(out)?;
    write(&out.join("lasthop.toml"), defaults().as_bytes())
}

fn make(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(out: &Path) -> Vec<String> {
        let entries = fs::read_dir(out).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn each_verb_has_a_page() {
        let dir = tempfile::tempdir().unwrap();
        write_man(dir.path()).unwrap();
        let names = names(dir.path());
        let command = Cli::command();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = format!("lasthop-{}.8", verb.get_name());
            assert!(names.contains(&name), "{name} of {names:?}");
        }
        assert!(names.contains(&"lasthop.8".to_owned()), "{names:?}");
        assert!(!names.contains(&"lasthop-fields.8".to_owned()), "{names:?}");
        let page = fs::read_to_string(dir.path().join("lasthop-attach.8")).unwrap();
        for word in [".TH lasthop-attach 8", "\\-\\-scheme", "/etc/lasthop"] {
            assert!(page.contains(word), "{word} in\n{page}");
        }
    }

    /// Nothing of it is lost on the way to the page.
    #[test]
    fn the_configuration_has_a_page() {
        let page = configuration_page("2026-01-01");
        for line in defaults().lines().filter(|line| line.starts_with("#: ")) {
            let key = line[3..].split(' ').next().unwrap();
            assert!(page.contains(key), "{line}");
        }
        let literal = page.split(".nf\n").nth(1).unwrap().split(".fi").next();
        assert_eq!(literal.unwrap().lines().count(), defaults().lines().count());
    }

    #[test]
    fn shells_know_the_verbs() {
        let dir = tempfile::tempdir().unwrap();
        write_completions(dir.path()).unwrap();
        assert_eq!(
            names(dir.path()),
            ["_lasthop", "lasthop.bash", "lasthop.fish"]
        );
        for name in names(dir.path()) {
            let script = fs::read_to_string(dir.path().join(&name)).unwrap();
            assert!(script.contains("reload"), "{name}");
        }
    }

    /// A package attaches nothing.
    #[test]
    fn the_configuration_orders_nothing() {
        let dir = tempfile::tempdir().unwrap();
        write_config(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join("lasthop.toml")).unwrap();
        let table: toml::Table = text.parse().unwrap();
        assert!(table.is_empty(), "{table}");
        assert!(text.contains("[device.wlan0]"));
    }
}
