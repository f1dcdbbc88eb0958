// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Rust's view of the core's types and of the maps' values.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

const OUTPUT: &str = "crates/lasthop-core/src/bindings.rs";

const HEADER: &str = "\
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Generated from core/core.h and bpf/abi.h by `cargo run -p xtask -- bindings`.
// Do not edit.
";

/// Bindgen would call the core's own integer names `u8_` and so on. C11 allows
/// a typedef to be repeated, so these names may stand for the standard ones,
/// which bindgen knows.
const INTEGERS: [&str; 6] = [
    "-Du8=uint8_t",
    "-Du16=uint16_t",
    "-Du32=uint32_t",
    "-Du64=uint64_t",
    "-Ds32=int32_t",
    "-Ds64=int64_t",
];

pub fn write(root: &Path) -> Result<()> {
    let path = root.join(OUTPUT);
    fs::write(&path, generate(root)?).with_context(|| format!("cannot write {OUTPUT}"))
}

pub fn check(root: &Path) -> Result<()> {
    let path = root.join(OUTPUT);
    let present = fs::read_to_string(&path).with_context(|| format!("cannot read {OUTPUT}"))?;
    if present != generate(root)? {
        bail!("{OUTPUT} is out of date: run `cargo run -p xtask -- bindings`");
    }
    Ok(())
}

fn generate(root: &Path) -> Result<String> {
    let raw = bindgen::Builder::default()
        .header_contents(
            "lasthop.h",
            "#include \"core/core.h\"\n#include \"bpf/abi.h\"\n",
        )
        .clang_args(["-std=gnu11", "-fparse-all-comments"])
        .clang_args(INTEGERS)
        .clang_arg(format!("-I{}", root.display()))
        .allowlist_function("lhc_.*")
        .allowlist_type("lh_.*")
        .allowlist_var("LH_.*")
        // Inside core.c only: they hold what a call needs.
        .blocklist_type("lh_env|lh_host")
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .derive_default(true)
        .derive_eq(true)
        .derive_hash(true)
        .derive_ord(true)
        // A table of functions: nothing to compare.
        .no_partialeq("lh_host_ops")
        .no_hash("lh_host_ops")
        // Zero would not be a configuration; lasthop-core says what is.
        .no_default("lh_config")
        .use_core()
        .rust_edition(bindgen::RustEdition::Edition2024)
        .rust_target(bindgen::RustTarget::stable(85, 0).map_err(|e| anyhow::anyhow!("{e}"))?)
        .formatter(bindgen::Formatter::None)
        .disable_header_comment()
        .generate()
        .context("cannot generate the bindings")?
        .to_string();
    // The layouts that bindgen saw are those of a 64-bit machine.
    let code = rustfmt(&raw)?.replace(
        "\nconst _: () = {",
        "\n#[cfg(target_pointer_width = \"64\")]\nconst _: () = {",
    );
    Ok(format!("{HEADER}\n{code}"))
}

/// Bindgen's own call of rustfmt does not say which edition's style.
fn rustfmt(source: &str) -> Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run rustfmt")?;
    let mut stdin = child.stdin.take().context("rustfmt has no input")?;
    stdin.write_all(source.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "rustfmt failed on the generated code"
    );
    Ok(String::from_utf8(output.stdout)?)
}
