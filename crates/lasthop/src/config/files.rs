// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Where the configuration comes from: a file, the directory conf.d beside it, and in each the keys for
//! all devices and a section for each device that has others.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use serde::Deserialize;
use toml::{Spanned, Value};

use super::file::{File, names};
use super::policy::Policy;

/// Read if it exists and no other is named.
pub const DEFAULT_PATH: &str = "/etc/lasthop/lasthop.toml";
/// Beside the file, for what packages and scripts add to it.
const DIRECTORY: &str = "conf.d";
/// Keys that are the process's, and can't be of one device.
const OF_ALL: [&str; 3] = ["memory", "memory_profile", "runtime_dir"];
/// Keys that are a device's, and can't be of some of its connections.
const OF_DEVICES: [&str; 8] = [
    "memory",
    "memory_profile",
    "runtime_dir",
    "exclude",
    "key",
    "port",
    "mac_events",
    "mark",
];
/// Keys that are a policy's alone.
const OF_POLICIES: [&str; 2] = ["device", "leave_alone"];
/// Longest name of a device, as the kernel has it.
const NAME_BYTES: usize = 15;

/// The text of one file.
pub(super) struct Source {
    name: String,
    text: String,
}

impl Source {
    pub(super) fn new(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the configuration {}", path.display()))?;
        Ok(Self::new(&path.display().to_string(), &text))
    }

    /// None: there is no such file. One that is there and can't be read is an error: it would say something.
    fn read_if_there(path: &Path) -> Result<Option<Self>> {
        match Self::read(path) {
            Err(error) if is_missing(&error) => no_dangling_link(path).map(|()| None),
            other => other.map(Some),
        }
    }

    /// What a line above the sections says of that key by itself.
    fn runtime_dir(&self) -> Option<PathBuf> {
        let above = self.text.lines();
        let above = above.take_while(|line| !line.trim_start().starts_with('['));
        let keys = above.filter_map(|line| toml::from_str::<toml::Table>(line).ok());
        let said = keys.filter_map(|keys| Some(keys.get("runtime_dir")?.as_str()?.into()));
        said.last()
    }

    fn line(&self, offset: usize) -> usize {
        line_of(&self.text, offset)
    }
}

/// All that the files say.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// Of every device.
    pub common: File,
    /// Devices that have a section, with what is common to all where the section says nothing else.
    pub devices: BTreeMap<String, File>,
    /// What some connections of a section's devices get instead, in their order: the first that is for a
    /// connection counts.
    pub policies: Vec<Policy>,
    /// Whether there is a file beside which conf.d is.
    pub has_file: bool,
}

/// A key as it stands in a file.
struct Entry<'a> {
    source: &'a Source,
    line: usize,
    key: String,
    value: Value,
}

/// A section's name, where it begins, and its keys.
struct Section<'a> {
    name: String,
    at: String,
    entries: Vec<Entry<'a>>,
}

/// Whose keys stand in a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    All,
    Device,
    Policy,
}

impl Whose {
    /// Which there may be: what stands above the sections, or in one.
    fn names(self) -> Vec<&'static str> {
        let (not, sections): (&[&str], &[&'static str]) = match self {
            Self::All => (&[], &["device", "policy"]),
            Self::Device => (&OF_ALL, &[]),
            Self::Policy => (&OF_DEVICES, &OF_POLICIES),
        };
        let keys = names().filter(|name| !not.contains(name));
        keys.chain(sections.iter().copied()).collect()
    }

    /// What to say of a key that there is not: where it belongs, the one that was meant, or all.
    fn unknown(self, wrong: &str) -> String {
        if self != Self::Policy && OF_POLICIES.contains(&wrong) {
            return format!("{wrong}: is for a policy: write it in a section [policy.NAME]");
        }
        let names = self.names();
        let far = |name: &&&str| strsim::levenshtein(wrong, name);
        match names.iter().min_by_key(far).filter(|name| far(name) <= 2) {
            Some(section @ (&"device" | &"policy")) if self == Self::All => {
                format!("unknown key '{wrong}': did you mean a section [{section}.NAME]?")
            }
            Some(meant) => format!("unknown key '{wrong}': did you mean '{meant}'?"),
            None => format!(
                "unknown key '{wrong}', expected one of {}",
                names.join(", ")
            ),
        }
    }
}

/// One file's part: what is common, and each section's.
struct Parts<'a> {
    common: Vec<Entry<'a>>,
    devices: Vec<Section<'a>>,
    policies: Vec<Section<'a>>,
}

/// The sections, with the places of their keys, which a plain table has not.
#[derive(Deserialize)]
struct Sections {
    #[serde(default)]
    device: Tables,
    #[serde(default)]
    policy: Tables,
}

type Tables = BTreeMap<Spanned<String>, BTreeMap<String, Spanned<Value>>>;

impl Configuration {
    /// Reads a file, and those of the directory conf.d beside it that end in .toml, in the order of
    /// their names: what comes later wins.
    ///
    /// # Errors
    /// `FILE:LINE: what is wrong`, in one line.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_or_default(Some(path))
    }

    /// Reads the file that is named, else the default one if there is one, and in any case what is beside it.
    ///
    /// # Errors
    /// As [`Configuration::read`].
    pub fn read_or_default(path: Option<&Path>) -> Result<Self> {
        Self::of_all(&Sources::read(path)?)
    }

    /// As [`Configuration::read`], but the file may be missing.
    #[cfg(test)]
    pub(super) fn read_if_there(path: &Path) -> Result<Self> {
        Self::of_all(&Sources::read_if_there(path)?)
    }

    fn of_all(sources: &Sources) -> Result<Self> {
        Ok(Self {
            has_file: sources.has_file,
            ..Self::of(&sources.all)?
        })
    }

    pub(super) fn of(sources: &[Source]) -> Result<Self> {
        let parts: Vec<Parts<'_>> = sources.iter().map(parts).collect::<Result<_>>()?;
        let mut common = File::default();
        for part in &parts {
            common.take(&part.common, Whose::All)?;
        }
        let mut devices = BTreeMap::new();
        for section in parts.iter().flat_map(|part| &part.devices) {
            let file: &mut File = devices
                .entry(section.name.clone())
                .or_insert_with(|| common.clone());
            file.take(&section.entries, Whose::Device)?;
        }
        let mut policies: Vec<Policy> = Vec::new();
        for Section { name, at, entries } in parts.iter().flat_map(|part| &part.policies) {
            let found = policies.iter().position(|policy| policy.name == *name);
            let found = found.unwrap_or_else(|| {
                policies.push(Policy::new(name, at.clone(), &common));
                policies.len() - 1
            });
            policies[found].take(entries)?;
        }
        policies
            .iter()
            .try_for_each(|policy| policy.check(&devices))?;
        Ok(Self {
            common,
            devices,
            policies,
            has_file: true,
        })
    }
}

impl Policy {
    /// Sets what the entries of one of its sections say.
    fn take(&mut self, entries: &[Entry<'_>]) -> Result<()> {
        for entry in entries {
            let (source, line, key) = (&entry.source.name, entry.line, &entry.key);
            let set = self.set(key, &entry.value);
            let is_own = set.map_err(|error| anyhow!("{source}:{line}: {key}: {error}"))?;
            if !is_own {
                self.file.take(std::slice::from_ref(entry), Whose::Policy)?;
            }
        }
        Ok(())
    }
}

impl File {
    /// Sets what the entries of one file, or of one section, say.
    fn take(&mut self, entries: &[Entry<'_>], whose: Whose) -> Result<()> {
        for entry in entries {
            let Entry {
                source, line, key, ..
            } = entry;
            let name = &source.name;
            if !names().any(|name| name == key) {
                bail!("{name}:{line}: {}", whose.unknown(key));
            }
            self.set(key, entry.value.clone()).map_err(|error| {
                let line = line_of_quoted(&source.text, *line, &error);
                anyhow!("{name}:{line}: {key}: {error}")
            })?;
        }
        self.check_pairs().map_err(|(key, error)| {
            let at = entries.iter().rfind(|entry| entry.key == key);
            let at = at.map_or(String::new(), |at| {
                format!("{}:{}: ", at.source.name, at.line)
            });
            anyhow!("{at}{key}: {error}")
        })
    }
}

/// Takes a file apart, in the order of its lines.
fn parts(source: &Source) -> Result<Parts<'_>> {
    let name = &source.name;
    let wrong = |error: toml::de::Error| {
        let line = error.span().map_or(1, |span| source.line(span.start));
        anyhow!("{name}:{line}: {}", error.message().replace('\n', " "))
    };
    let table: BTreeMap<String, Spanned<Value>> = toml::from_str(&source.text).map_err(wrong)?;
    let example = |kind: &str| match kind {
        "device" => "each, as [device.wlan0]",
        _ => "each, as [policy.voice]",
    };
    for kind in ["device", "policy"] {
        let Some(found) = table.get(kind) else {
            continue;
        };
        let tables = found.get_ref().as_table();
        if !tables.is_some_and(|all| all.values().all(Value::is_table)) {
            let line = source.line(found.span().start);
            bail!(
                "{name}:{line}: {kind}: write a section for {}",
                example(kind)
            );
        }
    }
    let found: Sections = toml::from_str(&source.text).map_err(wrong)?;
    let keys = table
        .into_iter()
        .filter(|(key, _)| !["device", "policy"].contains(&key.as_str()));
    Ok(Parts {
        common: in_order(source, keys),
        devices: sections(source, found.device, "a device", &OF_ALL)?,
        policies: sections(source, found.policy, "a policy", &OF_DEVICES)?,
    })
}

/// The sections of a kind, in the order of their lines. `above`: keys that can't be in one.
fn sections<'a>(
    source: &'a Source,
    tables: Tables,
    kind: &str,
    above: &[&str],
) -> Result<Vec<Section<'a>>> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(section, _)| section.span().start);
    let mut found = Vec::new();
    for (section, table) in tables {
        let (name, line) = (&source.name, source.line(section.span().start));
        let section = section.into_inner();
        let sane = |c: char| !c.is_whitespace() && c != '/' && c != ':';
        if section.is_empty() || section.len() > NAME_BYTES || !section.chars().all(sane) {
            bail!("{name}:{line}: '{section}' can't be the name of {kind}");
        }
        // No key has keys of its own: to TOML a dot in a name goes one level down.
        if let Some((rest, _)) = table.iter().find(|(_, value)| value.get_ref().is_table()) {
            let word = kind.trim_start_matches("a ");
            bail!("{name}:{line}: a name with a dot needs quotes: [{word}.\"{section}.{rest}\"]");
        }
        let entries = in_order(source, table.into_iter());
        if let Some(entry) = entries.iter().find(|entry| above.contains(&&*entry.key)) {
            let whose = match OF_ALL.contains(&&*entry.key) {
                true => "is for all devices: write it above the first section",
                false => "is for a device: write it in its section",
            };
            bail!("{name}:{}: {}: {whose}", entry.line, entry.key);
        }
        found.push(Section {
            name: section,
            at: format!("{name}:{line}"),
            entries,
        });
    }
    Ok(found)
}

fn in_order<'a>(
    source: &'a Source,
    keys: impl Iterator<Item = (String, Spanned<Value>)>,
) -> Vec<Entry<'a>> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort_by_key(|(_, value)| value.span().start);
    let entry = |(key, value): (String, Spanned<Value>)| Entry {
        source,
        line: source.line(value.span().start),
        key,
        value: value.into_inner(),
    };
    keys.into_iter().map(entry).collect()
}

/// What is read, in its order.
pub(super) struct Sources {
    /// The first of them is the file itself, the others are beside it.
    has_file: bool,
    all: Vec<Source>,
}

impl Sources {
    /// The file that is named, which has to be there, else the default one if it is, and those beside it.
    fn read(path: Option<&Path>) -> Result<Self> {
        match path {
            Some(path) => Self::with_beside(Some(Source::read(path)?), path),
            None => Self::read_if_there(Path::new(DEFAULT_PATH)),
        }
    }

    pub(super) fn read_if_there(path: &Path) -> Result<Self> {
        Self::with_beside(Source::read_if_there(path)?, path)
    }

    fn with_beside(file: Option<Source>, path: &Path) -> Result<Self> {
        let has_file = file.is_some();
        let beside = beside(path)?;
        let beside = beside.iter().map(|path| Source::read(path));
        let all = file.map(Ok).into_iter().chain(beside);
        Ok(Self {
            has_file,
            all: all.collect::<Result<_>>()?,
        })
    }

    /// Directory of control sockets and locks, and what is wrong in the files: of one line alone it is known
    /// all the same.
    pub(super) fn runtime_dir(&self) -> (PathBuf, Option<Error>) {
        match Configuration::of_all(self) {
            Ok(all) => (all.common.runtime_dir(), None),
            Err(error) => {
                let said = self.all.iter().filter_map(Source::runtime_dir).next_back();
                let said = said.unwrap_or_else(|| File::default().runtime_dir());
                (said, Some(error))
            }
        }
    }
}

/// Where those who serve have their sockets, for who asks them: what else stands in the default files is for
/// those, and what is wrong in these (the second) no reason not to ask. In a file that is named it is one.
///
/// # Errors
/// A file can't be read, or one that is named is wrong.
pub fn runtime_dir(path: Option<&Path>) -> Result<(PathBuf, Option<Error>)> {
    match (path, Sources::read(path)?.runtime_dir()) {
        (Some(_), (_, Some(error))) => Err(error),
        (_, found) => Ok(found),
    }
}

/// The same for `program`, which says on standard error what is wrong.
///
/// # Errors
/// As [`runtime_dir`].
pub fn runtime_dir_or_warn(program: &str, path: Option<&Path>) -> Result<PathBuf> {
    let (directory, wrong) = runtime_dir(path)?;
    if let Some(wrong) = wrong {
        let asking = directory.display();
        let _ = writeln!(
            io::stderr(),
            "{program}: {wrong:#}; asking in {asking} all the same"
        );
    }
    Ok(directory)
}

/// The files that [`Configuration::read_or_default`] reads, each with its name from their directory on,
/// whether they are right or not.
///
/// # Errors
/// One can't be read.
pub fn source_texts(path: Option<&Path>) -> Result<Vec<(PathBuf, String)>> {
    let sources = Sources::read(path)?;
    let nr_files = usize::from(sources.has_file);
    let text = |(nr, source): (usize, Source)| {
        let name = Path::new(&source.name).file_name().unwrap_or_default();
        let name = match nr < nr_files {
            true => name.into(),
            false => Path::new(DIRECTORY).join(name),
        };
        (name, source.text)
    };
    Ok(sources.all.into_iter().enumerate().map(text).collect())
}

/// The files of conf.d beside `path`.
fn beside(path: &Path) -> Result<Vec<PathBuf>> {
    let directory = path.parent().unwrap_or(Path::new("")).join(DIRECTORY);
    let cannot = || format!("cannot read {}", directory.display());
    let found = match fs::read_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return no_dangling_link(&directory).map(|()| Vec::new());
        }
        other => other.with_context(cannot)?,
    };
    let found: std::io::Result<Vec<_>> = found.collect();
    let mut paths: Vec<PathBuf> = found
        .with_context(cannot)?
        .iter()
        .map(fs::DirEntry::path)
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    paths.sort();
    Ok(paths)
}

fn is_missing(error: &Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// What is missing may be meant to be there: what a link on the way leads to.
fn no_dangling_link(path: &Path) -> Result<()> {
    match path.ancestors().find(|at| at.is_symlink() && !at.exists()) {
        Some(link) => bail!(
            "cannot read {}: {} is a link to nothing: mend it or remove it",
            path.display(),
            link.display()
        ),
        None => Ok(()),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// The line of the list element that an error quotes, at or after the line of its key.
fn line_of_quoted(text: &str, line: usize, error: &str) -> usize {
    let quoted = error
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''));
    let Some((element, _)) = quoted else {
        return line;
    };
    let mut below = text.lines().skip(line - 1);
    below
        .position(|l| l.contains(element))
        .map_or(line, |n| line + n)
}
