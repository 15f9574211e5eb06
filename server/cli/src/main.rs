//! The `lamina` binary: reads the options, wires the parts together, serves until a signal.

#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use lamina_base::console::Severity;
use lamina_base::memory::Counting;
use lamina_base::options::LogsMode;
use lamina_base::{bus_error, console};
use lamina_cli::command_line::{self, Command, OptionsError};
use lamina_cli::{build, demo, inspect, repair, restore, store_command, verify};
use lamina_client::{commands, evaluate, import};
use lamina_server::run::{self, Ready};
use lamina_sync as sync;

#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

fn main() -> ExitCode {
    let (cli, config_file) = match command_line::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => return refused(error),
    };
    if cli.command.is_none() && cli.options.logging.experimental_logs_mode == LogsMode::Json {
        console::say_json();
    }
    if let Err(error) = bus_error::explain() {
        let message = format_args!("files that are cut while they are mapped will not be named: {error}");
        console::say(Severity::Warning, message);
    }
    match cli.command {
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Build(args)) => build::run(&args),
        Some(Command::Search(args)) => commands::search(&args),
        Some(Command::Settings(args)) => commands::settings(&args),
        Some(Command::Snapshot(args)) => commands::snapshot(&args),
        Some(Command::Restore(args)) => restore::run(&args),
        Some(Command::Evaluate(args)) => evaluate::run(&args),
        Some(Command::Judge(args)) => evaluate::judge::run(&args),
        Some(Command::Tune(args)) => evaluate::tune::run(&args),
        Some(Command::Mcp(args)) => commands::mcp(&args),
        Some(Command::Sync(args)) => sync::run(&args),
        Some(Command::Inspect(args)) => inspect::inspect(&args),
        Some(Command::Verify(args)) => verify::verify(&args),
        Some(Command::Repair(args)) => repair::run(&args),
        Some(Command::Store(args)) => store_command::run(&args),
        Some(Command::Completions { shell }) => printed(command_line::completions(shell)),
        Some(Command::Manual) => printed(command_line::manual()),
        None => match run::serve(cli.options, Ready::Banner(config_file)) {
            Ok(code) => code,
            Err(error) => {
                console::say(Severity::Error, format_args!("{error}"));
                ExitCode::FAILURE
            }
        },
    }
}

/// Reports the fault in the options, in the log format that they select as far as they can be read. `--help` and
/// the like end here too.
fn refused(error: OptionsError) -> ExitCode {
    if command_line::asks_for_json(std::env::args_os()) {
        console::say_json();
    }
    match error {
        OptionsError::CommandLine(error) if console::says_json() && error.use_stderr() => {
            let text = error.render().to_string();
            console::say(Severity::Error, format_args!("{}", text.trim_start_matches("error: ")));
            ExitCode::from(WRONG_USAGE)
        }
        OptionsError::CommandLine(error) => error.exit(),
        error => {
            console::say(Severity::Error, format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}

/// Exit status that command lines which cannot be read have.
const WRONG_USAGE: u8 = 2;

fn printed(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::line(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
