// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Names and one-line descriptions of counters and schemes, from the core's
//! own lists (core/counters.h, core/config.h).

use std::ffi::{CStr, c_char};

use crate::bindings;

/// A counter or scheme: its number in the C enumeration, its stable name, and
/// one line for help texts and documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Value of `enum lh_counter` or `enum lh_scheme`.
    pub id: u32,
    /// Stable: appears in JSON and on command lines.
    pub name: &'static str,
    /// One line.
    pub doc: &'static str,
}

type Lookup = unsafe extern "C" fn(u32) -> *const c_char;

/// The string that a lookup function of the core gives for `id`.
fn text(lookup: Lookup, id: u32) -> Option<&'static str> {
    // SAFETY: the function accepts any number.
    let p = unsafe { lookup(id) };
    if p.is_null() {
        return None;
    }
    // SAFETY: not null, hence a string literal of core.c: terminated, constant
    // and there for the life of the program.
    unsafe { CStr::from_ptr(p) }.to_str().ok()
}

fn list(name: Lookup, doc: Lookup) -> impl Iterator<Item = Named> {
    (0..).map_while(move |id| {
        Some(Named {
            id,
            name: text(name, id)?,
            doc: text(doc, id)?,
        })
    })
}

/// All counters, in the order of `lh_counters.n`.
pub fn counters() -> impl Iterator<Item = Named> {
    list(bindings::lhc_counter_name, bindings::lhc_counter_doc)
}

/// All schemes.
pub fn schemes() -> impl Iterator<Item = Named> {
    list(bindings::lhc_scheme_name, bindings::lhc_scheme_doc)
}

/// The scheme called `name`, as a value of `Config::scheme`.
pub fn scheme_by_name(name: &str) -> Option<u32> {
    schemes().find(|s| s.name == name).map(|s| s.id)
}
