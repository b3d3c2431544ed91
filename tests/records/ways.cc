#include "weft/tests/records/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft::testing {

std::string compare_ways(const SessionCase& built, Draw& draw) {
  const Guard guard = draw.pick(std::array{Guard::behind, Guard::before});
  const Outcome expected = built.run({.threads = 1, .passes = false, .verify = true}, guard);
  if (expected.error_kind == "StateError") return "";  // there is not so much memory
  const auto check = [&](const char* way, const SessionOptions& options) -> std::string {
    const Outcome actual = built.run(options, guard);
    // Where several nodes fail, passes may change which of them is first.
    if (options.passes && expected.failed() && actual.error_kind == expected.error_kind) return "";
    const std::string wrong =
        difference(actual, expected.core(), options.passes ? Bits::same_but_nans : Bits::same);
    return wrong.empty() ? "" : fmt::format("{}: {}", way, wrong);
  };
  std::string wrong =
      check("poisoned and shuffled, without passes",
            {.threads = 1, .passes = false, .verify = true, .poison = true, .shuffle_seed = 7});
  if (!wrong.empty()) return wrong;
  wrong = check("with passes", {.threads = 1,
                                .prepack = draw.one_in(2),
                                .verify = true,
                                .poison = draw.one_in(2),
                                .shuffle_seed = draw.bits() | 1});
  if (!wrong.empty() || expected.failed()) return wrong;
  const std::size_t arena = built.plan({.threads = 1})->arena_bytes;
  if (arena == 0) return "";
  SessionOptions tight{.threads = 1, .verify = true, .poison = draw.one_in(2)};
  tight.memory_budget = std::max<std::size_t>(arena * 2 / 3, 1);
  const Outcome actual = built.run(tight, guard);
  if (actual.error_kind == "ArgumentError") return "";  // no plan needs so little
  wrong = difference(actual, expected, Bits::same_but_nans);
  return wrong.empty() ? "" : "under a memory budget: " + wrong;
}

}  // namespace weft::testing
