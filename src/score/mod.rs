//! How good the forecasts were: what was foretold when a write went out is kept, and later compared with what happened to the Machines.
//! What is kept are names, counts and digests; nothing of what an object holds.

mod forecast;
mod happened;
mod kept;
mod matrix;

pub use forecast::{Forecast, Foretold, Front};
pub use kept::{File, ForecastError, Forecasts, Object};
pub use matrix::{ScoreScope, score};
