//! Rights, least and missing.
