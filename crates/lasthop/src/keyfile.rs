// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The keys by which the agents of a hop know each other: a file with one or two of them, each 32
//! hexadecimal digits on a line of its own. The first seals what is sent, either opens what comes.
//! So a key is changed without a pause: the new one below the old one on both sides, then above it,
//! then alone, and `lasthop key reload` after each step.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};
use lasthop_core::KEY_BYTES;
use lasthop_core::bindings::{lh_key, lh_keys};

/// More than two keys with comments take.
const FILE_BYTES: u64 = 4096;
const OTHERS: u32 = 0o077;

/// Reads the keys.
///
/// # Errors
/// One line: a file that others may read or write, or what is wrong in it.
pub fn read(path: &Path) -> Result<lh_keys> {
    let name = path.display();
    let mut options = OpenOptions::new();
    // A pipe would have us wait.
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options
        .open(path)
        .with_context(|| format!("key file {name}"))?;
    let found = file.metadata()?;
    if !found.is_file() {
        bail!("key file {name}: no file");
    }
    let us = nix::unistd::geteuid().as_raw();
    if ![0, us].contains(&found.uid()) {
        bail!(
            "key file {name}: it is user {}'s: chown root {name}",
            found.uid()
        );
    }
    if found.mode() & OTHERS != 0 {
        bail!("key file {name}: others may read or write it: chmod 600 {name}");
    }
    let mut text = String::new();
    file.take(FILE_BYTES)
        .read_to_string(&mut text)
        .with_context(|| format!("key file {name}"))?;
    parse(&text).with_context(|| format!("key file {name}"))
}

fn parse(text: &str) -> Result<lh_keys> {
    let lines = text.lines().map(str::trim).enumerate();
    let keys: Vec<lh_key> = lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(i, line)| key(line).with_context(|| format!("line {}", i + 1)))
        .collect::<Result<_>>()?;
    match keys.len() {
        0 => bail!("no key in it: lasthop key new > FILE makes one"),
        1 | 2 => Ok(lh_keys::new(&keys)),
        n => bail!("{n} keys, at most two"),
    }
}

/// Says nothing of what is there: it may be a part of a key.
fn key(line: &str) -> Result<lh_key> {
    let mut bytes = [0; KEY_BYTES];
    let digits = line.as_bytes();
    if digits.len() != 2 * KEY_BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        bail!("not {} hexadecimal digits", 2 * KEY_BYTES);
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair)?, 16)?;
    }
    Ok(lh_key::new(&bytes))
}

/// A new key, as the file has it.
///
/// # Errors
/// The system has no random numbers.
pub fn new() -> Result<String> {
    let mut bytes = [0u8; KEY_BYTES];
    // SAFETY: as many bytes as are ours.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), KEY_BYTES, 0) };
    if got != KEY_BYTES as isize {
        return Err(std::io::Error::last_os_error()).context("random numbers");
    }
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f";

    #[test]
    fn one_key_or_two() {
        let made = new().unwrap();
        assert_ne!(made, new().unwrap());
        let keys = parse(&format!("# of the first hop\n{KEY}\n\n {made} \n")).unwrap();
        assert_eq!(keys.key[0], lh_key::new(&std::array::from_fn(|i| i as u8)));
        assert!(keys.key[0].id != 0 && keys.key[1].id != 0);
        assert_eq!(parse(KEY).unwrap().key[1].id, 0);
    }

    #[test]
    fn what_is_no_key_is_told_and_not_shown() {
        let error = |text: &str| format!("{:#}", parse(text).unwrap_err());
        assert!(error("").contains("lasthop key new"));
        assert!(error(&format!("{KEY}\n{KEY}\n{KEY}")).contains("3 keys"));
        for wrong in [&KEY[1..], "zz0102030405060708090a0b0c0d0e0f", "ä"] {
            let error = error(&format!("#\n{wrong}"));
            assert!(error.starts_with("line 2: not 32 hex"), "{error}");
            assert!(!error.contains(wrong));
        }
    }

    #[test]
    fn a_file_for_us_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let error = || format!("{:#}", read(&path).unwrap_err());
        assert!(error().contains("No such file"));
        fs::write(&path, KEY).unwrap();
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for open in [0o640, 0o604, 0o620] {
            mode(open);
            assert!(error().contains("chmod 600"), "{open:o}");
        }
        for closed in [0o600, 0o400] {
            mode(closed);
            assert!(read(&path).is_ok(), "{closed:o}");
        }
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            assert!(error().contains("user 65534's"));
        }
        assert!(read(dir.path()).is_err());
    }
}
