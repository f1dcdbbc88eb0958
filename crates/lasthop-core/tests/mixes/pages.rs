// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A browser that loads pages: objects over a few connections.

use crate::case::{FlowSpec, MS, Pages};
use crate::wire::Random;

/// What the world has to do after a delivery.
#[derive(Debug, Default)]
pub struct Step {
    pub request: bool,
    pub connect: usize,
}

#[derive(Debug)]
struct Connection {
    id: usize,
    /// All that was asked for, bytes.
    asked: u64,
    busy: bool,
}

#[derive(Debug)]
pub struct Browser {
    pages: Pages,
    random: Random,
    todo: Vec<u64>,
    open: Vec<Connection>,
    began_ns: u64,
    left: usize,
    pub loads_ms: Vec<f64>,
}

impl Browser {
    pub fn new(pages: Pages, seed: u64) -> Self {
        Self {
            pages,
            random: Random(seed ^ 0x7067),
            todo: Vec::new(),
            open: Vec::new(),
            began_ns: 0,
            left: 0,
            loads_ms: Vec::new(),
        }
    }

    pub fn is_done(&self) -> bool {
        self.loads_ms.len() >= self.pages.loads
    }

    pub fn owns(&self, id: usize) -> bool {
        self.open.iter().any(|c| c.id == id)
    }

    /// Begins a page. @return connections to open.
    pub fn begin(&mut self, now_ns: u64) -> usize {
        let p = &self.pages;
        let span = (p.most_bytes / p.least_bytes).ln();
        self.todo = (0..p.objects)
            .map(|_| (p.least_bytes * (span * self.random.unit()).exp()) as u64)
            .collect();
        self.left = p.objects;
        self.open.clear();
        self.began_ns = now_ns;
        p.connections.min(p.objects)
    }

    pub fn connection(&self, start_ns: u64) -> FlowSpec {
        FlowSpec {
            cc: self.pages.cc,
            start_ns,
            mh_opens: true,
            ..FlowSpec::default()
        }
    }

    pub fn connected(&mut self, id: usize) {
        self.open.push(Connection {
            id,
            asked: 0,
            busy: false,
        });
    }

    /// The server has the next request of the connection.
    pub fn next_object(&mut self, id: usize) -> Option<u64> {
        let bytes = self.todo.pop()?;
        let c = self.open.iter_mut().find(|c| c.id == id)?;
        c.asked += bytes;
        c.busy = true;
        Some(bytes)
    }

    pub fn received(&mut self, id: usize, upto: u64, now_ns: u64) -> Step {
        let mut step = Step::default();
        let Some(c) = self.open.iter_mut().find(|c| c.id == id) else {
            return step;
        };
        if !c.busy || upto < c.asked {
            return step;
        }
        c.busy = false;
        self.left -= 1;
        if self.left == 0 {
            self.loads_ms.push((now_ns - self.began_ns) as f64 / 1e6);
            if !self.is_done() {
                step.connect = self.begin(now_ns + 2_000 * MS);
                // The next page begins after a pause.
            }
        } else if !self.todo.is_empty() {
            if self.pages.keep_alive {
                step.request = true;
            } else {
                step.connect = 1;
            }
        }
        step
    }

    /// Between pages.
    pub fn starts_ns(&self) -> u64 {
        self.began_ns
    }
}
