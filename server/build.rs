//! Says which commit is built: `LAMINA_COMMIT_SHA` and `LAMINA_COMMIT_DATE`, as the environment of the build gives them, or as
//! the checkout has them. Lists the pages of the manual, which the program contains.

#[path = "build/checkout.rs"]
mod checkout;
#[path = "build/manual.rs"]
mod manual;

use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a folder of the repository");
    let found = checkout::commit(root);
    for (name, found) in [("LAMINA_COMMIT_SHA", found.sha), ("LAMINA_COMMIT_DATE", found.date)] {
        println!("cargo::rerun-if-env-changed={name}");
        let given = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        println!("cargo::rustc-env={name}={}", given.or(found).unwrap_or_else(|| "unknown".to_owned()));
    }
    let made = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("manual.rs");
    manual::write(root, &made).expect("the pages of the manual are in the repository");
    for path in manual::sources(root) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/checkout.rs");
    println!("cargo::rerun-if-changed=build/manual.rs");
    // A development build says the commit that it was last built for: each commit would compile the server anew.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for path in found.sources {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}
