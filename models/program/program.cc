#include "weft/models/program/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "weft/core/excerpt.h"
#include "weft/core/sigbus_handler.h"
#include "weft/core/version.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/parse_failure.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/failure.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

/// Rejects options without a value such as "--out=", because the parser would use the next argument
/// as their value. In a script, the cause is usually an unset variable.
void refuse_empty_values(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    if (argument.size() > 3 && argument.starts_with("--") &&
        argument.find('=') == argument.size() - 1) {
      throw UsageError(fmt::format("{} is empty (an unset shell variable?)", excerpt(argument)));
    }
  }
}

/// The terminate handler. If memory runs out while another error is being handled, for example in a
/// destructor, no handler can catch the exception.
[[noreturn]] void handle_terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    const Failure failure{Failure::Kind::memory};
    failure.print();
    std::_Exit(failure.code());
  } catch (...) {  // a bug in the program
  }
  std::abort();
}

int run_commands(const World& world, int argc, const char* const* argv) {
  CommandLine line;
  std::optional<int> asked;  // the exit code of --help or --version
  on_all_ranks(world, [&] {
    try {
      line.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      std::ostringstream out;
      asked = line.app().exit(e, out, out);
      write_stdout(out.str());
    }
  });
  return asked ? *asked : line.run(world);
}

/// Returns true if rank 0 reports the same error within 300 ms. If all ranks fail for the same
/// reason, one line is enough.
bool first_rank_reports(const World& world, const std::string& message) {
  constexpr int kLooks = 15;
  constexpr std::chrono::milliseconds kPause{20};
  for (int i = 0; !world.first() && i < kLooks; ++i) {
    const std::string why = world.transport()->poisoned();
    if (!why.empty()) return why == describe_rank(*world.transport(), 0) + ": " + message;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

/// Prints why this rank has failed, unless another rank prints the error, and aborts the other
/// ranks. Returns the exit code.
int report_failure(const World& world) {
  try {
    throw;
  } catch (const CommandFailed& e) {  // thrown on all ranks
    if (e.print()) e.failure().print();
    return e.failure().code();
  } catch (...) {
    const Failure failure = current_failure();
    if (first_rank_reports(world, failure.message)) return failure.code();
    if (world.transport() != nullptr && world.transport()->poisoned().empty())
      world.poison(failure.kind == Failure::Kind::memory ? "has run out of memory"
                                                         : failure.message);
    failure.print();
    return failure.code();
  }
}

/// Runs the program and reports errors. Handles out-of-memory errors even if they occur while
/// another error is being reported.
int run_and_report(int argc, const char* const* argv, World (*connect)()) {
  World world;
  try {
    try {
      world = connect();
      if (!world.first()) silence_stdout();
      const int code = run_commands(world, argc, argv);
      world.leave();
      return code;
    } catch (...) {
      return report_failure(world);
    }
  } catch (const std::bad_alloc&) {
    const Failure failure{Failure::Kind::memory};
    failure.print();
    return failure.code();
  }
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "Weft: computation graphs with autodiff, and transformers, on CPUs", "weft")) {
  app_->set_version_flag("--version", "weft " + std::string(version()));
  app_->require_subcommand(1);
  for (const auto add : kCommands) add(*app_, action_);
}

CommandLine::~CommandLine() = default;

void CommandLine::parse(int argc, const char* const* argv) {
  refuse_empty_values(argc, argv);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) throw;
    throw UsageError(parse_failure(*app_, e));
  }
}

int run_program(int argc, const char* const* argv, World (*connect)()) {
  replace_closed_streams();
  install_sigbus_handler("weft");
  std::set_terminate(handle_terminate);
  // With SIGXFSZ ignored, exceeding the file size limit is a write error, as if the disk were full.
  std::signal(SIGXFSZ, SIG_IGN);
  const int code = run_and_report(argc, argv, connect);
  // A failure to write the last output may be detected only when it is flushed.
  flush_stdout();
  return code == 0 && stdout_failed() ? 1 : code;
}

}  // namespace weft::program
