// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The screen: a line of what is shown, the table, a line of keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell as TableCell, Paragraph, Row as TableRow, Table};

use super::model::Model;
use super::rows::{Kind, Row, Seen, plain};

/// Widest that a column gets: an IPv6 address and its port.
const WIDEST: usize = 45;
/// Between columns.
const SPACE: usize = 1;

const HELP: &str = "\
1 2 3, Tab  devices, receivers, flows
s, arrows   sort by the next column, left the one before
r           the other way round
/           show only what has this text in it, or an address
            with this prefix; Enter keeps it, Esc drops it
up, down    and page up, page down, home, end
p, space    stop looking, and go on
+ -         more time between two looks, or less
h, ?        this
q, Ctrl-C   end

Connections are asked for more seldom than once per look where
there are so many that asking takes a while.";

/// Draws it all. The rows that are shown are skipped no further than to the last page.
pub fn draw(frame: &mut Frame<'_>, model: &mut Model, seen: &Seen) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(summary(model, seen), bold), head);
    frame.render_widget(Line::raw(keys(model, seen)), foot);
    if model.helps {
        frame.render_widget(Paragraph::new(HELP), body);
        return;
    }
    let rows = model.rows(seen);
    model.skipped = model.skipped.min(rows.len().saturating_sub(page(body)));
    frame.render_widget(table(model, &rows, body), body);
}

/// How many rows there is room for: below the titles.
pub fn page(body: Rect) -> usize {
    usize::from(body.height).saturating_sub(1)
}

fn summary(model: &Model, seen: &Seen) -> String {
    let (devices, flows) = seen.totals();
    let kinds: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| match *kind == model.kind {
            true => format!("[{}]", kind.title()),
            false => kind.title().to_owned(),
        })
        .collect();
    let paused = if model.is_paused { " paused" } else { "" };
    format!(
        "lasthop {}{paused}  {devices} devices, {flows} flows, every {:?}",
        kinds.join(" "),
        model.interval
    )
}

fn keys(model: &Model, seen: &Seen) -> String {
    if model.is_typing {
        return format!("/{}_", model.filter);
    }
    if let Some(sentence) = seen.silent.first() {
        return plain(sentence);
    }
    let filter = match model.filter.is_empty() {
        true => String::new(),
        false => format!("only {}  ", model.filter),
    };
    format!("{filter}q end  h help  s sort  / filter  p pause")
}

fn table<'a>(model: &Model, rows: &'a [Row], body: Rect) -> Table<'a> {
    let columns = model.kind.columns();
    let shown: Vec<&Row> = rows.iter().skip(model.skipped).take(page(body)).collect();
    let widths = widths(model.kind, &shown);
    let fitting = fitting(&widths, model.sorted_by(), usize::from(body.width));
    let title = |column: usize| {
        let mark = if column == model.sorted_by() { "*" } else { "" };
        let text = format!("{}{mark}", columns[column].title);
        aligned(text, columns[column].is_number)
    };
    let cells = |row: &'a Row| {
        let cell = |column: &usize| {
            let text = row.cells[*column].text.as_str();
            aligned(text, columns[*column].is_number)
        };
        TableRow::new(fitting.iter().map(cell).collect::<Vec<_>>())
    };
    let lengths = fitting.iter().map(|column| widths[*column] as u16);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    Table::new(
        shown.into_iter().map(cells).collect::<Vec<_>>(),
        lengths.map(Constraint::Length),
    )
    .column_spacing(SPACE as u16)
    .header(TableRow::new(fitting.iter().map(|column| title(*column))).style(reversed))
}

fn aligned<'a>(text: impl Into<Line<'a>>, is_number: bool) -> TableCell<'a> {
    let line = text.into();
    TableCell::new(match is_number {
        true => line.right_aligned(),
        false => line,
    })
}

/// What each column would take, with its title and the mark behind it.
fn widths(kind: Kind, rows: &[&Row]) -> Vec<usize> {
    let width = |(i, title): (usize, &str)| {
        let cells = rows.iter().map(|row| row.cells[i].text.chars().count());
        let title = title.chars().count() + 1;
        cells.chain([title]).max().unwrap_or(0).min(WIDEST)
    };
    let titles = kind.columns().iter().map(|column| column.title);
    titles.enumerate().map(width).collect()
}

/// The columns that there is room for: the first, the one that is sorted by, then in their order.
fn fitting(widths: &[usize], sorted_by: usize, width: usize) -> Vec<usize> {
    let mut first: Vec<usize> = vec![0];
    first.extend((sorted_by != 0).then_some(sorted_by));
    first.extend((1..widths.len()).filter(|column| *column != sorted_by));
    let mut left = width + SPACE;
    let mut taken = Vec::new();
    for column in first {
        let takes = widths[column] + SPACE;
        if takes > left && !taken.is_empty() {
            break;
        }
        left = left.saturating_sub(takes);
        taken.push(column);
    }
    taken.sort_unstable();
    taken
}
