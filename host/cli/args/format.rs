//! Forms in which tables and cards are printed.

/// For people or for a page. What `--json` and `--csv` write has two names here from before there were
/// these flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal.
    #[value(alias = "terminal")]
    Text,
    /// For a page.
    Markdown,
    /// As `--csv -`.
    #[value(hide = true)]
    Csv,
    /// As `--json -`.
    #[value(hide = true)]
    Json,
}
