// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tables for people, in columns of plain text.

use comfy_table::{CellAlignment, Table, presets};

/// Rows under each other: the first `names` columns to the left, figures to the right.
pub fn aligned(rows: &[impl AsRef<[String]>], names: usize) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.add_rows(rows.iter().map(AsRef::as_ref));
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt() + "\n"
}
