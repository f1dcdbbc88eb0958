// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is served where. Nothing can be changed from here.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rand::TryRngCore;
use rand::rngs::OsRng;

use crate::accept;
use crate::families;
use crate::page;
use crate::sampler::Sampler;

#[derive(Clone)]
struct Site {
    sampler: Arc<Sampler>,
    receivers: bool,
}

/// `/`, what of it is renewed, `/metrics` and `/api/v1/now`.
pub(crate) fn router(sampler: Arc<Sampler>, receivers: bool) -> Router {
    Router::new()
        .route("/", get(show))
        .route("/part", get(part))
        .route("/metrics", get(metrics))
        .route("/api/v1/now", get(now))
        .with_state(Site { sampler, receivers })
}

async fn metrics(State(site): State<Site>, headers: HeaderMap) -> Response {
    let accept = headers.get_all(header::ACCEPT).iter();
    let accept: Vec<&str> = accept.filter_map(|value| value.to_str().ok()).collect();
    let format = accept::choose(&accept.join(","));
    let sample = site.sampler.now().await;
    let text = format.write(families::of(&sample, site.receivers));
    let varies = [(header::VARY, HeaderValue::from_static("accept"))];
    (varies, answer(format.content_type(), text)).into_response()
}

async fn now(State(site): State<Site>) -> Response {
    let sample = site.sampler.now().await;
    answer("application/json", format!("{}\n", sample.json()))
}

async fn show(State(site): State<Site>) -> Response {
    let sample = site.sampler.now().await;
    // The one style and the one script of the page are known by it; nothing else is run or loaded.
    let mut random = [0; 16];
    if let Err(error) = OsRng.try_fill_bytes(&mut random) {
        let text = format!("no random numbers from the system: {error}\n");
        return (StatusCode::INTERNAL_SERVER_ERROR, text).into_response();
    }
    let nonce = format!("{:032x}", u128::from_ne_bytes(random));
    let html = page::of(&sample, &site.sampler.history(), &nonce);
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let mut response = answer("text/html; charset=utf-8", html);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn part(State(site): State<Site>) -> Response {
    let sample = site.sampler.now().await;
    let html = page::part(&sample, &site.sampler.history());
    answer("text/html; charset=utf-8", html)
}

/// Figures of now are no good later, and are what they are said to be.
fn answer(content_type: &'static str, text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text).into_response()
}
