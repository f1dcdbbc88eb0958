// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the kernel itself says is attached to the device.

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;

/// TCX programs on wl0, both directions; 0 as well if the device is gone.
pub fn programs_attached(bed: &TestBed) -> u32 {
    programs_attached_in(bed, Host::Bs)
}

/// The same where `host` has that device.
pub fn programs_attached_in(bed: &TestBed, host: Host) -> u32 {
    bed.run_in(host, || {
        let Ok(ifindex) = nix::net::if_::if_nametoindex("wl0") else {
            return 0;
        };
        [libbpf_sys::BPF_TCX_INGRESS, libbpf_sys::BPF_TCX_EGRESS]
            .into_iter()
            .map(|hook| query(ifindex, hook))
            .sum()
    })
    .expect("namespace")
}

fn query(ifindex: u32, hook: libbpf_sys::bpf_attach_type) -> u32 {
    let mut options = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as u64,
        ..Default::default()
    };
    // SAFETY: `options` lives through the call and says its own size; no arrays are given.
    let error = unsafe { libbpf_sys::bpf_prog_query_opts(ifindex as i32, hook, &mut options) };
    assert_eq!(error, 0, "bpf_prog_query");
    // SAFETY: the union's member `count` is what the kernel fills in.
    unsafe { options.__bindgen_anon_1.count }
}
