// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How the fields of JSON objects are documented, and written alike.

use serde_json::{Map, Value};

/// A field of a JSON object: name, unit, meaning.
pub type Field = (&'static str, &'static str, &'static str);

/// Milliseconds are enough for people.
pub(crate) fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// The keys of an object, in order of the field list.
pub fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .map(Map::keys)
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect()
}
