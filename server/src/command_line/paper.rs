//! What is made from the definitions of the options: completions, the manual page, the example of a configuration file.

use std::io;

use super::command;
use crate::console;

/// Prints what `shell` needs to complete command lines.
///
/// # Errors
/// When standard output cannot be written.
pub fn completions(shell: clap_complete::Shell) -> io::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "lamina", &mut text);
    console::print(&String::from_utf8_lossy(&text))
}

/// Prints the manual page.
///
/// # Errors
/// When standard output cannot be written.
pub fn manual() -> io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command()).render(&mut text)?;
    console::print(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction};

    /// The file as it has to be: every option, explained, with its default.
    fn example() -> String {
        let command = command();
        let mut headings: Vec<&str> = Vec::new();
        let is_option = |argument: &&Arg| {
            argument.get_help_heading().is_some() && !argument.is_hide_set() && argument.get_id() != "config_file_path"
        };
        for argument in command.get_arguments().filter(is_option) {
            let heading = argument.get_help_heading().unwrap();
            if !headings.contains(&heading) {
                headings.push(heading);
            }
        }
        let mut text = String::from(
            "# Options of Lamina. Each line shows a default; remove the # to change it. `--some-option` on the command line\n\
             # and SVC_SOME_OPTION in the environment override this file, which is ./config.toml, or the file that\n\
             # --config-file-path names.\n",
        );
        for heading in headings {
            text.push_str(&format!("\n# ---- {heading} ----\n"));
            for argument in command
                .get_arguments()
                .filter(|argument| argument.get_help_heading() == Some(heading))
                .filter(is_option)
            {
                text.push('\n');
                let help = argument.get_help().expect("every option is explained").to_string();
                help.lines().for_each(|line| text.push_str(&format!("# {line}\n")));
                let default = argument.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
                let value = match default {
                    _ if matches!(argument.get_action(), ArgAction::SetTrue) => "false".to_owned(),
                    Some(number) if number.parse::<u64>().is_ok() => number,
                    other => format!("{:?}", other.unwrap_or_default()),
                };
                text.push_str(&format!("# {} = {value}\n", argument.get_id()));
            }
        }
        text
    }

    /// Run with UPDATE=1 to write the file anew.
    #[test]
    fn the_example_explains_every_option() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/config.toml");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, example()).unwrap();
        }
        let file = std::fs::read_to_string(path).unwrap();
        assert!(file == example(), "run `UPDATE=1 cargo test -p lamina-server the_example_explains_every_option`");
    }

    #[test]
    fn every_option_has_its_variable() {
        for argument in command().get_arguments().filter(|argument| argument.get_help_heading().is_some()) {
            let variable = argument.get_env().unwrap_or_else(|| panic!("{} has no variable", argument.get_id()));
            let expected = match argument.get_id().as_str() {
                "experimental_legacy_search_default" => "SVC_EXPERIMENTAL_LEGACY_SEARCH".to_owned(),
                id => format!("SVC_{}", id.to_uppercase()),
            };
            assert_eq!(variable.to_str().unwrap(), expected);
            let flag = argument.get_long().unwrap().replace('-', "_");
            assert_eq!(flag, argument.get_id().as_str());
        }
    }
}
