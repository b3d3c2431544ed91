// weft: trains, runs and looks at models. Exit code 0, 1 for a failed run, 2 for bad usage; errors
// are one line on stderr.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"

int main(int argc, char** argv) {
  using namespace weft::program;
  CLI::App app("Weft: computation graphs with autodiff for CPUs, and transformers on them", "weft");
  app.set_version_flag("--version", "weft 0.1.0");
  app.require_subcommand(1);
  Action action;
  add_train_command(app, action);
  add_classify_command(app, action);
  add_generate_command(app, action);
  add_score_command(app, action);
  add_translate_command(app, action);
  add_inspect_command(app, action);
  add_quantize_command(app, action);
  add_merge_command(app, action);
  add_evaluate_command(app, action);
  add_bench_command(app, action);
  add_run_command(app, action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(e);
    fmt::print(stderr, "weft: {} (see weft --help)\n", one_line(e.what()));
    return 2;
  } catch (const UsageError& e) {
    fmt::print(stderr, "weft: {}\n", one_line(e.what()));
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "weft: {}\n", one_line(e.what()));
    return 1;
  }
}
