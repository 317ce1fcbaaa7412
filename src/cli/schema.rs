//! `rollgate schema`: prints the JSON Schemas that also lie in `schemas/`.

use super::args::{SchemaArgs, SchemaOf};
use super::{Outside, Stop};
use crate::exit::Exit;

pub(super) fn run(args: &SchemaArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let schema = match args.what {
        SchemaOf::Report => schemars::schema_for!(crate::report::Report).to_value(),
        SchemaOf::Policy => crate::policy::schema_json(),
        SchemaOf::ReportList => schemars::schema_for!(crate::report::ReportList<'static>).to_value(),
        SchemaOf::World => schemars::schema_for!(crate::world::snapshot::Snapshot).to_value(),
    };
    writeln!(outside.out, "{schema:#}").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
