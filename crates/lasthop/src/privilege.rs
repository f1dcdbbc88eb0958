// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the daemon keeps of its rights once everything is attached: three capabilities, no way to
//! new ones, and the system calls that it makes. Whatever takes it over then has no more.
//!
//! A right that can't be given up (an older kernel, a sandbox around us) is no reason not to serve.

use anyhow::{Context, Result};
use caps::{CapSet, Capability, CapsHashSet};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use crate::device::NEEDED;

/// Gives up all else. Threads that run already keep what they have: call it before there are any.
/// `connects`: the service manager is to hear of us, or a source of MAC events or
/// the routes may have to be asked again.
pub fn drop_all_but_needed(connects: bool) {
    for (what, done) in [
        // To load, run and attach the programs again when a device comes back.
        ("capabilities", keep_capabilities(&NEEDED)),
        ("system calls", filter_calls(connects)),
    ] {
        if let Err(error) = done {
            tracing::warn!("{what}: can't give up what is not needed: {error:#}");
        }
    }
}

/// Gives up all capabilities but these, for programs that are started later as well. As
/// [`drop_all_but_needed`] it is for before there are threads.
pub fn keep_capabilities(kept: &[Capability]) -> Result<()> {
    let kept: CapsHashSet = kept.iter().copied().collect();
    // The bounding set first, for that takes CAP_SETPCAP. Who lacks it can't get what is in it
    // either: no_new_privs (filter_calls) rules out programs with file capabilities.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for other in caps::runtime::thread_all_supported() {
            if !kept.contains(&other) {
                caps::drop(None, CapSet::Bounding, other)?;
            }
        }
    }
    let have = caps::read(None, CapSet::Permitted)?;
    let kept: CapsHashSet = have.intersection(&kept).copied().collect();
    caps::clear(None, CapSet::Ambient).context("ambient")?;
    caps::clear(None, CapSet::Inheritable).context("inheritable")?;
    caps::set(None, CapSet::Effective, &kept).context("effective")?;
    caps::set(None, CapSet::Permitted, &kept).context("permitted")?;
    Ok(())
}

/// All other calls fail with EPERM, in threads to come as well: no reason to die, for then what
/// is kept back would be lost.
fn filter_calls(connects: bool) -> Result<()> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).context("seccomp: unknown machine")?;
    let rules = CALLS
        .iter()
        .chain(CALLS_OF_OLD)
        .chain(connects.then_some(&libc::SYS_connect))
        .map(|call| (*call, Vec::new()));
    let filter: BpfProgram = SeccompFilter::new(
        rules.collect(),
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        arch,
    )?
    .try_into()?;
    // Sets no_new_privs, too.
    seccompiler::apply_filter(&filter).context("seccomp")
}

/// What the daemon, libbpf, glibc and musl call after start.
const CALLS: &[i64] = &[
    // BPF: programs, maps, links; and the events' ring.
    libc::SYS_bpf,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_perf_event_open, // libbpf asks what the kernel knows
    libc::SYS_memfd_create,    // and holds places for descriptors
    // Devices: ioctl and netlink.
    libc::SYS_socket,
    libc::SYS_bind,
    libc::SYS_ioctl,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    // The control socket and its directory.
    libc::SYS_listen,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_flock,
    libc::SYS_ftruncate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    // Files: /proc, /sys/kernel/btf.
    libc::SYS_openat,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_newfstatat,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_uname,
    // Waiting and time.
    libc::SYS_ppoll,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_sysinfo,
    libc::SYS_prlimit64,
    // Threads, and their end.
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_setpriority,
    libc::SYS_prctl,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_geteuid,
    libc::SYS_tgkill,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The same by their first names, which newer machines don't have.
#[cfg(target_arch = "x86_64")]
const CALLS_OF_OLD: &[i64] = &[
    libc::SYS_access,
    libc::SYS_dup2,
    libc::SYS_epoll_wait,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const CALLS_OF_OLD: &[i64] = &[];
