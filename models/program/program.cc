#include "weft/models/program/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weft/core/excerpt.h"
#include "weft/core/lost_files.h"
#include "weft/core/version.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/program/parse_failure.h"

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

/// Messages hold names from files, which may have any length, and lists of them.
constexpr std::size_t kMaxShown = 4000;

int fail(int code, const std::string& message) {
  say_aside("weft: {}\n", excerpt(one_line(message), kMaxShown));
  return code;
}

/// Takes no memory itself.
int fail_without_memory() {
  std::fputs(
      "weft: there is not enough memory for this: smaller sizes (--batch, --context, --width, "
      "--beams) and, in training, a --memory-budget take less\n",
      stderr);
  return 1;
}

/// Where memory runs out while an error is on its way, in a destructor say, there is nobody left
/// who could catch it.
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::_Exit(fail_without_memory());
  } catch (...) {  // a mistake of ours
  }
  std::abort();
}

int run_commands(int argc, const char* const* argv) {
  CommandLine line;
  try {
    line.parse(argc, argv);
    return line.run();
  } catch (const CLI::ParseError& e) {  // --help, --version
    std::ostringstream out;
    const int code = line.app().exit(e, out, out);
    write_stdout(out.str());
    return code;
  }
}

/// Memory may run out anywhere, also in what says what else is wrong.
int run_or_explain(int argc, const char* const* argv) {
  try {
    try {
      return run_commands(argc, argv);
    } catch (const UsageError& e) {
      return fail(2, e.what());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::length_error&) {
      return fail_without_memory();  // of a container: more than any machine has
    } catch (const std::exception& e) {
      return fail(1, e.what());
    }
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  }
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "Weft: computation graphs with autodiff for CPUs, and transformers on them", "weft")) {
  app_->set_version_flag("--version", "weft " + std::string(version()));
  app_->require_subcommand(1);
  add_train_command(*app_, action_);
  add_classify_command(*app_, action_);
  add_tag_command(*app_, action_);
  add_fill_command(*app_, action_);
  add_embed_command(*app_, action_);
  add_vectors_command(*app_, action_);
  add_answer_command(*app_, action_);
  add_generate_command(*app_, action_);
  add_chat_command(*app_, action_);
  add_score_command(*app_, action_);
  add_translate_command(*app_, action_);
  add_inspect_command(*app_, action_);
  add_tokenizer_command(*app_, action_);
  add_quantize_command(*app_, action_);
  add_convert_command(*app_, action_);
  add_merge_command(*app_, action_);
  add_evaluate_command(*app_, action_);
  add_bench_command(*app_, action_);
  add_run_command(*app_, action_);
  add_data_command(*app_, action_);
  add_verify_command(*app_, action_);
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

int run_program(int argc, const char* const* argv) {
  fill_standard_streams();
  explain_lost_files("weft");
  std::set_terminate(end_without_memory);
  // A file that grows beyond its limit is an error of write(), as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  const int code = run_or_explain(argc, argv);
  // What was said last may only fail to be written now.
  flush_stdout();
  return code == 0 && stdout_failed() ? 1 : code;
}

}  // namespace weft::program
