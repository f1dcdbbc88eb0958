// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the keys change: which rows are shown, and in which order.

use std::cmp::Ordering;
use std::time::Duration;

use ipnet::IpNet;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::rows::{Kind, Row, Seen};
use crate::units;

/// Longest filter that is taken.
const FILTER_CHARS: usize = 64;
/// Times between two looks, for the keys + and -.
const INTERVALS_MS: [u64; 7] = [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];

/// What is to be shown, and how.
#[derive(Debug)]
pub struct Model {
    pub kind: Kind,
    /// Column by which rows are sorted, of each kind.
    sort: [usize; Kind::ALL.len()],
    reverse: bool,
    pub filter: String,
    /// The filter is being typed.
    pub is_typing: bool,
    pub is_paused: bool,
    pub helps: bool,
    /// Rows above the first one shown.
    pub skipped: usize,
    pub interval: Duration,
    /// It is time to end.
    pub is_over: bool,
}

impl Model {
    /// `sort`: the word of a column of that kind; without it by rate.
    ///
    /// # Errors
    /// A sentence that names the columns.
    pub fn new(
        kind: Kind,
        sort: Option<&str>,
        filter: &str,
        interval: Duration,
    ) -> Result<Self, String> {
        let mut model = Self {
            kind,
            sort: Kind::ALL.map(|kind| column_of(kind, "rate").unwrap_or(0)),
            reverse: false,
            filter: filter.to_owned(),
            is_typing: false,
            is_paused: false,
            helps: false,
            skipped: 0,
            interval,
            is_over: false,
        };
        if let Some(word) = sort {
            model.sort[kind as usize] = column_of(kind, word).ok_or_else(|| {
                let words: Vec<&str> = kind.columns().iter().map(|column| column.word).collect();
                format!("--sort {word}: {} have {}", kind.title(), words.join(", "))
            })?;
        }
        Ok(model)
    }

    /// The column by which it is sorted.
    pub fn sorted_by(&self) -> usize {
        self.sort[self.kind as usize]
    }

    /// The rows that the filter lets through, in their order.
    pub fn rows(&self, seen: &Seen) -> Vec<Row> {
        let mut rows = self.kind.rows(seen);
        let prefix = units::prefix(&self.filter).ok();
        rows.retain(|row| self.shows(row, prefix));
        rows.sort_by(|a, b| self.order(a, b));
        rows
    }

    fn shows(&self, row: &Row, prefix: Option<IpNet>) -> bool {
        match prefix {
            _ if self.filter.is_empty() => true,
            Some(net) if !row.addresses.is_empty() => {
                row.addresses.iter().any(|address| net.contains(address))
            }
            _ => row
                .cells
                .iter()
                .any(|cell| cell.text.contains(&self.filter)),
        }
    }

    /// Figures from the greatest, names from the first; equal ones by all that they have, so that rows do
    /// not jump.
    fn order(&self, a: &Row, b: &Row) -> Ordering {
        let column = self.sorted_by();
        let by = match self.kind.columns()[column].is_number {
            true => b.cells[column].figure.total_cmp(&a.cells[column].figure),
            false => a.cells[column].text.cmp(&b.cells[column].text),
        };
        let by = if self.reverse { by.reverse() } else { by };
        let names = |row: &Row| -> Vec<String> {
            let columns = self.kind.columns().iter().zip(&row.cells);
            let names = columns.filter(|(column, _)| !column.is_number);
            names.map(|(_, cell)| cell.text.clone()).collect()
        };
        by.then_with(|| names(a).cmp(&names(b)))
    }

    /// A key was pressed. `page`: how many rows are shown.
    pub fn press(&mut self, key: KeyEvent, page: usize) {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            self.is_over |= key.code == KeyCode::Char('c');
            return;
        }
        if self.is_typing {
            self.type_filter(key.code);
            return;
        }
        if std::mem::take(&mut self.helps) {
            self.is_over = key.code == KeyCode::Char('q');
            return;
        }
        match key.code {
            KeyCode::Char('q') => self.is_over = true,
            KeyCode::Char('h' | '?') => self.helps = true,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('r') => self.reverse = !self.reverse,
            KeyCode::Char('s') | KeyCode::Right => self.sort_by(1),
            KeyCode::Left => self.sort_by(self.kind.columns().len() - 1),
            KeyCode::Char('+') => self.change_interval(true),
            KeyCode::Char('-') => self.change_interval(false),
            KeyCode::Char('1') => self.show(Kind::Devices),
            KeyCode::Char('2') => self.show(Kind::Receivers),
            KeyCode::Char('3') => self.show(Kind::Flows),
            KeyCode::Tab => self.show(Kind::ALL[(self.kind as usize + 1) % Kind::ALL.len()]),
            KeyCode::Esc => self.filter.clear(),
            code => self.scroll(code, page),
        }
    }

    fn scroll(&mut self, code: KeyCode, page: usize) {
        self.skipped = match code {
            KeyCode::Down => self.skipped.saturating_add(1),
            KeyCode::Up => self.skipped.saturating_sub(1),
            KeyCode::PageDown => self.skipped.saturating_add(page),
            KeyCode::PageUp => self.skipped.saturating_sub(page),
            KeyCode::Home => 0,
            KeyCode::End => usize::MAX, // of the screen's, which knows how many there are
            _ => self.skipped,
        };
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(c) if self.filter.chars().count() < FILTER_CHARS => self.filter.push(c),
            _ => {}
        }
        self.skipped = 0;
    }

    fn show(&mut self, kind: Kind) {
        self.kind = kind;
        self.skipped = 0;
    }

    fn sort_by(&mut self, step: usize) {
        let column = &mut self.sort[self.kind as usize];
        *column = (*column + step) % self.kind.columns().len();
        self.skipped = 0;
    }

    /// The next longer or shorter time between two looks.
    fn change_interval(&mut self, longer: bool) {
        let now = self.interval.as_millis() as u64;
        let next = match longer {
            true => INTERVALS_MS.iter().find(|ms| **ms > now),
            false => INTERVALS_MS.iter().rfind(|ms| **ms < now),
        };
        self.interval = next.map_or(self.interval, |ms| Duration::from_millis(*ms));
    }
}

fn column_of(kind: Kind, word: &str) -> Option<usize> {
    kind.columns().iter().position(|column| column.word == word)
}
