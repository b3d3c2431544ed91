// The action that a command performs after its options have been parsed.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "weft/core/world/world.h"

namespace weft::program {

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

}  // namespace weft::program
