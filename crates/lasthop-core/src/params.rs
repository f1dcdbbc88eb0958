// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The core's parameters (core/params.h), for whoever reads or shows them by name.

use std::ffi::{CStr, c_char};

use crate::Config;
use crate::bindings::{
    LH_PARAM_CHOICE, LH_PARAM_COUNT, LH_PARAM_FLAG, LH_PARAM_RATIO, LH_PARAM_TIME, lh_param,
    lhc_param,
};

/// What values a parameter has, and how people write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nanoseconds.
    Time,
    /// A plain number.
    Count,
    /// 0 or 1: false or true.
    Flag,
    /// The number of a word.
    Choice,
    /// In 1/1024.
    Ratio,
}

/// One parameter of [`Config`].
#[derive(Debug, Clone, Copy)]
pub struct Param {
    raw: &'static lh_param,
    /// Its name in configuration files.
    pub key: &'static str,
    /// A few sentences for people.
    pub text: &'static str,
    /// What its values are.
    pub kind: Kind,
    words: &'static str,
}

/// A string of the core's table.
///
/// # Safety
/// `p` must be NULL or one of the table's literals.
unsafe fn literal(p: *const c_char) -> &'static str {
    if p.is_null() {
        return "";
    }
    // SAFETY: a string literal: terminated, constant, there for the life of the program.
    unsafe { CStr::from_ptr(p) }.to_str().unwrap_or_default()
}

/// All parameters, in the order of core/params.h.
pub fn params() -> impl Iterator<Item = Param> {
    (0..).map_while(|id| {
        // SAFETY: the function accepts any number, and what it points to is constant.
        let raw = unsafe { lhc_param(id).as_ref() }?;
        let kind = match raw.kind {
            LH_PARAM_TIME => Kind::Time,
            LH_PARAM_COUNT => Kind::Count,
            LH_PARAM_FLAG => Kind::Flag,
            LH_PARAM_CHOICE => Kind::Choice,
            LH_PARAM_RATIO => Kind::Ratio,
            other => unreachable!("a parameter of kind {other}"),
        };
        // SAFETY: the table's own strings.
        let (key, text, words) =
            unsafe { (literal(raw.key), literal(raw.text), literal(raw.words)) };
        Some(Param {
            raw,
            key,
            text,
            kind,
            words,
        })
    })
}

/// The parameter called `key`.
pub fn param_by_key(key: &str) -> Option<Param> {
    params().find(|param| param.key == key)
}

impl Param {
    /// Words of a choice, in the order of their numbers.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.words.split_ascii_whitespace()
    }

    /// Its default, in the unit of its kind.
    pub fn initial(&self) -> u64 {
        self.raw.initial
    }

    /// The values that it may have, in the unit of its kind.
    pub fn range(&self) -> std::ops::RangeInclusive<u64> {
        self.raw.least..=self.raw.most
    }

    fn offset(&self) -> usize {
        self.raw.offset as usize
    }

    /// A value as a word: a time in whole ns, such as `80000000ns`, the word of a choice, `true`.
    pub fn plain(&self, value: u64) -> String {
        match self.kind {
            Kind::Time => format!("{value}ns"),
            Kind::Count => value.to_string(),
            Kind::Flag => (value != 0).to_string(),
            Kind::Choice => {
                let word = self.words().nth(value as usize);
                word.unwrap_or_default().to_owned()
            }
            Kind::Ratio => (value as f64 / 1024.0).to_string(),
        }
    }

    /// Its value in `config`.
    pub fn get(&self, config: &Config) -> u64 {
        let base: *const Config = config;
        // SAFETY: the table's offset is that of a field of Config, 64 bits wide for times and
        // 32 for all others (core/config.h), and aligned as such; `raw` is that row.
        unsafe {
            match self.raw.kind {
                LH_PARAM_TIME => base.byte_add(self.offset()).cast::<u64>().read(),
                _ => u64::from(base.byte_add(self.offset()).cast::<u32>().read()),
            }
        }
    }

    /// Sets it in `config`. A value out of [`range`](Self::range) is cut to it.
    pub fn set(&self, config: &mut Config, value: u64) {
        let value = value.clamp(*self.range().start(), *self.range().end());
        let base: *mut Config = config;
        // SAFETY: as for get(); the config is borrowed exclusively.
        unsafe {
            match self.raw.kind {
                LH_PARAM_TIME => base.byte_add(self.offset()).cast::<u64>().write(value),
                _ => base
                    .byte_add(self.offset())
                    .cast::<u32>()
                    .write(value as u32),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_its_field() {
        let mut config = Config::default();
        for param in params() {
            assert_eq!(param.get(&config), param.initial(), "{}", param.key);
            assert!(param.range().contains(&param.initial()), "{}", param.key);
            assert!(param.text.ends_with('.'), "{}", param.key);
            param.set(&mut config, u64::MAX);
            assert_eq!(param.get(&config), *param.range().end(), "{}", param.key);
        }
        // Each has set its own and no other.
        for param in params() {
            assert_eq!(param.get(&config), *param.range().end(), "{}", param.key);
        }
        assert_eq!(config.scheme, Config::default().scheme);
        assert_eq!(params().filter(|p| p.key == "dup_thresh").count(), 1);
    }
}
