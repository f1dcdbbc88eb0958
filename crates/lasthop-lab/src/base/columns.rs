// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tables for people, in columns of plain text.

/// Rows under each other: the first `names` columns to the left, figures to the right.
pub(crate) fn aligned(rows: &[impl AsRef<[String]>], names: usize) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (column, cell) in row.as_ref().iter().enumerate() {
            let wide = cell.chars().count();
            match widths.get_mut(column) {
                Some(width) => *width = wide.max(*width),
                None => widths.push(wide),
            }
        }
    }
    let line = |row: &[String]| {
        let cells = row.iter().zip(widths.iter().copied()).enumerate();
        let padded: Vec<String> = cells
            .map(|(column, (cell, width))| match column {
                column if column < names => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    rows.iter().map(|row| line(row.as_ref())).collect()
}
