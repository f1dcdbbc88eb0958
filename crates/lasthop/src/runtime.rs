// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The directory of locks and control sockets: only where nobody else can put something in our way.
//! Whoever may write to a directory on the way there could have a root process follow a link, lock
//! a file or answer in its name.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

const WRITABLE_BY_OTHERS: u32 = 0o022;
/// In such a directory nobody removes or renames what is somebody else's.
const STICKY: u32 = 0o1000;
/// Of a directory that root means for a group to read in: what is made in it is that group's
/// (setgid), who may enter and list it, and nobody else may.
const GROUP_BITS: u32 = 0o2057;
const FOR_A_GROUP: u32 = 0o2050;

/// Whether root has made this directory for a group, that may ask the agents: mode 2750. Then the
/// directories in it are made for the group as well.
pub fn for_a_group(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.mode() & GROUP_BITS == FOR_A_GROUP)
}

/// Makes the directory, as far as it is missing, if every step of the way is root's or ours and
/// nobody else's to write to.
///
/// # Errors
/// One line that names the step that isn't, or what can't be made.
pub fn make(directory: &Path) -> Result<()> {
    walk(directory, true)
}

/// Whether the directory is as [`make`] would have it; a missing one is.
///
/// # Errors
/// As [`make`].
pub fn check(directory: &Path) -> Result<()> {
    walk(directory, false)
}

fn walk(directory: &Path, make: bool) -> Result<()> {
    let absolute = std::path::absolute(directory).context("runtime_dir")?;
    let mut at = PathBuf::new();
    for step in absolute.components() {
        if step == Component::ParentDir {
            bail!("runtime_dir {}: '..' is not allowed", directory.display());
        }
        at.push(step);
        let found = match fs::symlink_metadata(&at) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !make {
                    return Ok(());
                }
                make_one(&at)?
            }
            other => other.with_context(|| cannot_look(&at))?,
        };
        if found.is_symlink() {
            owned(&at, &found)?;
            let target = fs::canonicalize(&at).with_context(|| at.display().to_string())?;
            walk(&target, make)?; // which has no links
        } else {
            safe(&at, &found, at == absolute)?;
        }
    }
    Ok(())
}

/// Whoever may not look at what is in a directory hears it here, before anybody tries to read that.
pub(crate) fn cannot_look(at: &Path) -> String {
    format!(
        "cannot read {}: run as root, or in the group that runtime_dir is for",
        at.display()
    )
}

/// Somebody may have been there first: then it is theirs, and found out.
fn make_one(at: &Path) -> Result<Metadata> {
    let mode = match at.parent().is_some_and(for_a_group) {
        true => 0o750, // and setgid, as that one
        false => 0o700,
    };
    match DirBuilder::new().mode(mode).create(at) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => fs::symlink_metadata(at),
    }
    .with_context(|| format!("cannot make {}", at.display()))
}

fn owned(at: &Path, found: &Metadata) -> Result<()> {
    let us = nix::unistd::geteuid().as_raw();
    if ![0, us].contains(&found.uid()) {
        bail!(
            "runtime_dir: {} is user {}'s, who could have us follow it anywhere: choose a directory of root's, as /run/lasthop",
            at.display(),
            found.uid()
        );
    }
    Ok(())
}

fn safe(at: &Path, found: &Metadata, last: bool) -> Result<()> {
    owned(at, found)?;
    if !found.is_dir() {
        bail!("runtime_dir: {} is no directory", at.display());
    }
    let shared = found.mode() & WRITABLE_BY_OTHERS != 0;
    if shared && (last || found.mode() & STICKY == 0) {
        bail!(
            "runtime_dir: others may write to {}: choose a directory that only root may, as /run/lasthop",
            at.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refused(path: &Path) -> String {
        let made = make(path).unwrap_err().to_string();
        assert_eq!(made, check(path).unwrap_err().to_string());
        made
    }

    #[test]
    fn is_made_for_us_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run/4026531840");
        check(&path).unwrap();
        assert!(!path.exists());
        make(&path).unwrap();
        make(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(make(&dir.path().join("x/../y")).is_err());
    }

    #[test]
    fn is_made_for_a_group_only_where_root_says_so() {
        let dir = tempfile::tempdir().unwrap();
        for (outer, inner) in [
            (0o2750, 0o2750),
            (0o750, 0o700),
            (0o2755, 0o2700), // as directories of a project's are: no word about us
            (0o2710, 0o2700),
        ] {
            let run = dir.path().join(format!("{outer:o}"));
            make(&run).unwrap();
            mode(&run, outer);
            make(&run.join("4026531840")).unwrap();
            let made = run.join("4026531840").metadata().unwrap();
            assert_eq!(made.mode() & 0o7777, inner, "{outer:o}");
        }
    }

    /// As /run/lasthop is for any user but root.
    #[test]
    fn who_may_not_look_hears_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        make(&path).unwrap();
        mode(&path, 0);
        mode(dir.path(), 0o755);
        let asked = path.join("4026531840");
        let asks = move || {
            // SAFETY: of this thread alone. Root looks where it likes, but not as another user.
            unsafe { nix::libc::setfsuid(65_534) };
            check(&asked).unwrap_err()
        };
        let error = format!("{:#}", std::thread::spawn(asks).join().unwrap());
        mode(&path, 0o700); // to be removed
        assert!(error.contains("run as root"), "{error}");
    }

    #[test]
    fn what_others_may_write_to_is_no_place() {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("shared");
        let path = shared.join("run");
        make(&path).unwrap();
        mode(&shared, 0o777);
        assert!(refused(&path).contains("others may write"));
        mode(&shared, 0o1777); // as /tmp: what is ours stays ours there
        make(&path).unwrap();
        assert!(refused(&shared).contains("others may write"));
        mode(&path, 0o770);
        assert!(refused(&path).contains("others may write"));
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        make(&target).unwrap();
        symlink(&target, &link).unwrap();
        make(&link.join("run")).unwrap(); // as /var/run
        assert!(target.join("run").exists());
        mode(&target, 0o777);
        assert!(refused(&link.join("run")).contains("others may write"));
        mode(&target, 0o755);
        if !nix::unistd::geteuid().is_root() {
            return; // can't give anything away
        }
        let nobody = Some(65_534);
        std::os::unix::fs::lchown(&link, nobody, nobody).unwrap();
        assert!(refused(&link.join("run")).contains("user 65534's"));
        std::os::unix::fs::lchown(&target, nobody, nobody).unwrap();
        assert!(refused(&target.join("run")).contains("user 65534's"));
    }
}
