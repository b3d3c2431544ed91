#include "weft/models/program/program.h"

#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weft/core/lost_files.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/serialization/excerpt.h"

namespace weft::program {
namespace {

/// "--out=" would take the next argument as its value: in a script it is a variable that is unset.
void refuse_empty_values(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    if (argument.size() > 3 && argument.starts_with("--") &&
        argument.find('=') == argument.size() - 1) {
      throw UsageError(
          fmt::format("{} is empty (an unset variable of the shell?)", excerpt(argument)));
    }
  }
}

int fail(int code, const std::string& message) {
  fmt::print(stderr, "weft: {}\n", one_line(message));
  return code;
}

int run_commands(int argc, const char* const* argv) {
  constexpr const char* kNoMemory =
      "there is not enough memory for this: smaller sizes (--batch, --context, --width, --beams) "
      "and, in training, a --memory-budget take less";
  CommandLine line;
  try {
    line.parse(argc, argv);
    return line.run();
  } catch (const CLI::ParseError& e) {  // --help, --version
    std::ostringstream out;
    const int code = line.app().exit(e, out, out);
    write_stdout(out.str());
    return code;
  } catch (const UsageError& e) {
    return fail(2, e.what());
  } catch (const std::bad_alloc&) {
    return fail(1, kNoMemory);
  } catch (const std::length_error&) {
    return fail(1, kNoMemory);  // of a container: more than any machine has
  } catch (const std::exception& e) {
    return fail(1, e.what());
  }
}

}  // namespace

CommandLine::CommandLine()
    : app_("Weft: computation graphs with autodiff for CPUs, and transformers on them", "weft") {
  app_.set_version_flag("--version", "weft 0.1.0");
  app_.require_subcommand(1);
  add_train_command(app_, action_);
  add_classify_command(app_, action_);
  add_generate_command(app_, action_);
  add_score_command(app_, action_);
  add_translate_command(app_, action_);
  add_inspect_command(app_, action_);
  add_quantize_command(app_, action_);
  add_merge_command(app_, action_);
  add_evaluate_command(app_, action_);
  add_bench_command(app_, action_);
  add_run_command(app_, action_);
  add_verify_command(app_, action_);
}

void CommandLine::parse(int argc, const char* const* argv) {
  refuse_empty_values(argc, argv);
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) throw;
    throw UsageError(std::string(e.what()) + " (see weft --help)");
  }
}

int run_program(int argc, const char* const* argv) {
  explain_lost_files("weft");
  // A file that grows beyond its limit is an error of write(), as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  const int code = run_commands(argc, argv);
  // What was said last may only fail to be written now.
  flush_stdout();
  return code == 0 && stdout_failed() ? 1 : code;
}

}  // namespace weft::program
