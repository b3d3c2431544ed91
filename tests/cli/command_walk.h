// Enumerates all commands of the program and their options. The list is read from the command line
// definition itself, so new commands and options are covered immediately.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "weft/models/program/options/options.h"
#include "weft/models/program/program.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {

/// An option of a command.
struct WalkedOption {
  std::string name;  // "--steps", or "file" for a positional argument
  std::string type;  // "INTEGER[1, 64]", "FLAG"
  bool required = false;
  bool positional = false;
  bool repeatable = false;

  bool is(const char* kind) const { return type.starts_with(kind); }
};

/// A command without subcommands, such as "train gpt".
struct WalkedCommand {
  std::string name;
  std::vector<std::string> words;  // {"train", "gpt"}
  std::vector<WalkedOption> options;
};

inline void walk(const CLI::App& app, const std::vector<std::string>& words,
                 std::vector<WalkedCommand>& found) {
  const auto parts = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* part : parts) {
    std::vector<std::string> longer = words;
    longer.push_back(part->get_name());
    walk(*part, longer, found);
  }
  if (!parts.empty()) return;
  WalkedCommand command{"", words, {}};
  for (const std::string& word : words) command.name += (command.name.empty() ? "" : " ") + word;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    const bool flag = option->get_items_expected_max() == 0;
    command.options.push_back(
        {option->get_name(), flag ? "FLAG" : option->get_type_name(), option->get_required(),
         !option->get_name().starts_with("-"),
         option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll});
  }
  found.push_back(std::move(command));
}

inline std::vector<WalkedCommand> all_commands() {
  const CommandLine line;
  std::vector<WalkedCommand> found;
  walk(line.app(), {}, found);
  return found;
}

/// Returns the usage error for these arguments, or an empty string if the command would run.
inline std::string usage_error(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"weft"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  CommandLine line;
  try {
    line.parse(static_cast<int>(argv.size()), argv.data());
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

/// Returns the words of the command and valid values for all required arguments except `omitted`.
/// File arguments name files that do not exist.
inline std::vector<std::string> required_arguments(const WalkedCommand& command,
                                                   const std::string& omitted = {}) {
  std::vector<std::string> arguments = command.words;
  for (const WalkedOption& option : command.options) {
    if (!option.required || option.name == omitted) continue;
    if (!option.positional) arguments.push_back(option.name);
    arguments.emplace_back("nothing");
  }
  return arguments;
}

}  // namespace weft::program
