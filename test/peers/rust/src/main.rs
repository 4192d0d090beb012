//! A server and a client of rmcp (2026-07-28 and before), for the tests of what stands between them.
#![allow(deprecated, reason = "sampling, roots, logging and subscriptions of earlier revisions are tried as well")]

mod capabilities;
mod client;
mod server;
mod sign_in;
mod tools;

pub const WATCHED: &str = "test://watched";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("server") => server::serve().await,
        Some("client") => client::drive().await,
        Some("sign-in") => sign_in::sign_in().await,
        _ => Err("usage: peer server|client|sign-in".into()),
    }
}
