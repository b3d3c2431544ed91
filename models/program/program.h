// The command-line program `weft`.
#pragma once

#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/distributed/ranks.h"

namespace weft::program {

/// The command line of `weft` with all its commands.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Parses the arguments without opening files or running a command. Throws UsageError for invalid
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

/// Connects the ranks, then parses and runs the command line. Errors are printed as one line on
/// stderr. Returns the exit code: 0 for success, 1 for a failed run, 2 for a usage error. If an MPI
/// launcher started several processes, rank 0 prints the output for all of them. The other ranks
/// print only the errors that occur in their own part of the work. Tests pass a different
/// `connect`.
int run_program(int argc, const char* const* argv, World (*connect)() = connect_ranks);

}  // namespace weft::program
