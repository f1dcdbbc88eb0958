// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The HTTP server: so many connections, each for one request and so long. Who opens more waits, who
//! says nothing is cut off.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::sampler::Sampler;
use crate::site;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 32;
/// For the head of a request.
const HEAD: Duration = Duration::from_secs(3);
/// For a connection, the answer included; a scrape takes [`crate::asker::LONGEST`] and a bit.
const WHOLE: Duration = Duration::from_secs(10);
/// Of a request's head; the least that hyper takes.
const HEAD_BYTES: usize = 8192;
/// After a failure to accept, for want of descriptors: some will be given back.
const BREATH: Duration = Duration::from_millis(100);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    router: Router,
}

impl Server {
    /// Listens; with `receivers` metrics of receivers are among those that are served.
    ///
    /// # Errors
    /// The address can't be listened at; names it.
    pub async fn listen(at: SocketAddr, sampler: Arc<Sampler>, receivers: bool) -> Result<Self> {
        let listener = TcpListener::bind(at).await.with_context(|| {
            format!("cannot listen at {at}: choose another address or port with --listen")
        })?;
        Ok(Self {
            listener,
            router: site::router(sampler, receivers),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system doesn't say.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().context("getsockname")
    }

    /// Serves without end.
    pub async fn run(self) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let place = Arc::clone(&places).acquire_owned().await;
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(BREATH).await;
                continue;
            };
            let router = self.router.clone();
            tokio::spawn(async move {
                let _place = place;
                // An error is the client's, and it knows.
                let _ = timeout(WHOLE, serve(stream, router)).await;
            });
        }
    }
}

async fn serve(stream: TcpStream, router: Router) -> hyper::Result<()> {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
}
