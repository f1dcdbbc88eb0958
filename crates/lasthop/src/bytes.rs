// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Between the maps' bytes and the generated types: the one place that reinterprets memory.

use lasthop_core::bindings;

/// Types without padding that matters and for which every bit pattern is a value.
///
/// # Safety
/// Only for `repr(C)` structs of integers and arrays of such.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($t:ident)*) => {$(
        // SAFETY: generated from C structs that hold integers only.
        unsafe impl Plain for bindings::$t {}
    )*};
}

plain! { lh_setup lh_shared lh_flow_entry lh_event lh_rule lh_batch lh_counters lh_slot lh_keys lh_us
lh_partners_entry lh_peer lh_device lh_shadow_device }
// SAFETY: an integer.
unsafe impl Plain for u64 {}

/// A copy of the value at the start of `bytes`; none if there are too few.
pub fn read<T: Plain>(bytes: &[u8]) -> Option<T> {
    if bytes.len() < size_of::<T>() {
        return None;
    }
    // SAFETY: long enough, unaligned reads are allowed, and any bytes are a valid T.
    Some(unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

/// The bytes of a value.
pub fn of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: a T is size_of::<T>() initialised bytes: the types come from zeroed memory or from
    // `Default`, which the generated code fills with zeros first.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast(), size_of::<T>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let event = bindings::lh_event {
            flow: 1,
            generation: 2,
            family: 4,
            in_us: 0,
        };
        let bytes = of(&event);
        assert_eq!(bytes.len(), 16);
        assert_eq!(read::<bindings::lh_event>(bytes).unwrap().generation, 2);
        assert!(read::<bindings::lh_event>(&bytes[1..]).is_none());
    }
}
