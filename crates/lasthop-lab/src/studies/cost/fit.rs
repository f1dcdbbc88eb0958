// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Least squares of relative errors, with terms that cost something or nothing, never less.

/// What is left of a column that depends on others, for the rounding of its numbers.
const DEPENDS: f64 = 1e-10;

/// A value, and what its terms are multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<const N: usize> {
    /// A factor per term.
    pub factors: [f64; N],
    /// What was measured, more than 0.
    pub value: f64,
}

impl<const N: usize> Row<N> {
    /// What the terms make of it.
    pub fn predicted(&self, terms: &[f64; N]) -> f64 {
        self.factors.iter().zip(terms).map(|(f, t)| f * t).sum()
    }

    /// How far off that is, as a share of what was measured.
    pub fn error(&self, terms: &[f64; N]) -> f64 {
        self.predicted(terms) / self.value - 1.0
    }
}

/// The terms, none of them negative, that make the sum of the squared relative errors least. A term
/// that no row tells about, or that would be negative, is 0.
pub fn fit<const N: usize>(rows: &[Row<N>]) -> [f64; N] {
    let mut used: Vec<usize> = (0..N)
        .filter(|term| rows.iter().any(|row| row.factors[*term] != 0.0))
        .collect();
    loop {
        let mut terms = [0.0; N];
        let found = match solve(rows, &used) {
            Ok(found) => found,
            // It goes together with those before it, and so says nothing of its own.
            Err(dependent) => {
                used.remove(dependent);
                continue;
            }
        };
        for (term, value) in used.iter().zip(&found) {
            terms[*term] = *value;
        }
        let least = used.iter().min_by(|a, b| terms[**a].total_cmp(&terms[**b]));
        match least {
            Some(term) if terms[*term] < 0.0 => {
                let term = *term;
                used.retain(|other| *other != term);
            }
            _ => return terms,
        }
    }
}

/// The sum of the squared relative errors.
pub fn badness<const N: usize>(rows: &[Row<N>], terms: &[f64; N]) -> f64 {
    rows.iter().map(|row| row.error(terms).powi(2)).sum()
}

/// The normal equations of the terms in use; or which of these depends on those before it.
fn solve<const N: usize>(rows: &[Row<N>], used: &[usize]) -> Result<Vec<f64>, usize> {
    let n = used.len();
    let mut matrix = vec![vec![0.0; n + 1]; n];
    for row in rows {
        let scaled: Vec<f64> = used.iter().map(|t| row.factors[*t] / row.value).collect();
        for (line, of) in matrix.iter_mut().zip(&scaled) {
            for (cell, factor) in line.iter_mut().zip(&scaled) {
                *cell += of * factor;
            }
            line[n] += of;
        }
    }
    eliminate(matrix)
}

/// Gauss, with pivots; or the first column that depends on those before it.
fn eliminate(mut matrix: Vec<Vec<f64>>) -> Result<Vec<f64>, usize> {
    let n = matrix.len();
    let scales: Vec<f64> = (0..n).map(|at| matrix[at][at]).collect();
    for at in 0..n {
        let size = |line: &usize| matrix[*line][at].abs();
        let larger = |a: &usize, b: &usize| size(a).total_cmp(&size(b));
        let largest = (at..n).max_by(larger).ok_or(at)?;
        matrix.swap(at, largest);
        if matrix[at][at].abs() <= DEPENDS * scales[at] {
            return Err(at);
        }
        let pivot = matrix[at].clone();
        for (line, row) in matrix.iter_mut().enumerate() {
            if line != at {
                let factor = row[at] / pivot[at];
                for (cell, of) in row.iter_mut().zip(&pivot) {
                    *cell -= factor * of;
                }
            }
        }
    }
    Ok((0..n).map(|at| matrix[at][n] / matrix[at][at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize>(points: &[([f64; N], f64)]) -> Vec<Row<N>> {
        let row = |(factors, value): &([f64; N], f64)| Row {
            factors: *factors,
            value: *value,
        };
        points.iter().map(row).collect()
    }

    #[test]
    fn a_line_is_found() {
        let points: Vec<_> = [1.0, 2.0, 5.0, 44.0]
            .map(|x| ([1.0, x], 300.0 + 40.0 * x))
            .into();
        let [constant, slope] = fit(&rows(&points));
        assert!((constant - 300.0).abs() < 1e-6 && (slope - 40.0).abs() < 1e-6);
        assert!(badness(&rows(&points), &[constant, slope]) < 1e-12);
    }

    #[test]
    fn nothing_costs_less_than_nothing() {
        let rows = rows(&[([1.0, 0.0], 100.0), ([1.0, 1.0], 90.0)]);
        let [constant, more] = fit(&rows);
        assert_eq!(more, 0.0);
        assert!((90.0..100.0).contains(&constant), "{constant}");
    }

    #[test]
    fn what_no_row_tells_is_nothing() {
        assert_eq!(
            fit(&rows(&[([1.0, 0.0, 0.0], 7.0), ([1.0, 0.0, 0.0], 7.0)])),
            [7.0, 0.0, 0.0]
        );
        // The third is always twice the second.
        let [a, b, c] = fit(&rows(&[
            ([1.0, 0.0, 0.0], 10.0),
            ([1.0, 1.0, 2.0], 16.0),
            ([1.0, 2.0, 4.0], 22.0),
        ]));
        assert!((a - 10.0).abs() < 1e-6 && (b - 6.0).abs() < 1e-6 && c == 0.0);
        assert_eq!(fit::<2>(&[]), [0.0, 0.0]);
        // The last is told of although two before it go together.
        let [_, b, c, d] = fit(&rows(&[
            ([1.0, 0.0, 0.0, 0.0], 10.0),
            ([1.0, 1.0, 2.0, 0.0], 16.0),
            ([1.0, 0.0, 0.0, 1.0], 11.0),
        ]));
        assert!((b - 6.0).abs() < 1e-6 && c == 0.0 && (d - 1.0).abs() < 1e-6);
    }

    #[test]
    fn relative_errors_count() {
        // A thousandth of a large value weighs as much as a thousandth of a small one.
        let [mean] = fit(&rows(&[([1.0], 1.0), ([1000.0], 1100.0)]));
        assert!((mean - 1.0452).abs() < 1e-3, "{mean}");
    }
}
