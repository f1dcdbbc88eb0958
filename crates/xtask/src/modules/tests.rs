// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Small crates with circles and without.

use super::*;

/// The circles of a crate with these files, of which the first is its root.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    circles_of(&dir.path().join(files[0].0), dir.path()).unwrap()
}

/// The circles of a library of `a` and `b`, where `b` holds `use crate::a::A;`.
fn with_a(a: &str) -> Vec<String> {
    circles(&[
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", a),
        ("b.rs", "use crate::a::A;\npub struct B;\n"),
    ])
}

const A_AND_B: &str = "a (a.rs:2) -> b (b.rs:1) -> a";

#[test]
fn a_use_back_is_a_circle() {
    for a in [
        "\nuse crate::b::B;",
        "\nuse super::b::B;",
        "\nuse super::b;",
        "\nuse crate::{b::{self, B}};",
        "\nuse crate::b as other;",
        "\nuse crate::b::*;",
        "\npub use crate::b::B;",
        "\nfn f() { use crate::b::B; }",
    ] {
        assert_eq!(with_a(a), [A_AND_B], "{a}");
    }
}

#[test]
fn so_is_a_path_in_the_code() {
    for a in [
        "\nfn f() -> crate::b::B { todo!() }",
        "\nfn f() { crate::b::g(); }",
        "\nimpl super::b::Trait for u8 {}",
        "\nfn f() { println!(\"{}\", crate::b::g()); }",
        "\nfn f() { vec![(1, super::b::g())]; }",
        "\n#[serde(with = \"crate::b\")] struct A;",
        "\n#[arg(value_parser = crate::b::g)] struct A;",
        "\nmacro_rules! m { () => { $crate::b::g() } }",
        "\nmod inside { use super::super::b::B; }",
        "\nmod inside { fn f() { crate::b::g() } }",
    ] {
        assert_eq!(with_a(a), [A_AND_B], "{a}");
    }
}

#[test]
fn what_imports_nothing_is_none() {
    for a in [
        "",
        "pub(in crate::b) struct A;",
        "//! Goes with [`crate::b`].\n/// See [`crate::b::B`].\nstruct A;",
        "use other::b::B;\nfn f(b: u8) { b::<u8>::x() }",
        "fn f() { log(\"see crate::b for more\") }",
        "use self::inside::B;\nmod inside { use super::A; pub struct B; }",
        "use crate::a::A;",
    ] {
        assert!(with_a(a).is_empty(), "{a}: {:?}", with_a(a));
    }
}

#[test]
fn tests_may() {
    for a in [
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(test)]\nmod tests;",
        "#[cfg(test)]\nuse crate::b::B;",
        "#[cfg(all(test, unix))] fn f() { crate::b::g() }",
        "#[test] fn f() { crate::b::g() }",
        "struct A; impl A { #[cfg(test)] fn f() { crate::b::g() } }",
    ] {
        assert!(with_a(a).is_empty(), "{a}");
    }
    assert_eq!(with_a("\n#[cfg(not(test))] use crate::b::B;"), [A_AND_B]);
}

#[test]
fn a_parent_may_show_its_child_but_not_use_it() {
    let with_parent = |parent: &str| {
        circles(&[
            ("main.rs", "mod a;\nfn main() {}\n"),
            ("a/mod.rs", parent),
            ("a/child.rs", "use super::Shared;\npub struct B;\n"),
        ])
    };
    for parent in [
        "mod child;\npub struct Shared;\n",
        "mod child;\npub use self::child::B;\n",
        "mod child;\npub(crate) use child::{B, B as C};\n",
        "mod child;\nuse ::child::B;\nfn f() -> ::child::B { todo!() }\n",
    ] {
        assert!(with_parent(parent).is_empty(), "{parent}");
    }
    for parent in [
        "mod child; // line 1\nuse self::child::B;\n",
        "mod child; // line 1\nuse child::B;\n",
        "mod child; // line 1\nfn f() -> child::B { todo!() }\n",
        "mod child; // line 1\nfn f() { drop(vec![child::B]) }\n",
    ] {
        let expected = "a (a/mod.rs:2) -> a::child (a/child.rs:1) -> a";
        assert_eq!(with_parent(parent), [expected], "{parent}");
    }
}

#[test]
fn the_root_is_a_module_too() {
    let found = circles(&[
        ("lib.rs", "mod a;\npub struct Shared;\nfn f() { a::g() }\n"),
        ("a.rs", "use crate::Shared;\npub fn g() {}\n"),
    ]);
    assert_eq!(found, ["crate (lib.rs:3) -> a (a.rs:1) -> crate"]);
}

#[test]
fn long_circles_and_several() {
    let found = circles(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;\n"),
        ("a.rs", "use crate::b::B;\nuse crate::e::E;\n"),
        ("b.rs", "use crate::c::C;\nuse crate::e::E;\n"),
        ("c.rs", "use crate::a::A;\n"),
        ("d.rs", "use crate::a::A;\nuse crate::e::E;\n"),
        ("e.rs", "use crate::d::D;\n"),
    ]);
    let short = "d (d.rs:2) -> e (e.rs:1) -> d";
    let long = "a (a.rs:1) -> b (b.rs:1) -> c (c.rs:1) -> a";
    assert_eq!(found, [short, long]);
}

/// The longest part of the path that is a module counts: the rest is what it holds.
#[test]
fn paths_lead_to_files() {
    let found = circles(&[
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::inside::deep::X;\n"),
        ("b.rs", "pub mod inside { pub mod deep; }\n"),
        ("b/inside/deep.rs", "use crate::a::A;\n"),
    ]);
    assert_eq!(
        found,
        ["a (a.rs:1) -> b::inside::deep (b/inside/deep.rs:1) -> a"]
    );
}

#[test]
fn files_may_be_elsewhere() {
    let found = circles(&[
        ("lib.rs", "#[path = \"other.rs\"]\nmod a;\nmod b;\n"),
        ("other.rs", "use crate::b::B;\n"),
        ("b.rs", "use crate::a::A;\n"),
    ]);
    assert_eq!(found, ["a (other.rs:1) -> b (b.rs:1) -> a"]);
}

#[test]
fn what_is_missing_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("lib.rs");
    fs::write(&root, "mod nowhere;").unwrap();
    let error = circles_of(&root, dir.path()).unwrap_err().to_string();
    assert!(error.contains("no file for module nowhere"), "{error}");
    fs::write(&root, "fn {").unwrap();
    assert!(circles_of(&root, dir.path()).is_err());
    assert!(targets(dir.path()).unwrap() == [root]);
    assert!(targets(&dir.path().join("none")).is_err());
}

#[test]
fn this_repository_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = crates(&root).unwrap();
    assert!(names.contains(&"xtask".to_owned()), "{names:?}");
    for name in names {
        for target in targets(&root.join("crates").join(&name).join("src")).unwrap() {
            let found = circles_of(&target, &root).unwrap();
            assert!(
                EXEMPT.contains(&name.as_str()) || found.is_empty(),
                "{found:?}"
            );
        }
    }
}
