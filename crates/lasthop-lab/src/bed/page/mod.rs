// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Web pages over the test bed: nginx at FH, curl at MH, every object of every load compared.

mod client;
mod objects;
mod server;
mod tools;

pub use self::client::{Client, Load, odd_connections};
pub use self::objects::Page;
pub use self::server::Server;
pub use self::tools::{CERTIFICATE_TOOL, CLIENT_TOOL, SERVER_TOOL, check_tools, find_tool};
