//! The `lamina` binary: reads the options, wires the parts together, serves until told to stop.

#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use lamina_server::memory::Counting;
use lamina_server::options::{self, Command, OptionsError};
use lamina_server::{bus_error, console, evaluate, import, inspect, repair, run, verify};

#[global_allocator]
static ALLOCATOR: Counting<mimalloc::MiMalloc> = Counting(mimalloc::MiMalloc);

fn main() -> ExitCode {
    let (cli, config_file) = match options::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(OptionsError::CommandLine(error)) => error.exit(),
        Err(error) => {
            console::tell(format_args!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = bus_error::explain() {
        console::tell(format_args!("warning: files that are cut while they are mapped will not be named: {error}"));
    }
    match cli.command {
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Evaluate(args)) => evaluate::run(&args),
        Some(Command::Inspect(args)) => inspect::inspect(&args),
        Some(Command::Verify(args)) => verify::verify(&args),
        Some(Command::Repair(args)) => repair::run(&args),
        Some(Command::Completions { shell }) => printed(options::completions(shell)),
        Some(Command::Manual) => printed(options::manual()),
        None => match run::serve(cli.options, config_file.as_deref()) {
            Ok(code) => code,
            Err(error) => {
                console::tell(format_args!("error: {error}"));
                ExitCode::FAILURE
            }
        },
    }
}

fn printed(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console::tell(format_args!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
