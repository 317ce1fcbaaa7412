//! Cron lines of five fields, as crontab(5) has them: whether one is well formed.

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Whether the text is a cron line of five fields, as crontab(5) has them.
pub(super) fn check(line: &str) -> Result<(), String> {
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
    use super::check;

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
