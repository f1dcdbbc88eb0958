// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Traffic beside the flows that are measured: short transfers that arrive, and neighbours that
//! the agent leaves alone.

mod arrivals;
mod neighbour;
mod series;
mod udp;

pub use self::arrivals::{Arrivals, Rate, Sizes};
pub use self::neighbour::{Kind, Neighbour};
pub use self::series::Series;
pub use self::udp::{Flood, RunningFlood};
