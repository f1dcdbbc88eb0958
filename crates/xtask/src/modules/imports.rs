// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which module names which: the paths in uses, code, attributes and the arguments of macros.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemMod, ItemUse, Macro, Meta, TraitItem, UseTree};

use super::tree::{Module, Name, Tree, of_tests};

/// The line of the first import, by importing and imported module.
pub type Imports = BTreeMap<(Name, Name), usize>;

/// All imports of a tree, but of a module by itself.
pub fn of(tree: &Tree) -> Imports {
    let mut imports = Imports::new();
    for (name, module) in tree {
        let mut reader = Reader {
            tree,
            file: name,
            at: name.clone(),
            children: vec![children(&module.source.items)],
            imports: &mut imports,
        };
        read(&mut reader, module);
    }
    imports
}

fn read<'a>(reader: &mut Reader<'a>, module: &'a Module) {
    for item in &module.source.items {
        reader.visit_item(item);
    }
}

/// Names of the modules that are declared among the items.
fn children(items: &[Item]) -> BTreeSet<String> {
    let declared = items.iter().filter_map(|item| match item {
        Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    declared.collect()
}

struct Reader<'a> {
    tree: &'a Tree,
    /// The module whose file is read.
    file: &'a Name,
    /// The module that is read: the file's own, or one inside it.
    at: Name,
    /// The children of that and of those around it inside the file.
    children: Vec<BTreeSet<String>>,
    imports: &'a mut Imports,
}

impl Reader<'_> {
    /// Where a path leads, as names from the root on; none if out of the crate, or not known.
    fn absolute(&self, path: &[String]) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        let mut name = match first.as_str() {
            "crate" => Name::new(),
            "self" | "super" => self.at.clone(),
            child if self.children.last()?.contains(child) => {
                return Some(self.at.iter().chain(path).cloned().collect());
            }
            _ => return None,
        };
        if first == "super" {
            name.pop()?;
        }
        for word in rest {
            match word.as_str() {
                "super" => drop(name.pop()?),
                word => name.push(word.to_owned()),
            }
        }
        Some(name)
    }

    /// The file that holds what a path leads to: of the longest part that is one.
    fn target(&self, path: &[String]) -> Option<Name> {
        let mut name = self.absolute(path)?;
        while !self.tree.contains_key(&name) {
            name.pop()?;
        }
        Some(name)
    }

    fn import(&mut self, path: &[String], span: Span) {
        if let Some(to) = self.target(path).filter(|to| to != self.file) {
            let line = self.imports.entry((self.file.clone(), to));
            let line = line.or_insert(usize::MAX);
            *line = span.start().line.min(*line);
        }
    }

    /// The leaves of `use a::{b, c::d}`, each as a whole path.
    fn uses(&mut self, before: &[String], tree: &UseTree, shown: bool) {
        let with = |word: String| before.iter().cloned().chain([word]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.uses(&with(path.ident.to_string()), &path.tree, shown),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.uses(before, tree, shown);
                }
            }
            UseTree::Name(name) if name.ident == "self" => self.leaf(before, name.span(), shown),
            UseTree::Name(name) => self.leaf(&with(name.ident.to_string()), name.span(), shown),
            UseTree::Rename(name) if name.ident == "self" => self.leaf(before, name.span(), shown),
            UseTree::Rename(name) => self.leaf(&with(name.ident.to_string()), name.span(), shown),
            UseTree::Glob(star) => self.leaf(before, star.span(), shown),
        }
    }

    /// `shown`: by a `pub use`, which imports nothing of a child's.
    fn leaf(&mut self, path: &[String], span: Span, shown: bool) {
        let child = self
            .target(path)
            .is_some_and(|to| to.len() > self.file.len() && to.starts_with(self.file));
        if !(shown && child) {
            self.import(path, span);
        }
    }

    /// Paths in what syn leaves as tokens. The words of `a::b::c` come one by one.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut start = Span::call_site();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if !path.is_empty() && colons == 2 => {
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.several(&path, start);
                    path.clear();
                    colons = 0;
                    match other {
                        TokenTree::Ident(word) => {
                            start = word.span();
                            path.push(word.to_string());
                        }
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Literal(text) => self.quoted(&text.to_string(), text.span()),
                        TokenTree::Punct(_) => {}
                    }
                }
            }
        }
        self.several(&path, start);
    }

    /// A path of several words: one word alone is a variable, or Rust's own.
    fn several(&mut self, path: &[String], span: Span) {
        if path.len() > 1 {
            self.import(path, span);
        }
    }

    /// A path in quotes, as serde takes some: `with = "crate::units"`.
    fn quoted(&mut self, literal: &str, span: Span) {
        let text = literal.trim_matches('"');
        let path: Vec<String> = text.split("::").map(str::to_owned).collect();
        let is_word = |word: &String| {
            !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        if path.iter().all(is_word) {
            self.several(&path, span);
        }
    }

    fn inside(&mut self, module: &ItemMod, items: &[Item]) {
        self.at.push(module.ident.to_string());
        self.children.push(children(items));
        for item in items {
            self.visit_item(item);
        }
        self.children.pop();
        self.at.pop();
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        if !of_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        if let Some((_, items)) = &module.content {
            self.inside(module, items);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let shown = !matches!(item.vis, syn::Visibility::Inherited);
        if item.leading_colon.is_none() {
            self.uses(&[], &item.tree, shown);
        }
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        let of_test = matches!(item, ImplItem::Fn(function) if of_tests(&function.attrs));
        if !of_test {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'a TraitItem) {
        let of_test = matches!(item, TraitItem::Fn(function) if of_tests(&function.attrs));
        if !of_test {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let words = path.segments.iter().map(|part| part.ident.to_string());
        if path.leading_colon.is_none() {
            self.several(&words.collect::<Vec<_>>(), path.span());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        match &attribute.meta {
            Meta::List(list) => self.tokens(list.tokens.clone()),
            Meta::NameValue(pair) if !pair.path.is_ident("doc") => self.visit_expr(&pair.value),
            _ => {}
        }
    }

    /// `pub(crate)` and `pub(super)` import nothing.
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
