//! Tables: columns of text, the same on a terminal and in a pipe.

use comfy_table::{Row, Table, presets};

use super::lines::escape;

/// A table without lines around it; every cell is made safe to print.
pub(crate) struct Columns(Table);

impl Columns {
    /// A table with these headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        let mut table = Table::new();
        // No styles, no width of the terminal: what a person sees is what a script reads.
        table.force_no_tty();
        table.load_style(presets::NOTHING);
        table.set_header(Row::from(headings));
        Self(table)
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.0.add_row(Row::from(cells.map(escape)));
    }

    /// The table as lines, without blanks at their ends.
    pub(crate) fn text(mut self) -> String {
        for column in self.0.column_iter_mut() {
            column.set_padding((0, 2));
        }
        self.0.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_cannot_be_broken() {
        let mut columns = Columns::new(["TASK", "TOKEN", "SUPERVISOR"]);
        columns.row(["1", "T-1", "box"]);
        columns.row(["1000", "a\n\u{1b}[2J", ""]);
        columns.row(["7", "Zürich", "箱"]);
        let lines = [
            "TASK  TOKEN         SUPERVISOR",
            "1     T-1           box",
            "1000  a\\n\\u{1b}[2J",
            "7     Zürich        箱",
        ];
        assert_eq!(columns.text(), lines.join("\n"));
    }
}
