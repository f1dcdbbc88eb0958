// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the machine and a device must have before anything is attached.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use caps::{CapSet, Capability, CapsHashSet};
use lasthop_core::bindings::{LH_CACHE_PKT_MAX, LH_HDR_BYTES};

/// ARPHRD_NONE: IP packets without header (tun, WireGuard).
const ARPHRD_NONE: u16 = 0xfffe;
/// Headers of IPv4 and TCP without options. What is left of the MTU is the largest payload, of
/// which the programs cache LH_CACHE_PKT_MAX - LH_HDR_BYTES, whatever the real headers take.
const TCP_IP_BYTES: u32 = 40;
/// Index of a network namespace's own loopback device.
const LOOPBACK: u32 = 1;
/// ARPHRD_RAWIP: cellular modems.
const ARPHRD_RAWIP: u16 = 519;

/// A network device in this network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name; not the alternative one by which it may have been asked for.
    pub name: String,
    /// Its index, which changes when it goes and comes back.
    pub ifindex: u32,
    /// 14 with an Ethernet header, 0 without.
    pub l2_bytes: u32,
    /// Largest IP packet.
    pub mtu_bytes: u32,
}

/// The index of a device; none if there is no such device.
pub fn ifindex(name: &str) -> Option<u32> {
    nix::net::if_::if_nametoindex(name).ok()
}

/// The name of a device of this network namespace; none if it is gone, or another namespace's.
///
/// # Errors
/// It can't be asked for, as without a descriptor: that says nothing of the device. (nix 0.30 does not tell
/// one from the other.)
pub fn name_of(ifindex: u32) -> io::Result<Option<String>> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer is as long as the call wants it.
    let found = unsafe { libc::if_indextoname(ifindex, name.as_mut_ptr()) };
    if found.is_null() {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ENXIO | libc::ENODEV) => Ok(None),
            _ => Err(error),
        };
    }
    let name = name.map(|byte| byte as u8);
    let name = CStr::from_bytes_until_nul(&name).ok();
    Ok(name.and_then(|name| name.to_str().ok()).map(str::to_owned))
}

/// The names of all devices of this network namespace but its own loopback.
pub fn names() -> Vec<String> {
    let all = nix::net::if_::if_nameindex();
    let all = all.inspect_err(|error| tracing::warn!("the devices can't be listed: {error}"));
    let found = all.iter().flat_map(|all| all.iter());
    let named = found.filter(|device| device.index() != LOOPBACK);
    named
        .filter_map(|device| device.name().to_str().ok().map(str::to_owned))
        .collect()
}

/// The name by which the kernel knows a device; `name` itself if there is no such device. Devices
/// may have alternative names, and a lock by each of them would be none. Of some of its connections
/// (`wlan0:voice`) the device's is made right.
pub fn real_name(name: &str) -> String {
    let (device, rest) = name.split_at(name.find(':').unwrap_or(name.len()));
    let real = ifindex(device).and_then(|index| name_of(index).ok().flatten());
    real.map_or_else(|| name.to_owned(), |real| real + rest)
}

/// No device's name has a slash: one that systemd has made of a dash is an instance's that was not escaped
/// (packaging/systemd/lasthop@.service).
fn what_to_do(name: &str) -> String {
    match name.contains('/') {
        true => format!(
            "if systemd was told {0}, it is to be told \"lasthop@$(systemd-escape {0}).service\"",
            name.replace('/', "-")
        ),
        false => "see `ip link`".into(),
    }
}

/// An `ifreq` answer for the device. The request goes through a socket, not through /sys, which
/// shows the namespace that it was mounted in. Any socket's kind will do: this one needs no address,
/// and no right to a family that the network can reach (packaging/systemd/lasthop.service).
fn ask(name: &str, request: libc::Ioctl) -> Result<libc::ifreq> {
    let socket = UnixDatagram::unbound()?;
    // SAFETY: all zeros is a valid ifreq.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the requests used here read and write one ifreq.
    if unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut ifreq) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(ifreq)
}

/// Whether the device is up and its link is there; none if that can't be told.
pub fn running(name: &str) -> Option<bool> {
    let answer = ask(name, libc::SIOCGIFFLAGS).ok()?;
    // SAFETY: the member that this request fills in.
    let flags = i32::from(unsafe { answer.ifr_ifru.ifru_flags });
    let both = libc::IFF_UP | libc::IFF_RUNNING;
    Some(flags & both == both)
}

impl Device {
    /// Looks the device up.
    ///
    /// # Errors
    /// No such device, or one of a kind whose packets we don't understand.
    pub fn find(name: &str) -> Result<Self> {
        let Some(ifindex) = ifindex(name) else {
            bail!("no such device '{name}': {}", what_to_do(name));
        };
        let name = &real_name(name);
        let hardware = ask(name, libc::SIOCGIFHWADDR).with_context(|| format!("device {name}"))?;
        let mtu = ask(name, libc::SIOCGIFMTU).with_context(|| format!("device {name}"))?;
        // SAFETY: the members that these two requests fill in.
        let (kind, mtu_bytes) = unsafe {
            (
                hardware.ifr_ifru.ifru_hwaddr.sa_family,
                mtu.ifr_ifru.ifru_mtu as u32,
            )
        };
        let l2_bytes = match kind {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => 14,
            ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_PPP => 0,
            other => bail!(
                "device {name} is of type {other}, whose packets lasthop does not know: it takes Ethernet-like devices and tun, WireGuard, PPP and raw IP"
            ),
        };
        Ok(Self {
            name: name.clone(),
            ifindex,
            l2_bytes,
            mtu_bytes,
        })
    }

    /// Whether its largest packets are too large to be cached.
    pub fn too_large(&self) -> bool {
        self.mtu_bytes.saturating_sub(TCP_IP_BYTES) > LH_CACHE_PKT_MAX - LH_HDR_BYTES
    }
}

/// The kernel's version, as (major, minor) and in full.
pub fn kernel() -> ((u32, u32), String) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim().to_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (version, release)
}

/// Whether the kernel is one with PREEMPT_RT, whose verifier refuses programs that start timers
/// (`bpf_timer cannot be used for PREEMPT_RT`, up to 7.3).
pub fn is_realtime() -> bool {
    static REALTIME: OnceLock<bool> = OnceLock::new();
    *REALTIME.get_or_init(|| {
        let built = fs::read_to_string("/proc/sys/kernel/version").unwrap_or_default();
        names_realtime(&built)
    })
}

/// `version`: of `uname -v`, with the words of how the kernel was built.
fn names_realtime(version: &str) -> bool {
    version.split_whitespace().any(|word| word == "PREEMPT_RT")
}

/// Where the kernel's types are, without which the programs can't be fitted to it.
pub const BTF: &str = "/sys/kernel/btf/vmlinux";

/// Capabilities that loading, attaching and running the programs takes.
pub const NEEDED: [Capability; 3] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_PERFMON,
    Capability::CAP_BPF,
];

/// The capabilities that this process lacks.
pub fn missing_capabilities() -> Vec<Capability> {
    missing_in(&caps::read(None, CapSet::Effective).unwrap_or_default())
}

/// CAP_SYS_ADMIN includes what was split off from it in Linux 5.8.
fn missing_in(have: &CapsHashSet) -> Vec<Capability> {
    let all_but_net = have.contains(&Capability::CAP_SYS_ADMIN);
    let has = |needed: &Capability| {
        have.contains(needed) || (all_but_net && *needed != Capability::CAP_NET_ADMIN)
    };
    NEEDED.into_iter().filter(|needed| !has(needed)).collect()
}

/// Names of capabilities, between `separator`s.
pub fn capability_names(capabilities: &[Capability], separator: &str) -> String {
    let names: Vec<String> = capabilities.iter().map(Capability::to_string).collect();
    names.join(separator)
}

/// Checks what every attachment needs of the machine.
///
/// # Errors
/// One line that names what is missing and what to do.
pub fn check_machine() -> Result<()> {
    let (version, release) = kernel();
    if version < (6, 6) {
        bail!(
            "this is Linux {release}, but TCX needs 6.6 or newer: install a newer kernel (Debian 12: linux-image-amd64 from bookworm-backports)"
        );
    }
    let missing = missing_capabilities();
    if !missing.is_empty() {
        bail!(
            "{} missing: run as root",
            capability_names(&missing, " and ")
        );
    }
    if !Path::new(BTF).exists() {
        bail!(
            "{BTF} is missing, without which no program can call the kernel's functions: it must be built with CONFIG_DEBUG_INFO_BTF (most images of OpenWrt are not)"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nix::sys::resource::{Resource, setrlimit};
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    use super::*;

    #[test]
    fn what_systemd_makes_of_a_dash_is_explained() {
        let error = |name| Device::find(name).unwrap_err().to_string();
        let slash = error("no0/such0");
        assert!(
            slash.ends_with("\"lasthop@$(systemd-escape no0-such0).service\""),
            "{slash}"
        );
        assert_eq!(
            error("no0-such0"),
            "no such device 'no0-such0': see `ip link`"
        );
    }

    #[test]
    fn realtime_kernels_say_so() {
        assert!(names_realtime(
            "#1 SMP PREEMPT_RT Debian 6.12.118-1 (2026-11-01)"
        ));
        for other in [
            "#1 SMP PREEMPT_DYNAMIC Debian 6.12.118-1 (2026-11-01)",
            "#1 SMP PREEMPT_RTX",
            "",
        ] {
            assert!(!names_realtime(other), "{other}");
        }
    }

    #[test]
    fn devices() {
        let lo = Device::find("lo").unwrap();
        assert_eq!(lo.l2_bytes, 14);
        assert!(lo.mtu_bytes > 0);
        assert!(running("lo").is_some());
        assert_eq!(running("nosuch0"), None);
        assert_eq!(name_of(u32::MAX / 2).unwrap(), None);
        let missing = Device::find("nosuch0").unwrap_err().to_string();
        assert!(
            missing.contains("nosuch0") && missing.contains("ip link"),
            "{missing}"
        );
        assert!(Device::find("a-name-that-is-too-long").is_err());
    }

    /// Whoever has no descriptor to ask by has not lost its devices.
    #[test]
    fn who_can_not_ask_is_told_so() {
        // SAFETY: the child does what may be done between fork and exec, and no more.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let none = setrlimit(Resource::RLIMIT_NOFILE, 0, 0).is_ok();
                let told = none && name_of(LOOPBACK).is_err();
                // SAFETY: it ends here, without a word of the harness'.
                unsafe { libc::_exit(i32::from(!told)) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
            }
        }
    }

    /// The largest payload that the programs cache is LH_CACHE_PKT_MAX - LH_HDR_BYTES.
    #[test]
    fn packets_that_pass_uncached() {
        let with_mtu = |mtu_bytes| Device {
            name: "wl0".into(),
            ifindex: 1,
            l2_bytes: 14,
            mtu_bytes,
        };
        assert!(!with_mtu(1500).too_large());
        assert!(!with_mtu(1672).too_large());
        assert!(with_mtu(1673).too_large());
        assert!(with_mtu(1800).too_large());
    }

    #[test]
    fn capabilities_are_named() {
        use Capability::{CAP_NET_ADMIN, CAP_PERFMON, CAP_SYS_ADMIN};
        let missing = |have: &[Capability]| {
            let have = have.iter().copied().collect();
            capability_names(&missing_in(&have), ", ")
        };
        assert_eq!(missing(&[]), "CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF");
        assert_eq!(missing(&[CAP_NET_ADMIN, CAP_PERFMON]), "CAP_BPF");
        assert_eq!(missing(&[CAP_NET_ADMIN, CAP_SYS_ADMIN]), "");
        assert_eq!(missing(&[CAP_SYS_ADMIN]), "CAP_NET_ADMIN");
        assert!(missing_in(&caps::all()).is_empty());
    }

    #[test]
    fn kernel_version_is_read() {
        assert!(kernel().0 > (2, 6));
    }
}
