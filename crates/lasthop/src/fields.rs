// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How the fields of JSON objects are documented, and written alike.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
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

/// Reads an object, but of its fields only those of these names: of ten thousand objects the others would
/// take most of the time.
#[derive(Clone, Copy)]
pub(crate) struct Only<'n>(pub &'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Only<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Only<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = from.next_key_seed(Name(self.0))? {
            match name {
                Some(name) => drop(object.insert(name.to_owned(), from.next_value()?)),
                None => drop(from.next_value::<IgnoredAny>()?),
            }
        }
        Ok(object.into())
    }
}

/// One of the names, or none of them.
struct Name<'n>(&'n [&'n str]);

impl<'de, 'n> DeserializeSeed<'de> for Name<'n> {
    type Value = Option<&'n str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl<'n> Visitor<'_> for Name<'n> {
    type Value = Option<&'n str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().copied().find(|name| *name == text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn only(names: &[&str], text: &str) -> serde_json::Result<Value> {
        let mut from = serde_json::Deserializer::from_str(text);
        let value = Only(names).deserialize(&mut from)?;
        from.end().map(|()| value)
    }

    #[test]
    fn the_named_fields_and_no_others() {
        let text = r#"{"a":1,"b":{"a":[2,"x"]},"c":null,"d\u0061":"e"}"#;
        let value = only(&["a", "c", "da", "z"], text).unwrap();
        assert_eq!(value, json!({"a": 1, "c": null, "da": "e"}));
        assert_eq!(only(&[], text).unwrap(), json!({}));
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for text in [
            "3",
            "",
            "[1]",
            "{\"a\":",
            "{\"a\":1} x",
            "{3:1}",
            "{\"z\":}",
        ] {
            assert!(only(&["a"], text).is_err(), "{text}");
        }
    }
}
