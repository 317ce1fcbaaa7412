//! The two ends of a freeze: days in a time zone, or moments.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::Freeze;

/// What is wrong with a freeze, and in which of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FreezeFault {
    /// Name of the field.
    pub field: &'static str,
    /// What is wrong.
    pub why: String,
}

/// The first moment of a freeze and the first one after it.
///
/// # Errors
///
/// Names the field that is neither a day nor a moment, an unknown time zone, or an end that is not after the start.
pub(crate) fn ends(freeze: &Freeze) -> Result<(Timestamp, Timestamp), FreezeFault> {
    let fault = |field, why| FreezeFault { field, why };
    let zone = match &freeze.time_zone {
        Some(name) => TimeZone::get(name)
            .map_err(|_| fault("timeZone", format!("{name:?} is not a time zone; write it as Europe/Paris")))?,
        None => TimeZone::UTC,
    };
    let read = |field, text: &str| {
        moment(text, &zone).ok_or_else(|| {
            fault(field, format!("{text:?} is neither a day nor a moment, such as 2026-12-18 or 2026-12-18T16:00:00Z"))
        })
    };
    let (from, until) = (read("from", &freeze.from)?, read("until", &freeze.until)?);
    if until <= from {
        return Err(fault("until", "it ends before it begins; until is the first day after it".to_owned()));
    }
    Ok((from, until))
}

/// A moment, or the start of a day in a time zone.
fn moment(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let day = || Some(text.parse::<Date>().ok().filter(|_| text.len() == 10)?.to_zoned(zone.clone()).ok()?.timestamp());
    day().or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(from: &str, until: &str, zone: Option<&str>) -> Result<(String, String), &'static str> {
        let time_zone = zone.map(str::to_owned);
        let freeze = Freeze { from: from.to_owned(), until: until.to_owned(), time_zone, reason: None };
        ends(&freeze).map(|(from, until)| (from.to_string(), until.to_string())).map_err(|fault| fault.field)
    }

    #[test]
    fn days_are_those_of_their_time_zone_and_moments_are_their_own() {
        let of = |from: &str, until: &str| Ok((from.to_owned(), until.to_owned()));
        assert_eq!(told("2026-12-18", "2026-12-19", None), of("2026-12-18T00:00:00Z", "2026-12-19T00:00:00Z"));
        let paris = Some("Europe/Paris");
        assert_eq!(told("2026-12-18", "2026-12-19", paris), of("2026-12-17T23:00:00Z", "2026-12-18T23:00:00Z"));
        assert_eq!(
            told("2026-12-18T16:00:00+01:00", "2026-12-19", None),
            of("2026-12-18T15:00:00Z", "2026-12-19T00:00:00Z")
        );
    }

    #[test]
    fn what_is_wrong_names_its_field() {
        assert_eq!(told("soon", "2026-12-19", None), Err("from"));
        assert_eq!(told("2026-12-18", "18 December", None), Err("until"));
        assert_eq!(told("2026-12-18", "2026-12-18", None), Err("until"));
        assert_eq!(told("2026-12-18", "2026-12-19", Some("Mars")), Err("timeZone"));
    }
}
