// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop top`: devices, receivers and connections as they are now, on a terminal.
//!
//! It asks on a thread of its own, so that keys work while a process does not answer; what it asks for
//! is what `status`, `peers` and `flows --why` do, and connections no more than a twentieth of the time.

mod model;
mod rows;
mod screen;

use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Size;

use self::model::Model;
pub use self::rows::Kind;
use self::rows::{OF_FLOWS, Seen};
use crate::events::{Pace, Sample};
use crate::signals::blocked;

/// How soon a key, a signal or an answer is noticed.
const LOOK: Duration = Duration::from_millis(100);
/// Where there is no terminal.
const SIZE: Size = Size {
    width: 80,
    height: 24,
};

/// What `lasthop top` is asked for.
pub struct Options {
    /// What is shown first.
    pub kind: Kind,
    /// Column by which that is sorted.
    pub sort: Option<String>,
    /// Text or prefix of what is shown.
    pub filter: String,
    /// Time between two looks.
    pub interval: Duration,
    /// One screen as text, and the end.
    pub once: bool,
}

/// Shows what there is until it is ended.
///
/// # Errors
/// No right to ask, no terminal, or there is no such column.
pub fn run(runtime_dir: &Path, options: &Options) -> Result<()> {
    let sort = options.sort.as_deref();
    let model = Model::new(options.kind, sort, &options.filter, options.interval);
    let mut model = model.map_err(Error::msg)?;
    if options.once {
        return print_once(runtime_dir, &mut model);
    }
    // Ended by a signal the terminal is left as it was, too. (After a panic it is by the hook that
    // `ratatui::try_init` sets.) Before there are threads, which inherit that.
    let signals = blocked(&[
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ])?;
    let mut terminal = ratatui::try_init().context("no terminal to draw on: see --once")?;
    let shown = show(&mut terminal, runtime_dir, model, &signals);
    ratatui::restore();
    shown
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    runtime_dir: &Path,
    mut model: Model,
    signals: &SignalFd,
) -> Result<()> {
    let (orders, ordered) = channel();
    let (looks, looked) = channel();
    let runtime_dir = runtime_dir.to_owned();
    std::thread::Builder::new().spawn(move || ask(&runtime_dir, &ordered, &looks))?;
    let mut seen = Seen::default();
    let (mut last, mut is_new) = (None, true);
    while !model.is_over {
        let order = (model.interval, model.is_paused);
        if last != Some(order) && orders.send(order).is_ok() {
            last = Some(order);
        }
        for look in looked.try_iter() {
            seen.look(look?);
            is_new = true;
        }
        if std::mem::take(&mut is_new) {
            terminal.draw(|frame| screen::draw(frame, &mut model, &seen))?;
        }
        if signals.read_signal().context("signalfd")?.is_some() {
            return Ok(());
        }
        if event::poll(LOOK)? {
            is_new = true; // also of another size
            if let Event::Key(key) = event::read()? {
                let page = usize::from(terminal.size()?.height).saturating_sub(3);
                if key.kind == KeyEventKind::Press {
                    model.press(key, page);
                }
            }
        }
    }
    Ok(())
}

/// Looks as often as is ordered, until nobody wants to know any more. An order is how often, and whether
/// to pause.
fn ask(runtime_dir: &Path, ordered: &Receiver<(Duration, bool)>, looks: &Sender<Result<Sample>>) {
    let began = Instant::now();
    let mut pace = Pace::default();
    let (mut interval, mut is_paused) = (Duration::ZERO, true);
    let mut next = Instant::now();
    loop {
        let left = next.saturating_duration_since(Instant::now());
        let order = match is_paused {
            true => ordered.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => ordered.recv_timeout(left),
        };
        match order {
            Ok(order) => {
                (interval, is_paused) = order;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        next = Instant::now() + interval;
        let look = ask_around(runtime_dir, began.elapsed(), &mut pace);
        if looks.send(look).is_err() {
            return;
        }
    }
}

fn ask_around(runtime_dir: &Path, at: Duration, pace: &mut Pace) -> Result<Sample> {
    Sample::take(runtime_dir, at, pace, "flows why", &OF_FLOWS, |_| true)
}

/// Two looks, for the rates, and one screen.
fn print_once(runtime_dir: &Path, model: &mut Model) -> Result<()> {
    let mut seen = Seen::default();
    let began = Instant::now();
    for wait in [Duration::ZERO, model.interval] {
        std::thread::sleep(wait);
        let pace = &mut Pace::default();
        seen.look(ask_around(runtime_dir, began.elapsed(), pace)?);
    }
    let text = as_text(model, &seen, size())?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Of the terminal that it is printed to, else as COLUMNS and LINES say.
fn size() -> Size {
    let of = |name: &str, or: u16| {
        let word = std::env::var(name).ok();
        word.and_then(|word| word.parse().ok()).unwrap_or(or)
    };
    match ratatui::crossterm::terminal::size() {
        Ok((width, height)) if io::IsTerminal::is_terminal(&io::stdout()) => {
            Size::new(width, height)
        }
        _ => Size::new(
            of("COLUMNS", SIZE.width).max(1),
            of("LINES", SIZE.height).max(3),
        ),
    }
}

/// The screen as text.
fn as_text(model: &mut Model, seen: &Seen, size: Size) -> io::Result<String> {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height))?;
    let drawn = terminal.draw(|frame| screen::draw(frame, model, seen))?;
    Ok(lines(drawn.buffer))
}

fn lines(buffer: &Buffer) -> String {
    let area = buffer.area;
    let line = |y: u16| {
        let cells = (area.left()..area.right()).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    (area.top()..area.bottom()).map(line).collect()
}

#[cfg(test)]
mod tests;
