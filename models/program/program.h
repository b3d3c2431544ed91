// The program `weft` as a whole.
#pragma once

#include <memory>

#include "weft/models/program/commands.h"
#include "weft/models/program/ranks.h"

namespace weft::program {

/// The command line with all its commands.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Reads the arguments; nothing is opened, nothing runs. UsageError for what makes no sense,
  /// CLI::Success where --help or --version was asked for.
  void parse(int argc, const char* const* argv);
  /// Does what was read, on all ranks of the world; gives the exit code.
  int run(const World& world = {}) const { return action_(world); }

  const CLI::App& app() const { return *app_; }
  CLI::App& app() { return *app_; }

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
};

/// Parses, runs, says in one line on stderr what went wrong; gives the exit code: 0, 1 for a failed
/// run, 2 for bad usage. Where a launcher of MPI started several processes, rank 0 speaks for all:
/// the others print only why their part of the work has failed. Tests connect ranks otherwise.
int run_program(int argc, const char* const* argv, World (*connect)() = connect_ranks);

}  // namespace weft::program
