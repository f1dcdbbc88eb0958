// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Numbers as the page shows them.

/// With as many digits as tell something.
pub fn number(value: f64) -> String {
    if value.is_infinite() {
        return "never".to_owned();
    }
    if value.is_nan() {
        return "–".to_owned();
    }
    let magnitude = match value {
        0.0 => return "0".to_owned(),
        _ => value.abs().log10().floor() as i32,
    };
    let decimals = (2 - magnitude).clamp(0, 6) as usize;
    format!("{value:.decimals$}").replace('-', "−")
}

/// A place in a picture.
pub fn place(value: f64) -> String {
    format!("{value:.1}")
}
