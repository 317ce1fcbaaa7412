//! Cron lines of five fields, as crontab(5) has them.

use croner::Cron;
use croner::parser::CronParser;

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Reads a cron line of five fields. Days match by either of their two fields where both are restricted, and by both where one begins with
/// a star, also one of steps (crontab(5); `cron.c` find_jobs and `entry.c` load_entry of Vixie cron).
///
/// # Errors
/// What crontab(5) has not, or never comes.
pub(crate) fn read(line: &str) -> Result<Cron, String> {
    check(line)?;
    let starts_with_star =
        |place: usize| line.split_whitespace().nth(place).is_some_and(|field| field.starts_with('*'));
    let parser = CronParser::builder().dom_and_dow(starts_with_star(2) || starts_with_star(4)).build();
    let cron = parser.parse(line).map_err(|error| error.to_string())?;
    let comes = cron.find_next_occurrence(&jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC), true);
    comes.map(|_| cron).map_err(|_| "such a day never comes".to_owned())
}

/// Whether the text is a cron line of five fields, as crontab(5) has them.
fn check(line: &str) -> Result<(), String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[minute, hour, day, month, weekday] = fields.as_slice() else {
        return Err(format!("it has {}", crate::model::plural(fields.len() as u64, "field")));
    };
    cron_field(minute, 0..=59, &[])?;
    cron_field(hour, 0..=23, &[])?;
    cron_field(day, 1..=31, &[])?;
    cron_field(month, 1..=12, &MONTHS)?;
    cron_field(weekday, 0..=7, &DAYS)
}

fn cron_field(field: &str, range: std::ops::RangeInclusive<u32>, names: &[&str]) -> Result<(), String> {
    let number = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let named = named.and_then(|at| u32::try_from(at).ok()).map(|at| at + range.start());
        named.or_else(|| text.parse().ok().filter(|number| range.contains(number)))
    };
    for part in field.split(',') {
        let (span, step) = part.split_once('/').unwrap_or((part, "1"));
        let stepped = step.parse::<u32>().is_ok_and(|step| step > 0);
        let spanned = match span.split_once('-') {
            Some((from, to)) => matches!((number(from), number(to)), (Some(from), Some(to)) if from <= to),
            None => span == "*" || number(span).is_some(),
        };
        if !stepped || !spanned {
            return Err(format!("{part:?} does not fit in a field of {} to {}", range.start(), range.end()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check, read};

    #[test]
    fn days_match_by_both_fields_where_one_begins_with_a_star() {
        let opens = |line: &str, day: &str| {
            let day: jiff::Timestamp = format!("{day}T02:00:00Z").parse().expect("a time");
            let at = day.to_zoned(jiff::tz::TimeZone::UTC);
            read(line).expect("a line").is_time_matching(&at).expect("a time")
        };
        // The 17th of November 2026 is a Tuesday, the 21st a Saturday.
        assert!(!opens("0 2 */2 * 6", "2026-11-17"), "an odd day, but no Saturday");
        assert!(opens("0 2 */2 * 6", "2026-11-21"), "an odd Saturday");
        assert!(!opens("0 2 */2 * 6", "2026-11-28"), "an even Saturday");
        assert!(opens("0 2 17 * 6", "2026-11-17") && opens("0 2 17 * 6", "2026-11-21"), "either of two that are told");
    }

    #[test]
    fn a_line_that_no_run_can_read_is_refused_when_the_policy_is() {
        for line in ["15/20 3 * * *", "0 2 * * mon/2", "0 2 1/40 * *", "0 2 30 2 *", "+5 2 * * *"] {
            assert!(read(line).is_err(), "{line}");
        }
        for line in ["*/20 3 * * *", "0 2 29 2 *", "0 2 1-31/5 * *"] {
            assert!(read(line).is_ok(), "{line}: {:?}", read(line).err());
        }
    }

    #[test]
    fn what_crontab_takes_is_taken() {
        for line in ["0 2 * * 6", "*/15 0-6,22-23 1 JAN-mar Mon-Fri", "59 23 31 12 7"] {
            assert_eq!(check(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn what_crontab_refuses_is_refused() {
        for line in ["", "0 2 * *", "60 * * * *", "* * 0 * *", "*/0 * * * *", "5-1 * * * *", "a * * * *", "0 0 2 * * 6"]
        {
            assert!(check(line).is_err(), "{line}");
        }
    }
}
