// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The TCX hooks of a device (Linux 6.6): attaching, and who is there already.

use std::ffi::CStr;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Programs per hook (BPF_MPROG_MAX).
const PROGRAMS_MAX: usize = 64;

/// The two hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Packets that the device received.
    Ingress,
    /// Packets that it is to send.
    Egress,
}

impl Hook {
    fn raw(self) -> libbpf_sys::bpf_attach_type {
        match self {
            Self::Ingress => libbpf_sys::BPF_TCX_INGRESS,
            Self::Egress => libbpf_sys::BPF_TCX_EGRESS,
        }
    }
}

fn checked(result: i32) -> Result<i32> {
    if result < 0 {
        return Err(Error::from_raw_os_error(-result));
    }
    Ok(result)
}

/// Attaches a program. It goes with the link, that is with the process at the latest.
pub fn attach(program: i32, ifindex: u32, hook: Hook) -> Result<OwnedFd> {
    // SAFETY: plain numbers, and null options mean defaults.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(program, ifindex as i32, hook.raw(), std::ptr::null())
    };
    // SAFETY: a descriptor that the kernel just gave us.
    Ok(unsafe { OwnedFd::from_raw_fd(checked(fd)?) })
}

/// Puts another program in the place of a link's: from one packet to the next.
pub fn replace(link: &OwnedFd, program: i32) -> Result<()> {
    // SAFETY: plain numbers, and null options mean defaults.
    let result =
        unsafe { libbpf_sys::bpf_link_update(link.as_raw_fd(), program, std::ptr::null()) };
    checked(result).map(drop)
}

/// The device that a link is on; 0 once that is gone, also if another has its index by now.
pub fn ifindex_of(link: &OwnedFd) -> u32 {
    // SAFETY: all zeros is a valid value of this struct of integers.
    let mut info: libbpf_sys::bpf_link_info = unsafe { std::mem::zeroed() };
    let mut bytes = size_of_val(&info) as u32;
    // SAFETY: an open descriptor, and a buffer of the given size.
    let result = unsafe {
        libbpf_sys::bpf_link_get_info_by_fd(link.as_raw_fd(), &raw mut info, &raw mut bytes)
    };
    // SAFETY: the member of TCX links; the struct was zeroed in case the kernel wrote less.
    checked(result).map_or(0, |_| unsafe { info.__bindgen_anon_1.tcx.ifindex })
}

/// Identifiers of the programs on a hook. Fails with EINVAL before Linux 6.6.
pub fn programs_on(ifindex: u32, hook: Hook) -> Result<Vec<u32>> {
    let mut ids = [0u32; PROGRAMS_MAX];
    let mut options = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as libbpf_sys::size_t,
        prog_ids: ids.as_mut_ptr(),
        ..Default::default()
    };
    options.__bindgen_anon_1.count = PROGRAMS_MAX as u32;
    // SAFETY: `options` names a buffer of the given size.
    let result =
        unsafe { libbpf_sys::bpf_prog_query_opts(ifindex as i32, hook.raw(), &raw mut options) };
    checked(result)?;
    // SAFETY: the kernel has written the member.
    let count = unsafe { options.__bindgen_anon_1.count } as usize;
    Ok(ids[..count.min(PROGRAMS_MAX)].to_vec())
}

/// A program's name; only with CAP_SYS_ADMIN.
pub fn program_name(id: u32) -> Result<String> {
    // SAFETY: a plain number.
    let fd = checked(unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) })?;
    // SAFETY: a descriptor that the kernel just gave us.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all zeros is a valid value of this struct of integers.
    let mut info: libbpf_sys::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut bytes = size_of_val(&info) as u32;
    // SAFETY: an open descriptor, and a buffer of the given size.
    checked(unsafe {
        libbpf_sys::bpf_prog_get_info_by_fd(fd.as_raw_fd(), &raw mut info, &raw mut bytes)
    })?;
    let name = info.name.map(|c| c as u8);
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}
