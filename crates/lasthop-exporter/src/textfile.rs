// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The file that node_exporter's textfile collector reads: whole at any time.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Puts the text in the file's place: written beside it, under a name that no collector reads, then
/// renamed. For everybody to read.
///
/// # Errors
/// The directory can't be written to; names the file. What was there before stays.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let directory = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let put = || -> std::io::Result<()> {
        let mut beside = tempfile::Builder::new()
            .prefix(".lasthop-")
            .suffix(".tmp")
            .tempfile_in(directory)?;
        beside.write_all(text.as_bytes())?;
        // Of what it is made with a umask takes away, a service's 0077 all of it.
        let file_mode = Permissions::from_mode(0o644);
        beside.as_file().set_permissions(file_mode)?;
        beside.persist(file)?;
        Ok(())
    };
    put().with_context(|| {
        format!(
            "cannot write {}: its directory must be there and ours to write to",
            file.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn readers_find_the_old_or_the_new() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lasthop.prom");
        let texts = [1, 2].map(|n| format!("x {n}\n").repeat(100_000));
        write(&file, &texts[0]).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for i in 0..100 {
                    write(&file, &texts[i % 2]).unwrap();
                }
            });
            let mut reads = 0;
            while !writer.is_finished() {
                let there = fs::read_to_string(&file).unwrap();
                assert!(texts.contains(&there), "{} bytes", there.len());
                reads += 1;
            }
            assert!(reads > 0);
        });
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 1, "nothing stays beside it");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o644);
    }

    #[test]
    fn what_can_not_be_written_is_said_in_one_line() {
        let error = write(Path::new("/nowhere/lasthop.prom"), "").unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.starts_with("cannot write /nowhere/lasthop.prom: "),
            "{text}"
        );
        assert!(!text.contains('\n'));
    }
}
