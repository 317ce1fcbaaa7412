//! `rollgate schema`: prints the JSON Schemas that also lie in `schemas/`, which a test makes anew from the types.

use std::io;

use flate2::read::DeflateDecoder;

use super::args::{SchemaArgs, SchemaOf};
use super::{Outside, Stop};
use crate::exit::Exit;
use crate::tree::Map;

/// The schema of several reports, which holds that of one, as `build.rs` packs it.
const REPORTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/report-list"));
const WHY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/why"));
const SCORE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/score"));
const WORLD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/world"));

pub(super) fn run(args: &SchemaArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    match args.what {
        SchemaOf::Report => write!(outside.out, "{}", report().map_err(Stop::internal)?),
        SchemaOf::Policy => outside.out.write_all(crate::policy::SCHEMA.as_bytes()),
        SchemaOf::ReportList => io::copy(&mut DeflateDecoder::new(REPORTS), outside.out).map(drop),
        SchemaOf::Why => io::copy(&mut DeflateDecoder::new(WHY), outside.out).map(drop),
        SchemaOf::Score => io::copy(&mut DeflateDecoder::new(SCORE), outside.out).map(drop),
        SchemaOf::World => io::copy(&mut DeflateDecoder::new(WORLD), outside.out).map(drop),
    }
    .map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// The schema of one report: its part of the other, with the parts that it refers to.
fn report() -> serde_json::Result<String> {
    let mut list: Map = serde_json::from_reader(DeflateDecoder::new(REPORTS))?;
    let mut parts = list.remove("$defs").unwrap_or_default();
    let mut report = parts.as_object_mut().and_then(|parts| parts.shift_remove("Report")).unwrap_or_default();
    if let Some(report) = report.as_object_mut() {
        report.insert("title".to_owned(), "Report".into());
        report.insert("$schema".to_owned(), list.remove("$schema").unwrap_or_default());
        report.insert("$defs".to_owned(), parts);
    }
    Ok(format!("{report:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ROLLGATE_BLESS=1` writes what is stale.
    #[test]
    fn every_schema_is_that_of_its_types() {
        for (name, schema) in [
            ("report", schemars::schema_for!(crate::report::Report).to_value()),
            ("report-list", schemars::schema_for!(crate::report::ReportList<'static>).to_value()),
            ("world", schemars::schema_for!(crate::world::snapshot::Snapshot).to_value()),
            ("why", schemars::schema_for!(crate::report::why::WhyReport).to_value()),
            ("score", schemars::schema_for!(crate::report::score::ScoreReport).to_value()),
            ("policy", crate::policy::fresh_schema().into()),
        ] {
            let file = format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
            let fresh = format!("{schema:#}\n");
            if std::env::var_os("ROLLGATE_BLESS").is_some() {
                std::fs::write(&file, &fresh).expect("the schema can be written");
            }
            let written = std::fs::read_to_string(&file).expect("a schema");
            assert_eq!(written, fresh, "{file} is stale: ROLLGATE_BLESS=1 cargo test --lib schema");
        }
    }

    #[test]
    fn the_schema_of_one_report_is_made_from_that_of_several() {
        assert_eq!(report().ok().as_deref(), Some(include_str!("../../schemas/report.json")));
    }
}
