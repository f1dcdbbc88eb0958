// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The context and the outcome of a test run (BPF_PROG_TEST_RUN).

use std::io;
use std::time::Duration;

/// The `__sk_buff` of a test run: what it may set and what it gets back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkbContext {
    /// fwmark.
    pub mark: u32,
    /// Priority.
    pub priority: u32,
    /// Scratch words, see `enum lh_cb`.
    pub cb: [u32; 5],
    /// Time stamp: the clock of a test.
    pub tstamp: u64,
    /// Segment size of a super-packet.
    pub gso_size: u32,
    /// Number of segments of a super-packet.
    pub gso_segs: u32,
}

/// Offsets of [`SkbContext`]'s fields in the UAPI's `struct __sk_buff`, and its size.
pub(crate) mod offset {
    pub const MARK: usize = 8;
    pub const PRIORITY: usize = 32;
    pub const CB: usize = 48;
    pub const TSTAMP: usize = 152;
    pub const GSO_SEGS: usize = 164;
    pub const GSO_SIZE: usize = 176;
    pub const BYTES: usize = 192;
}

impl SkbContext {
    pub(crate) fn encode(&self) -> [u8; offset::BYTES] {
        let mut raw = [0; offset::BYTES];
        let mut put = |at: usize, value: &[u8]| raw[at..at + value.len()].copy_from_slice(value);
        put(offset::MARK, &self.mark.to_ne_bytes());
        put(offset::PRIORITY, &self.priority.to_ne_bytes());
        for (i, word) in self.cb.iter().enumerate() {
            put(offset::CB + 4 * i, &word.to_ne_bytes());
        }
        put(offset::TSTAMP, &self.tstamp.to_ne_bytes());
        put(offset::GSO_SEGS, &self.gso_segs.to_ne_bytes());
        put(offset::GSO_SIZE, &self.gso_size.to_ne_bytes());
        raw
    }

    pub(crate) fn decode(raw: &[u8; offset::BYTES]) -> Self {
        let word = |at: usize| u32::from_ne_bytes(raw[at..at + 4].try_into().expect("4 bytes"));
        let long = |at: usize| u64::from_ne_bytes(raw[at..at + 8].try_into().expect("8 bytes"));
        Self {
            mark: word(offset::MARK),
            priority: word(offset::PRIORITY),
            cb: std::array::from_fn(|i| word(offset::CB + 4 * i)),
            tstamp: long(offset::TSTAMP),
            gso_segs: word(offset::GSO_SEGS),
            gso_size: word(offset::GSO_SIZE),
        }
    }
}

/// What a test run gave.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the program returned.
    pub retval: i32,
    /// The packet as the program left it.
    pub data: Vec<u8>,
    /// The context as the program left it.
    pub context: SkbContext,
    /// Mean time of one run.
    pub duration: Duration,
}

/// Runs the loaded program `fd` over a packet that is on no device, `repeat` times.
///
/// # Errors
/// The kernel refuses: packet too short or too long.
pub fn test_run(fd: i32, packet: &[u8], context: &SkbContext, repeat: u32) -> io::Result<Outcome> {
    let context_in = context.encode();
    let mut context_out = [0u8; offset::BYTES];
    let mut data = vec![0u8; 4096];
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as u64,
        data_in: packet.as_ptr().cast(),
        data_size_in: packet.len() as u32,
        data_out: data.as_mut_ptr().cast(),
        data_size_out: data.len() as u32,
        ctx_in: context_in.as_ptr().cast(),
        ctx_size_in: context_in.len() as u32,
        ctx_out: context_out.as_mut_ptr().cast(),
        ctx_size_out: context_out.len() as u32,
        repeat: repeat as i32,
        ..Default::default()
    };
    // SAFETY: all buffers live through the call and their sizes are given.
    let error = unsafe { libbpf_sys::bpf_prog_test_run_opts(fd, &mut options) };
    if error < 0 {
        return Err(io::Error::from_raw_os_error(-error));
    }
    data.truncate(options.data_size_out as usize);
    Ok(Outcome {
        retval: options.retval as i32,
        data,
        context: SkbContext::decode(&context_out),
        duration: Duration::from_nanos(u64::from(options.duration)),
    })
}
