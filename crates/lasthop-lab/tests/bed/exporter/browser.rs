// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A headless Chromium, driven over two pipes by its DevTools protocol.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lasthop_lab::bed::process::{Lifetime, Managed};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAMS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// The one that is installed.
pub fn installed() -> Option<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    PROGRAMS.into_iter().find(|program| runs(program))
}

/// A browser on BS with one page.
pub struct Browser {
    process: Managed,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    last: u64,
    _dir: TempDir,
}

impl Browser {
    /// Starts it.
    pub fn start(bed: &TestBed, program: &str) -> Self {
        let dir = tempfile::tempdir().expect("directory");
        let pipes = ["in", "out"].map(|name| dir.path().join(name));
        for pipe in &pipes {
            mkfifo(pipe, Mode::S_IRWXU).expect("pipe");
        }
        // 3 and 4 are what --remote-debugging-pipe reads and writes.
        let script = format!(
            "exec {program} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe --user-data-dir={0}/data about:blank 3<{0}/in 4>{0}/out >{0}/log 2>&1",
            dir.path().display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        let lifetime = Lifetime::WithLab(Signal::SIGKILL);
        let namespace = bed.namespace(Host::Bs);
        let process =
            Managed::spawn(command, "browser", namespace, lifetime, None).expect("browser");
        let open = |path: &Path, write: bool| {
            let file = OpenOptions::new().read(!write).write(write).open(path);
            file.expect("pipe")
        };
        let to = open(&pipes[0], true);
        let from = BufReader::new(open(&pipes[1], false));
        let mut it = Self {
            process,
            to,
            from,
            session: None,
            last: 0,
            _dir: dir,
        };
        let page = it.tell("Target.createTarget", &json!({ "url": "about:blank" }));
        let target = json!({ "targetId": page["targetId"], "flatten": true });
        let session = it.tell("Target.attachToTarget", &target);
        it.session = session["sessionId"].as_str().map(str::to_owned);
        it.tell("Page.enable", &json!({}));
        // What the page's policy forbids is noted.
        let note = "window.forbidden = []; document.addEventListener('securitypolicyviolation', (e) => forbidden.push(e.violatedDirective))";
        it.tell(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": note }),
        );
        it
    }

    /// One call and its result; what else it says is passed over.
    fn tell(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut call = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            call["sessionId"] = session.as_str().into();
        }
        let text = format!("{call}\0");
        self.to.write_all(text.as_bytes()).expect("browser");
        loop {
            let mut answer = Vec::new();
            let got = self.from.read_until(0, &mut answer).expect("browser");
            assert!(got > 0, "the browser ended: {method}");
            answer.pop();
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Shows a page in a window so wide, light or dark, until it is there.
    pub fn show(&mut self, url: &str, width: u32, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.tell("Emulation.setDeviceMetricsOverride", &size);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.tell("Emulation.setEmulatedMedia", &media);
        self.tell("Page.navigate", &json!({ "url": url }));
        super::wait_for("the page", || {
            let ready = self.value("document.readyState + ' ' + location.href");
            (ready == format!("complete {url}")).then_some(())
        });
    }

    /// What an expression of JavaScript comes to.
    pub fn value(&mut self, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "returnByValue": true });
        let answer = self.tell("Runtime.evaluate", &ask);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// The page as a PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let ask = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.tell("Page.captureScreenshot", &ask);
        let data = answer["data"].as_str().expect("data");
        BASE64_STANDARD.decode(data).expect("base64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its children end with it, not if it is killed.
        let _ = self
            .to
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.process.wait_or_none(Duration::from_secs(5));
    }
}
