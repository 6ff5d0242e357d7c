//! The profiler's CSV of counters.

use super::metrics::Launch;
use crate::error::ProfileError;

type Result<T> = std::result::Result<T, ProfileError>;

/// Reads the profiler's CSV, either page: `raw` with a column for each metric and a row of units,
/// or `details` with a row for each metric. What it prints besides is passed over.
///
/// # Errors
/// What was needed and what was found.
pub fn parse(text: &str) -> Result<Vec<Launch>> {
    let table = table(text)?;
    let mut rows = table.lines().enumerate().skip_while(|(_, line)| !is_header(line));
    let (first, _) = rows.next().ok_or_else(|| needs("no header row with \"Kernel Name\""))?;
    let body: String = table.lines().skip(first).flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(body.as_bytes());
    let header = reader.headers().map_err(malformed)?.clone();
    let column = |name: &str| header.iter().position(|h| h == name);
    let kernel = column("Kernel Name").ok_or_else(|| needs("no column \"Kernel Name\""))?;
    let records: Vec<csv::StringRecord> =
        reader.records().collect::<std::result::Result<_, _>>().map_err(malformed)?;

    let launches = match (column("Metric Name"), column("Metric Unit"), column("Metric Value")) {
        (Some(name), Some(unit), Some(value)) => {
            let id = column("ID").ok_or_else(|| needs("no column \"ID\""))?;
            details(&records, [id, kernel, name, unit, value])
        }
        _ => raw(&header, &records, kernel),
    }?;
    if launches.is_empty() {
        return Err(needs("no launch: did the program run any kernel?"));
    }
    Ok(launches)
}

/// The part of the output that is a table; an error that the profiler printed is ours.
fn table(text: &str) -> Result<String> {
    if let Some(error) = text.lines().find(|line| line.starts_with("==ERROR==")) {
        return Err(ProfileError::Said(error.trim_start_matches("==ERROR==").trim().to_string()));
    }
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.trim().is_empty());
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

fn needs(what: &str) -> ProfileError {
    ProfileError::Table(what.into())
}

fn malformed(error: csv::Error) -> ProfileError {
    ProfileError::Table(format!("malformed CSV: {error}"))
}

fn is_header(line: &str) -> bool {
    line.contains("Kernel Name")
}

fn raw(
    header: &csv::StringRecord,
    records: &[csv::StringRecord],
    kernel: usize,
) -> Result<Vec<Launch>> {
    let (units, records) = records.split_first().ok_or_else(|| needs("no row of units"))?;
    if units.get(kernel).is_some_and(|name| !name.is_empty()) {
        return Err(needs("no row of units below the header"));
    }
    let style = Style::of(records.iter().flat_map(|record| record.iter()));
    Ok(records
        .iter()
        .filter_map(|record| {
            let metrics = header
                .iter()
                .zip(units.iter())
                .zip(record.iter())
                .filter_map(|((name, unit), value)| {
                    Some((name.to_string(), style.number(value)? * scale(unit)?))
                })
                .collect();
            let name = header.iter().position(|h| h == "device__attribute_display_name");
            Some(Launch {
                kernel: record.get(kernel).filter(|name| !name.is_empty())?.to_string(),
                device: name.and_then(|at| record.get(at)).map(str::to_string),
                metrics,
            })
        })
        .collect())
}

fn details(records: &[csv::StringRecord], columns: [usize; 5]) -> Result<Vec<Launch>> {
    let style = Style::of(records.iter().filter_map(|record| record.get(columns[4])));
    let mut launches: Vec<(String, Launch)> = Vec::new();
    for record in records {
        let mut fields = columns.map(|at| record.get(at)).into_iter();
        let (
            Some(Some(id)),
            Some(Some(kernel)),
            Some(Some(name)),
            Some(Some(unit)),
            Some(Some(value)),
        ) = (fields.next(), fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(ProfileError::Table(format!("a row ends early: {record:?}")));
        };
        if launches.last().is_none_or(|(last, _)| last != id) {
            let launch = Launch { kernel: kernel.into(), ..Launch::default() };
            launches.push((id.into(), launch));
        }
        if let (Some(number), Some(scale), Some((_, launch))) =
            (style.number(value), scale(unit), launches.last_mut())
        {
            launch.metrics.insert(name.into(), number * scale);
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

/// How a locale writes numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    /// 1,234.5
    Point,
    /// 1.234,5
    Comma,
}

impl Style {
    /// The style of a file, by the numbers in it that can be read in one way only.
    fn of<'a>(values: impl Iterator<Item = &'a str>) -> Style {
        for value in values {
            if !value.chars().all(|c| c.is_ascii_digit() || ",.-".contains(c)) {
                continue;
            }
            let last = value.rfind([',', '.']);
            let Some(last) = last else { continue };
            let separator = value.as_bytes()[last];
            let both = value.contains(',') && value.contains('.');
            let grouped = value.len() - last - 1 == 3;
            let leading_zero = value.trim_start_matches('-').starts_with(['0'])
                && value.trim_start_matches('-').find([',', '.']) == Some(1);
            if both || !grouped || leading_zero {
                return if separator == b',' { Style::Comma } else { Style::Point };
            }
            if value.matches(separator as char).count() > 1 {
                return if separator == b',' { Style::Point } else { Style::Comma };
            }
        }
        Style::Point
    }

    fn number(self, text: &str) -> Option<f64> {
        let (group, point) = match self {
            Style::Point => (',', '.'),
            Style::Comma => ('.', ','),
        };
        let plain: String = text
            .chars()
            .filter(|&c| c != group && !c.is_whitespace() && c != '\'')
            .map(|c| if c == point { '.' } else { c })
            .collect();
        plain.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// Factor from a unit to its base; `None` for a unit that is not known.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "%" | "byte" | "inst" | "cycle" | "warp" | "block" | "thread" | "hz" | "Hz" | "s"
        | "second" | "sector" | "wavefront" | "register/thread" | "warp/cycle" | "inst/warp" => 1.0,
        "ns" | "nsecond" => 1e-9,
        "us" | "usecond" => 1e-6,
        "ms" | "msecond" => 1e-3,
        "Kbyte" | "KB" | "Khz" | "KHz" => 1e3,
        "Mbyte" | "MB" | "Mhz" | "MHz" => 1e6,
        "Gbyte" | "GB" | "Ghz" | "GHz" | "cycle/nsecond" => 1e9,
        "Tbyte" | "TB" => 1e12,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_either_style() {
        for (values, style, numbers) in [
            (vec!["1,234", "9.57"], Style::Point, vec![1234.0, 9.57]),
            (vec!["1.234", "9,57"], Style::Comma, vec![1234.0, 9.57]),
            (vec!["1,234,567"], Style::Point, vec![1_234_567.0]),
            (vec!["1.234.567,8"], Style::Comma, vec![1_234_567.8]),
            (vec!["0.125"], Style::Point, vec![0.125]),
            (vec!["n/a", "12"], Style::Point, vec![12.0]),
        ] {
            let found = Style::of(values.iter().copied());
            assert_eq!(found, style, "{values:?}");
            let parsed: Vec<f64> = values.iter().filter_map(|v| found.number(v)).collect();
            assert_eq!(parsed, numbers);
        }
        assert_eq!(Style::Point.number("n/a"), None);
        assert_eq!(Style::Point.number("nan"), None);
        assert_eq!(Style::Point.number("inf"), None);
    }

    #[test]
    fn units_are_brought_to_their_base() {
        assert_eq!(scale("usecond"), Some(1e-6));
        assert_eq!(scale("Gbyte"), Some(1e9));
        assert_eq!(scale("furlong"), None);
    }
}
