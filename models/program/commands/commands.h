// The commands of the program `weft`. Each function adds the options of its command to the command
// line and sets `action` to the action of that command, which returns the exit code.
#pragma once

#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/world.h"

namespace CLI {
class App;
}

namespace weft::program {

/// Thrown for an invalid command line. The exit code is 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `make` and rethrows ArgumentErrors as UsageErrors. To be used if all arguments of `make`
/// come from the command line. Errors in files and data propagate unchanged.
template <class Make>
auto rethrow_as_usage(Make&& make) {
  try {
    return make();
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
}

/// The action of a command. An action with a World parameter divides its work among the ranks and
/// is called on all of them. Any other action runs only if there is a single rank.
class Action {
 public:
  Action() = default;
  template <class Do, class = std::enable_if_t<!std::is_same_v<std::decay_t<Do>, Action>>>
  Action(Do what) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_invocable_v<Do, const World&>) {
      what_ = std::move(what);
    } else {
      what_ = [what = std::move(what)](const World& world) {
        refuse(world);
        return what();
      };
    }
  }
  /// Runs the action. Returns the exit code.
  int operator()(const World& world) const { return what_(world); }

 private:
  /// Throws UsageError if there are several ranks. Every rank throws, as with on_all_ranks().
  static void refuse(const World& world);

  std::function<int(const World&)> what_;
};

void add_train_command(CLI::App& app, Action& action);
void add_classify_command(CLI::App& app, Action& action);
void add_tag_command(CLI::App& app, Action& action);
void add_fill_command(CLI::App& app, Action& action);
void add_embed_command(CLI::App& app, Action& action);
void add_answer_command(CLI::App& app, Action& action);
void add_generate_command(CLI::App& app, Action& action);
void add_chat_command(CLI::App& app, Action& action);
void add_score_command(CLI::App& app, Action& action);
void add_translate_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_tokenizer_command(CLI::App& app, Action& action);
void add_quantize_command(CLI::App& app, Action& action);
void add_convert_command(CLI::App& app, Action& action);
void add_merge_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_data_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);
void add_vectors_command(CLI::App& app, Action& action);

}  // namespace weft::program
