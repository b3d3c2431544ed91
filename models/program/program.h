// The command-line program `weft`.
#pragma once

#include <memory>

#include "weft/models/program/commands.h"
#include "weft/models/program/ranks.h"

namespace weft::program {

/// The command line of `weft` with all its commands.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses the arguments without opening or running anything. Throws UsageError for invalid
  /// arguments, and CLI::Success for --help and --version.
  void parse(int argc, const char* const* argv);
  /// Runs the parsed command on all ranks of the world. Returns the exit code.
  int run(const World& world = {}) const { return action_(world); }

  const CLI::App& app() const { return *app_; }
  CLI::App& app() { return *app_; }

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
};

/// Connects the ranks, then parses and runs the command line. Errors are printed in one line on
/// stderr. Returns the exit code: 0, 1 for a failed run, 2 for bad usage. If an MPI launcher
/// started several processes, rank 0 prints for all of them; the others print only why their own
/// part of the work failed. Tests pass another `connect`.
int run_program(int argc, const char* const* argv, World (*connect)() = connect_ranks);

}  // namespace weft::program
