// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The values that programs and user space share while attached.

use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result};
use lasthop_core::bindings::lh_shared;
use libbpf_rs::MapHandle;

/// Live values shared with the programs, mapped.
pub(crate) struct Shared(NonNull<lh_shared>);

// SAFETY: the mapping belongs to the process, not to a thread; all access is atomic.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn map(map: &MapHandle) -> Result<Self> {
        // SAFETY: a fresh shared mapping of a map that is as large as lh_shared, and mmapable.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<lh_shared>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_fd().as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).context("mapping the shared values");
        }
        NonNull::new(address.cast())
            .map(Self)
            .context("mapping at address 0")
    }

    /// Of slots, of chunks and of flows, how many are in use, there, and there at the most.
    pub(crate) fn pools(&self) -> [[&AtomicU64; 3]; 3] {
        // SAFETY: fields of a valid struct; no references are made.
        unsafe {
            [
                [
                    self.word(|s| &raw mut (*s).slots_used),
                    self.word(|s| &raw mut (*s).slots_there),
                    self.word(|s| &raw mut (*s).slots_most),
                ],
                [
                    self.word(|s| &raw mut (*s).chunks_used),
                    self.word(|s| &raw mut (*s).chunks_there),
                    self.word(|s| &raw mut (*s).chunks_most),
                ],
                [
                    self.word(|s| &raw mut (*s).flows_used),
                    self.word(|s| &raw mut (*s).flows_there),
                    self.word(|s| &raw mut (*s).flows_most),
                ],
            ]
        }
    }

    /// How many SYNs can be remembered, and at the most.
    pub(crate) fn syns(&self) -> [&AtomicU64; 2] {
        // SAFETY: fields of a valid struct; no references are made.
        unsafe {
            [
                self.word(|s| &raw mut (*s).syns_there),
                self.word(|s| &raw mut (*s).syns_most),
            ]
        }
    }

    /// One of its words.
    pub(crate) fn word(&self, field: impl Fn(*mut lh_shared) -> *mut u64) -> &AtomicU64 {
        // SAFETY: an aligned u64 inside the mapping, which lives as long as self; the programs
        // access it atomically as well.
        unsafe { AtomicU64::from_ptr(field(self.0.as_ptr())) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, which nobody else holds.
        unsafe { libc::munmap(self.0.as_ptr().cast::<c_void>(), size_of::<lh_shared>()) };
    }
}
