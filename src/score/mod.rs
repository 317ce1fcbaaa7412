//! How good the forecasts were: what was foretold when a write went out is kept, and later compared with what happened to the Machines.
//! What is kept are names, counts and digests; nothing of what an object holds.

mod forecast;
mod happened;
mod kept;
mod matrix;

pub(crate) use forecast::{Forecast, Foretold, Front};
pub(crate) use kept::{File, Forecasts, Object};
pub(crate) use matrix::{ScoreScope, score};
