// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Descriptions of the fields of JSON output, which the code, `lasthop-lab fields` and the pages
//! in `docs/` share.

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Key in the JSON object.
    pub name: &'static str,
    /// Unit of its value.
    pub unit: &'static str,
    /// What it says, and when it is null.
    pub meaning: &'static str,
}

impl Field {
    /// A field.
    pub const fn new(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            unit,
            meaning,
        }
    }
}

/// Fields as a table in Markdown.
pub fn markdown_table(fields: &[Field]) -> String {
    let mut text = String::from("| field | unit | meaning |\n| --- | --- | --- |\n");
    for Field {
        name,
        unit,
        meaning,
    } in fields
    {
        text.push_str(&format!("| `{name}` | {unit} | {meaning} |\n"));
    }
    text
}

/// The value, as JSON, must have exactly the fields described, in their order.
#[cfg(test)]
pub(crate) fn assert_described(value: &impl serde::Serialize, fields: &[Field]) {
    let json = serde_json::to_string(value).unwrap();
    let mut rest = json.as_str();
    for Field { name, .. } in fields {
        let key = format!("\"{name}\":");
        let position = rest
            .find(&key)
            .unwrap_or_else(|| panic!("{name} missing or misplaced in {json}"));
        rest = &rest[position + key.len()..];
    }
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(object.as_object().unwrap().len(), fields.len(), "{json}");
}
