//! What is made from the definitions of the options: completions, the manual page, the example of a configuration file.

use std::io;

use clap_mangen::Man;
use lamina_base::console;

use super::{SERVE, command};

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
    console::print(&page()?)
}

/// The manual page: the options of the server, then each command with its own.
fn page() -> io::Result<String> {
    let mut command = command();
    command.build();
    let mut text = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    man.render_extra_section(&mut text)?;
    let mut page = String::from_utf8_lossy(&text).into_owned();
    // Without a command, the program does what `serve` does.
    for command in command.get_subcommands().filter(|command| command.get_name() != SERVE) {
        describe(command, &mut page)?;
    }
    Ok(page)
}

/// A section for a command, and one for each of its own.
fn describe(command: &clap::Command, page: &mut String) -> io::Result<()> {
    if command.get_name() == "help" {
        return Ok(());
    }
    let mut text = Vec::new();
    let man = Man::new(command.clone());
    man.render_description_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    page.push_str(&format!(".SH \"{}\"\n", name.to_uppercase()));
    page.push_str(&String::from_utf8_lossy(&text).replace(".SH ", ".SS "));
    command.get_subcommands().try_for_each(|command| describe(command, page))
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
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/config.toml");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, example()).unwrap();
        }
        let file = std::fs::read_to_string(path).unwrap();
        assert!(file == example(), "run `UPDATE=1 cargo test -p lamina-server the_example_explains_every_option`");
    }

    #[test]
    fn the_manual_has_every_command_with_its_options() {
        let page = page().unwrap();
        for heading in ["LAMINA IMPORT", "LAMINA SETTINGS GET", "LAMINA STORE GC", "LAMINA MANUAL"] {
            assert!(page.contains(&format!(".SH \"{heading}\"\n")), "{heading}");
        }
        for option in [r"\-\-db\-path", r"\-\-primary\-key", r"\-\-again", r"\-\-apply", r"\-\-json"] {
            assert!(page.contains(option), "{option}");
        }
        assert!(!page.contains("(1)"));
        assert!(!page.contains("HELP\""));
        assert!(!page.contains("LAMINA SERVE"));
        assert_eq!(page.matches(".TH ").count(), 1);
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
