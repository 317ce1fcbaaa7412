//! `rollgate flux post-renderers`: what post-render would fill in, as patches that Flux applies itself.

use std::path::Path;

use anyhow::anyhow;

use super::super::args::{Colour, PostRenderArgs};
use super::super::post_render;
use super::{Outside, Stop, objects_of};
use crate::exit::Exit;
use crate::flux::patches::patches;
use crate::host::HostKind;
use crate::session::{Input, Untold};

/// What Flux reads where there is nothing to patch.
const NONE: &str = "postRenderers: []\n";

pub(super) fn run(mut args: PostRenderArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    args.common.host = args.common.host.or(Some(HostKind::Flux));
    post_render::run_for(&args, Untold::Look(Path::new(".")), colour, outside, |input, judgement| {
        let mut filled = judgement.report.late_values.iter().filter(|value| value.places > 0);
        if let Some(secret) = filled.find(|value| value.value.is_none()) {
            return Err(Stop::usage(anyhow!(
                "late value {} is secret, and a patch stands in the HelmRelease, where everybody reads it; \
                 use rollgate flux values --secret, and valuesFrom",
                secret.name
            )));
        }
        let after = Input::unnamed("the stream with late values", judgement.stream.clone());
        let text = patches(&objects_of(input)?, &objects_of(&after)?).map_err(Stop::usage)?;
        Ok(text.unwrap_or_else(|| NONE.to_owned()).into_bytes().into())
    })
}
