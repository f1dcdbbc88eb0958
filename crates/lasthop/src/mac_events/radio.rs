// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A real radio as a source of MAC events: a tracing program on mac80211's status of what was sent
//! (bpf/mac80211.bpf.c) writes records to a ring buffer. While it listens, mac80211 can't be unloaded.

use std::cell::RefCell;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use caps::{CapSet, Capability};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, RingBuffer, RingBufferBuilder};

use super::record::{Missed, Record, TAKE_MOST};

/// The compiled program.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/mac80211.bpf.o"));
const PROGRAM: &str = "lh_tx_status";
/// Where the types of the module are, without which the program can't be fitted to it.
const BTF: &str = "/sys/kernel/btf/mac80211";
/// This network namespace, whose inode is its number.
const NAMESPACE: &str = "/proc/self/ns/net";

/// The program, loaded and listening.
pub struct Radio {
    _link: Link,
    object: Object,
    ring: RingBuffer<'static>,
    /// What the ring buffer's callback has read.
    taken: Rc<RefCell<Vec<Record>>>,
    namespace: u32,
    missed: Missed,
}

impl fmt::Debug for Radio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Radio")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

fn load() -> Result<Object> {
    if !Path::new(BTF).exists() {
        bail!(
            "{BTF} is missing: the module mac80211 is not loaded, or the kernel was built without CONFIG_DEBUG_INFO_BTF_MODULES"
        );
    }
    check_rights()?;
    let open = ObjectBuilder::default().open_memory(OBJECT);
    let open = open.context("BPF object")?;
    open.load().context(
        "the kernel refuses the program that listens to mac80211 (RUST_LOG=lasthop=debug shows its reasons)",
    )
}

/// Without it the kernel shows no module's types, and the program is refused as if mac80211 had no such function.
fn check_rights() -> Result<()> {
    if !caps::has_cap(None, CapSet::Effective, Capability::CAP_SYS_ADMIN)? {
        bail!(
            "mac_events = mac80211: to find the module's types takes CAP_SYS_ADMIN at the start, which this process does not have or has given up: `systemctl edit` the service with CapabilityBoundingSet=CAP_SYS_ADMIN and start it anew (docs/mac-events.md)"
        );
    }
    Ok(())
}

impl Radio {
    /// Listens, to nobody's frames so far. Needs rights that are given up after start.
    ///
    /// # Errors
    /// No mac80211, or a kernel without its types.
    pub fn open() -> Result<Self> {
        let object = load()?;
        let taken = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&taken);
        let records = object.maps().find(|map| map.name() == "records");
        let records = records.context("no BPF map records")?;
        let mut builder = RingBufferBuilder::new();
        builder.add(&records, move |raw: &[u8]| {
            sink.borrow_mut().extend(Record::read(raw));
            0
        })?;
        let ring = builder.build().context("ring buffer of MAC events")?;
        let program = object.progs_mut().find(|program| program.name() == PROGRAM);
        let link = program
            .context("no BPF program that listens to mac80211")?
            .attach()
            .context("listening to mac80211")?;
        let namespace = std::fs::metadata(NAMESPACE).context(NAMESPACE)?.ino();
        Ok(Self {
            _link: link,
            object,
            ring,
            taken,
            namespace: u32::try_from(namespace).context(NAMESPACE)?,
            missed: Missed::default(),
        })
    }

    /// Whether the kernel takes the program; it listens to nothing.
    ///
    /// # Errors
    /// Why it does not.
    pub fn try_out() -> Result<()> {
        load().map(drop)
    }

    /// Reports the frames of this device of our network namespace.
    ///
    /// # Errors
    /// The kernel can't be told.
    pub fn follow(&self, ifindex: u32) -> Result<()> {
        let watched = self.object.maps().find(|map| map.name() == "watched");
        let watched = watched.context("no BPF map watched")?;
        let value = [ifindex.to_ne_bytes(), self.namespace.to_ne_bytes()].concat();
        Ok(watched.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY)?)
    }

    /// Readable when there is something to take.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor belongs to self.ring, which outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }

    /// Hands what has come to `each`; never waits.
    pub fn take(&mut self, mut each: impl FnMut(&Record)) {
        self.ring.consume_raw_n(TAKE_MOST);
        let mut missed = 0;
        for record in self.taken.borrow_mut().drain(..) {
            missed = record.missed;
            each(&record);
        }
        self.missed.tell(missed, &"mac80211");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// As of the packages' service: what libbpf says then is that there is no such function.
    #[test]
    fn without_the_right_it_says_which_and_where() {
        // A thread has rights of its own.
        let check = || {
            caps::drop(None, CapSet::Effective, Capability::CAP_SYS_ADMIN)?;
            check_rights()
        };
        let error = std::thread::spawn(check).join().unwrap().unwrap_err();
        let error = format!("{error:#}");
        for word in [
            "mac80211",
            "CAP_SYS_ADMIN",
            "CapabilityBoundingSet",
            "docs/mac-events.md",
        ] {
            assert!(error.contains(word), "{error}");
        }
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn without_the_module_it_says_so_in_one_line() {
        if Path::new(BTF).exists() {
            // Past the test harness, which swallows what passing tests print.
            let _ = writeln!(std::io::stderr(), "skipped: mac80211 is loaded here");
            return;
        }
        let error = format!("{:#}", Radio::open().unwrap_err());
        assert!(
            error.starts_with(BTF) && error.contains("not loaded"),
            "{error}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
}
