//! `rollgate schema`: prints the JSON Schemas that also lie in `schemas/`, which a test makes anew from the types.

use super::args::{SchemaArgs, SchemaOf};
use super::{Outside, Stop};
use crate::exit::Exit;

pub(super) fn run(args: &SchemaArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    outside.out.write_all(text(args.what).as_bytes()).map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

fn text(what: SchemaOf) -> &'static str {
    match what {
        SchemaOf::Report => include_str!("../../schemas/report.json"),
        SchemaOf::Policy => crate::policy::SCHEMA,
        SchemaOf::ReportList => include_str!("../../schemas/report-list.json"),
        SchemaOf::World => include_str!("../../schemas/world.json"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ROLLGATE_BLESS=1` writes what is stale.
    #[test]
    fn every_schema_is_that_of_its_types() {
        for (what, name, schema) in [
            (SchemaOf::Report, "report", schemars::schema_for!(crate::report::Report).to_value()),
            (SchemaOf::ReportList, "report-list", schemars::schema_for!(crate::report::ReportList<'static>).to_value()),
            (SchemaOf::World, "world", schemars::schema_for!(crate::world::snapshot::Snapshot).to_value()),
            (SchemaOf::Policy, "policy", crate::policy::fresh_schema()),
        ] {
            let fresh = format!("{schema:#}\n");
            if std::env::var_os("ROLLGATE_BLESS").is_some() {
                let file = format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
                std::fs::write(file, &fresh).expect("the schema can be written");
            } else {
                assert_eq!(text(what), fresh, "schemas/{name}.json is stale: ROLLGATE_BLESS=1 cargo test --lib schema");
            }
        }
    }
}
