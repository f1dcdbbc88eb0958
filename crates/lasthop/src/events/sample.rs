// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One look at all serving processes.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use crate::ask;
use crate::report::FLOW_KEY;

/// Of the time no more than one part in so many goes into asking for connections.
const SHARE: u32 = 20;

/// How often connections may be asked for: a table of 10,000 takes the serving machine a while to read,
/// and is asked for the more seldom.
#[derive(Debug, Default)]
pub struct Pace {
    next: Option<Instant>,
}

impl Pace {
    /// Whether it is time again.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// The last time took from `began` to `now`.
    pub fn spent(&mut self, began: Instant, now: Instant) {
        self.next = Some(now + now.saturating_duration_since(began) * (SHARE - 1));
    }
}

/// What was answered.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// When, since the first look.
    pub at: Duration,
    /// Objects of `status -j`.
    pub status: Vec<Value>,
    /// Objects of `peers -j`; none: not asked for.
    pub peers: Option<Vec<Value>>,
    /// Objects of `flows -j`, with the fields that were asked for; none: not asked for.
    pub flows: Option<Vec<Value>>,
    /// A sentence for each device whose process did not answer, which begins with its name.
    pub silent: Vec<String>,
}

impl Sample {
    /// Asks. `wants_flows`: whether connections are of interest, as far as the status tells; `request`:
    /// how they are asked for, and `names` what of them is told beside their key.
    ///
    /// # Errors
    /// No right to ask, or an answer is no JSON.
    pub fn take(
        runtime_dir: &Path,
        at: Duration,
        pace: &mut Pace,
        request: &str,
        names: &[&str],
        wants_flows: impl FnOnce(&[Value]) -> bool,
    ) -> Result<Self> {
        let (status, mut silent) = ask::values(runtime_dir, None, "status")?;
        // Who has not answered once is not waited for again in the same look.
        let (mut peers, mut flows) = (None, None);
        if silent.is_empty() {
            let (heard, more) = ask::values(runtime_dir, None, "peers")?;
            silent.extend(more);
            peers = Some(heard);
            let began = Instant::now();
            if pace.is_due(began) && wants_flows(&status) {
                let names = [&FLOW_KEY[..], names].concat();
                let (known, more) = ask::some_fields(runtime_dir, None, request, &names)?;
                silent.extend(more);
                flows = Some(known);
                pace.spent(began, Instant::now());
            }
        }
        Ok(Self {
            at,
            status,
            peers,
            flows,
            silent,
        })
    }
}
