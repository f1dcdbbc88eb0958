// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The modules of a crate that are files, found from its root file by the `mod` declarations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::{Attribute, Expr, Item, Lit, Meta};

/// A module's names from the root on; the root's own is empty.
pub type Name = Vec<String>;

/// One file.
pub struct Module {
    /// Where it is.
    pub file: PathBuf,
    /// What it holds.
    pub source: syn::File,
}

/// All files of one library or program.
pub type Tree = BTreeMap<Name, Module>;

/// Reads the root file and all modules below it but those of tests.
///
/// # Errors
/// A file that is missing or is no Rust.
pub fn read(root: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    let directory = root.parent().context("a root file without directory")?;
    read_module(&mut tree, Name::new(), root, directory)?;
    Ok(tree)
}

/// `directory`: where the files of its children are.
fn read_module(tree: &mut Tree, name: Name, file: &Path, directory: &Path) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let source = syn::parse_file(&text).with_context(|| file.display().to_string())?;
    read_children(tree, &name, &source.items, file, directory)?;
    let file = file.to_owned();
    tree.insert(name, Module { file, source });
    Ok(())
}

fn read_children(
    tree: &mut Tree,
    name: &Name,
    items: &[Item],
    file: &Path,
    directory: &Path,
) -> Result<()> {
    for item in items {
        let Item::Mod(module) = item else { continue };
        if of_tests(&module.attrs) {
            continue;
        }
        let word = module.ident.to_string();
        let word = word.trim_start_matches("r#");
        let name: Name = name.iter().cloned().chain([word.to_owned()]).collect();
        match &module.content {
            Some((_, items)) => read_children(tree, &name, items, file, &directory.join(word))?,
            None => {
                let (file, directory) = place(&module.attrs, word, file, directory)?;
                read_module(tree, name, &file, &directory)?;
            }
        }
    }
    Ok(())
}

/// The file of a child, and the directory of its own children.
fn place(
    attributes: &[Attribute],
    word: &str,
    parent: &Path,
    directory: &Path,
) -> Result<(PathBuf, PathBuf)> {
    if let Some(path) = attributes.iter().find_map(named_path) {
        let file = parent.parent().unwrap_or(Path::new("")).join(path);
        let directory = file.parent().unwrap_or(Path::new("")).to_owned();
        return Ok((file, directory));
    }
    let below = directory.join(word);
    for file in [below.with_extension("rs"), below.join("mod.rs")] {
        if file.exists() {
            return Ok((file, below));
        }
    }
    bail!("{}: no file for module {word}", parent.display());
}

/// The value of `#[path = "…"]`.
fn named_path(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("path") => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether what has these attributes is compiled for tests only.
pub fn of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    })
}
