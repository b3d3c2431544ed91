#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "attacks.h"
#include "mutate.h"

namespace weft::attack {
namespace {

using Ids = std::vector<std::int64_t>;

Ids parse_ids(const std::string& text) {
  std::istringstream in(text);
  Ids ids;
  for (std::int64_t id = 0; in >> id;) ids.push_back(id);
  return ids;
}

/// An option with a random value, and a function that returns how its effect is missing from a
/// sequence that starts with a prompt of `start` ids. An empty result means that it is present.
struct Option {
  Arguments arguments;
  std::string (*missing)(const Ids& sequence, std::size_t start, std::int64_t a, std::int64_t b);
  std::int64_t a, b;
};

Option random_option(Random& random) {
  constexpr std::int64_t kIds = 20;
  const auto up_to = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random_up_to(random, most));
  };
  const std::int64_t a = up_to(16), b = up_to(kIds);
  switch (up_to(4)) {
    case 0:
      return {{"--force", fmt::format("{}:{}", a, b)},
              [](const Ids& ids, std::size_t start, std::int64_t at, std::int64_t id) {
                const auto i = static_cast<std::size_t>(at);
                const bool forced = i >= start && i < ids.size() && ids[i] == id;
                return std::string(forced ? "" : "the id is not at its position");
              },
              a,
              b};
    case 1:
      return {{"--forbid-ids", std::to_string(b)},
              [](const Ids& ids, std::size_t start, std::int64_t, std::int64_t id) {
                const bool found =
                    std::count(ids.begin() + static_cast<std::ptrdiff_t>(start), ids.end(), id) > 0;
                return std::string(found ? "the id was generated" : "");
              },
              a,
              b};
    case 2:
      return {{"--no-repeat-ngram", std::to_string(a + 1)},
              [](const Ids& ids, std::size_t start, std::int64_t n, std::int64_t) {
                std::set<Ids> seen;
                const auto size = static_cast<std::size_t>(n + 1);
                for (std::size_t i = 0; i + size <= ids.size(); ++i) {
                  const auto at = ids.begin() + static_cast<std::ptrdiff_t>(i);
                  const bool repeats = !seen.insert(Ids(at, at + n + 1)).second;
                  if (repeats && i + size > start) return std::string("it occurs twice");
                }
                return std::string();
              },
              a,
              b};
    case 3:
      return {{"--stop-ids", std::to_string(b)},
              [](const Ids& ids, std::size_t start, std::int64_t, std::int64_t id) {
                const auto found =
                    std::find(ids.begin() + static_cast<std::ptrdiff_t>(start), ids.end(), id);
                const bool ends = found == ids.end() || found + 1 == ids.end();
                return std::string(ends ? "" : "ids follow the stop id");
              },
              a,
              b};
    default:
      return {{"--min-tokens", std::to_string(a), "--stop-ids", std::to_string(b)},
              [](const Ids& ids, std::size_t start, std::int64_t least, std::int64_t) {
                const bool enough = static_cast<std::int64_t>(ids.size() - start) >= least;
                return std::string(enough ? "" : "there are fewer ids");
              },
              a,
              b};
  }
}

}  // namespace

void attack_options(const Workspace& w, const Budget& budget, Report& report) {
  Random random(budget.seed);
  const Clock clock(budget.seconds);
  while (!clock.over()) {
    Ids prompt(1 + random_up_to(random, 5));
    for (std::int64_t& id : prompt) id = static_cast<std::int64_t>(random_up_to(random, 20));
    Arguments arguments = {"generate",
                           w.path("gpt.weft"),
                           "--ids",
                           "--prompt-ids",
                           fmt::format("{}", fmt::join(prompt, " ")),
                           "--tokens",
                           std::to_string(1 + random_up_to(random, 9))};
    const bool beams = random_up_to(random, 2) == 0;
    if (beams) arguments.insert(arguments.end(), {"--beams", "2"});
    if (!beams && random_up_to(random, 1) == 0) arguments.emplace_back("--greedy");
    const Option option = random_option(random);
    arguments.insert(arguments.end(), option.arguments.begin(), option.arguments.end());
    const Outcome outcome = w.program()(arguments);
    report.count_run();
    if (const std::string what = find_violation(outcome); !what.empty()) {
      report.add_finding("an option of text generation: " + what, arguments, outcome);
      continue;
    }
    if (outcome.code != 0) continue;  // rejected
    const std::string what =
        option.missing(parse_ids(outcome.out), prompt.size(), option.a, option.b);
    if (!what.empty()) {
      report.add_finding(fmt::format("{} has no effect: {}", option.arguments[0], what), arguments,
                         outcome);
    }
  }
}

}  // namespace weft::attack
