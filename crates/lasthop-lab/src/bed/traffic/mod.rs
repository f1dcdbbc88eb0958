// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Traffic beside the flows that are measured: short transfers that arrive, and neighbours that
//! the agent leaves alone.

mod series;
mod udp;

pub use self::series::Series;
pub use self::udp::{Flood, RunningFlood};
pub use crate::data::arrivals::{Arrivals, Rate, Sizes};
pub use crate::data::neighbour::{Kind, Neighbour};
