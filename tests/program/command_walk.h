// Goes over every command of the program and every option of each, as the command line itself knows
// them: a new one is covered at once.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "weft/models/program/options.h"
#include "weft/models/program/program.h"

namespace weft::program {

/// An option of a command.
struct WalkedOption {
  std::string name;  // "--steps"; "file" of an argument in its place
  std::string type;  // "INTEGER[1, 64]"; "FLAG"
  bool required = false;
  bool positional = false;
  bool repeatable = false;

  bool is(const char* kind) const { return type.starts_with(kind); }
};

/// A command that does something: "train gpt".
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

/// What the program says about these arguments; empty where it would run.
inline std::string refused(const std::vector<std::string>& arguments) {
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

/// Legal values of all arguments that a command asks for, but `besides`: they name nothing.
inline std::vector<std::string> required_arguments(const WalkedCommand& command,
                                                   const std::string& besides = {}) {
  std::vector<std::string> arguments = command.words;
  for (const WalkedOption& option : command.options) {
    if (!option.required || option.name == besides) continue;
    if (!option.positional) arguments.push_back(option.name);
    arguments.emplace_back("nothing");
  }
  return arguments;
}

}  // namespace weft::program
