#include "weft/models/program/options/parse_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/closest.h"
#include "weft/core/excerpt.h"

namespace weft::program {
namespace {

/// Returns the innermost command that was parsed and its full name, such as "weft train gpt".
std::pair<const CLI::App*, std::string> innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  std::string name = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return {at, name};
}

}  // namespace

std::string parse_failure(const CLI::App& app, const CLI::ParseError& e) {
  const auto [at, name] = innermost(app);
  // The order in which CLI11 stores unexpected words depends on its version. Words that look like
  // options are reported first, because they are more informative than leftover values.
  std::vector<std::string> unexpected = at->remaining();
  if (unexpected.empty()) unexpected = app.remaining();
  const auto option = std::find_if(unexpected.begin(), unexpected.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
  std::vector<std::string> commands, options;
  for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(sub->get_name());
  for (const CLI::Option* o : at->get_options()) {
    if (!o->get_lnames().empty()) options.push_back("--" + o->get_lnames().front());
  }
  std::string what = e.what();
  if (e.get_name() == "ArgumentMismatch") {  // "--steps: 1 required INTEGER missing"
    const std::string given = what.substr(0, what.find(':'));
    what = what.find("At Most") == std::string::npos
               ? fmt::format("{} needs a value", given)
               : fmt::format("{} is given more than once", given);
  }
  if (option != unexpected.end()) {
    const std::string word = option->substr(0, option->find('='));
    what = fmt::format("{} has no option {}{}", name, excerpt(word), did_you_mean(word, options));
  } else if (!commands.empty() && !unexpected.empty()) {
    what = unknown_name("command", excerpt(unexpected.front()), commands);
  } else if (!commands.empty()) {
    what = fmt::format("{} needs a command: {}", name, list_names(commands));
  } else if (!unexpected.empty()) {
    what = fmt::format("{}: unexpected argument '{}'", name, excerpt(unexpected.front()));
  }
  return fmt::format("{} (see {} --help)", what, name);
}

}  // namespace weft::program
