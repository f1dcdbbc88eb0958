// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Connections that get something else than the rest of their device.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use toml::Value;

use super::file::File;
use super::value;

/// What some connections of a device get: a section of its own, `[policy.NAME]`.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// `FILE:LINE` of its first section.
    pub at: String,
    /// The section of the device, or of the pattern for devices, that it is part of.
    pub section: String,
    /// They get nothing.
    pub leave_alone: bool,
    /// What they get, and in `matches` which they are; what is not said is as for all devices.
    pub file: File,
}

impl Policy {
    pub(super) fn new(name: &str, at: String, common: &File) -> Self {
        Self {
            name: name.to_owned(),
            at,
            section: String::new(),
            leave_alone: false,
            file: File {
                matches: Vec::new(),
                key: None,
                mac_events: None,
                ..common.clone()
            },
        }
    }

    /// Sets a key that only policies have. False: it is none of those.
    pub(super) fn set(&mut self, key: &str, value: &Value) -> Result<bool, String> {
        match key {
            "device" => self.section = value::text(value)?,
            "leave_alone" => {
                self.leave_alone = value.as_bool().ok_or("write true or false")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Where it is, and which, for errors.
    pub fn named(&self) -> String {
        format!("{}: policy {}", self.at, self.name)
    }

    pub(super) fn check(&self, devices: &BTreeMap<String, File>) -> Result<()> {
        let (named, section) = (self.named(), &self.section);
        if section.is_empty() {
            bail!(
                "{named}: device is missing: write the name of a section, such as device = \"wlan0\" with [device.wlan0]"
            );
        }
        if !devices.contains_key(section) {
            bail!(
                "{named}: device: there is no section [device.{section}]: write one, or the name of one"
            );
        }
        if self.file.matches.is_empty() {
            bail!(
                "{named}: match is missing: write which connections it is for, as match = [\"10.0.0.0/8\"]"
            );
        }
        Ok(())
    }
}
