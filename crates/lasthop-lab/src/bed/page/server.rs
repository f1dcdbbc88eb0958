// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! nginx at the fixed host, with nothing of the machine's own configuration.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use super::{Page, find_tool};
use crate::base::interrupt;
use crate::bed::page::tools::{CERTIFICATE_TOOL, SERVER_TOOL};
use crate::bed::process::{self, Lifetime, Managed};
use crate::bed::testbed::TestBed;
use crate::data::host::Host;
use crate::data::page::{PageOptions, Protocol};
use crate::data::switch::Switch;
use crate::data::topology::Family;

const READY_PATIENCE: Duration = Duration::from_secs(10);
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// Bytes written at a time.
const CHUNK_BYTES: u64 = 64 * 1024;

/// nginx, serving one page. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    process: Managed,
    address: SocketAddr,
}

impl Server {
    /// Writes the page and serves it at FH; returns once connections are taken. FH's congestion
    /// control is `cc` from then on, which is that of nginx's connections.
    ///
    /// # Errors
    /// A tool is missing, the files cannot be written, or nginx ends.
    pub fn start(
        bed: &TestBed,
        page: &Page,
        options: &PageOptions,
        family: Family,
        cc: &str,
    ) -> Result<Self> {
        let fh = bed.namespace(Host::Fh);
        bed.set_congestion_control(Host::Fh, cc)?;
        let prefix = bed.directory().join("server");
        write_page(&prefix.join("www"), page)?;
        if options.protocol == Protocol::Http2 {
            make_certificate(&prefix)?;
        }
        let port = bed.reserve_ports(1)?;
        let address = SocketAddr::new(bed.topology().address(Host::Fh, family), port);
        let configuration = prefix.join("nginx.conf");
        write_file(&configuration, &configuration_text(options, address))?;
        let mut command = Command::new(find_tool(SERVER_TOOL)?);
        command
            .args(["-e", "stderr", "-p"])
            .arg(&prefix)
            .arg("-c")
            .arg(&configuration);
        let lifetime = Lifetime::WithLab(Signal::SIGTERM);
        let mut process = Managed::spawn(command, SERVER_TOOL, fh, lifetime, None)?;
        bed.own_process(process.id())?;
        wait_until_it_listens(bed, &mut process, address)?;
        Ok(Self { process, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it.
    ///
    /// # Errors
    /// It had ended before, or has to be killed.
    pub fn stop(mut self) -> Result<()> {
        self.process.check_running()?;
        self.process.stop(Signal::SIGTERM, STOP_PATIENCE).map(drop)
    }
}

/// One process, no logs, and no directory but the prefix. Everything that matters to the traffic
/// and isn't here has nginx's default, `tcp_nodelay on` among it.
fn configuration_text(options: &PageOptions, address: SocketAddr) -> String {
    let listen = match options.protocol {
        Protocol::Http1 => format!("listen {address};"),
        // Newer versions prefer a directive `http2 on`, which those before 1.25 lack.
        Protocol::Http2 => format!(
            "listen {address} ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem; \
             http2_max_concurrent_streams 1024;"
        ),
    };
    let keepalive = match options.keepalive {
        Switch::On => "keepalive_requests 100000;",
        Switch::Off => "keepalive_timeout 0;",
    };
    format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr emerg;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  {keepalive}\n  \
         client_body_temp_path t;\n  proxy_temp_path t;\n  fastcgi_temp_path t;\n  \
         uwsgi_temp_path t;\n  scgi_temp_path t;\n  \
         server {{ {listen} root www; }}\n}}\n"
    )
}

fn write_page(directory: &Path, page: &Page) -> Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let mut buffer = vec![0; CHUNK_BYTES as usize];
    for (object, bytes) in page.sizes_bytes().iter().enumerate() {
        let path = directory.join(object.to_string());
        let mut write = || -> std::io::Result<()> {
            let mut file = BufWriter::new(File::create(&path)?);
            for at in (0..*bytes).step_by(CHUNK_BYTES as usize) {
                let chunk = &mut buffer[..(*bytes - at).min(CHUNK_BYTES) as usize];
                page.content(object).fill(at, chunk);
                file.write_all(chunk)?;
            }
            file.flush()
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A key and a certificate signed with it, for as long as the longest cell lasts.
fn make_certificate(prefix: &Path) -> Result<()> {
    let path = |name: &str| -> PathBuf { prefix.join(name) };
    let mut command = Command::new(find_tool(CERTIFICATE_TOOL)?);
    command
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "3"])
        .args(["-subj", "/CN=lasthop-lab", "-keyout"])
        .arg(path("key.pem"))
        .arg("-out")
        .arg(path("cert.pem"));
    process::run_to_end(None, command, "openssl req").map(drop)
}

/// Connects from FH itself: the link sees nothing of it.
fn wait_until_it_listens(bed: &TestBed, process: &mut Managed, address: SocketAddr) -> Result<()> {
    let deadline = Instant::now() + READY_PATIENCE;
    loop {
        interrupt::check()?;
        process.check_running()?;
        let connected = bed.run_in(Host::Fh, || {
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
        })?;
        if connected {
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!("{SERVER_TOOL} does not listen on {address}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_their_content() {
        let options = PageOptions {
            objects: 3,
            sizes: "1kB,200kB".parse().unwrap(),
            ..PageOptions::default()
        };
        let page = Page::new(&options, 7);
        let dir = tempfile::tempdir().unwrap();
        write_page(dir.path(), &page).unwrap();
        for (object, bytes) in page.sizes_bytes().iter().enumerate() {
            let got = fs::read(dir.path().join(object.to_string())).unwrap();
            assert_eq!(got.len() as u64, *bytes);
            assert_eq!(page.content(object).first_wrong(0, &got), None);
        }
    }

    #[test]
    fn the_configuration_follows_the_options() {
        let address: SocketAddr = "[fd01::2]:10000".parse().unwrap();
        let mut options = PageOptions::default();
        let text = configuration_text(&options, address);
        assert!(text.contains("listen [fd01::2]:10000; root www;"), "{text}");
        assert!(!text.contains("ssl") && !text.contains("keepalive_timeout"));
        options.keepalive = Switch::Off;
        assert!(configuration_text(&options, address).contains("keepalive_timeout 0;"));
        options.protocol = Protocol::Http2;
        assert!(configuration_text(&options, address).contains("ssl http2;"));
    }
}
