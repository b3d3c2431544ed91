// Commands in the documentation use existing options, and complete command lines are valid.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "command_walk.h"
#include "weft/serialization/files/read_file.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

struct ShownCommand {
  std::string page;
  std::string text;    // "weft train gpt --text FILE"
  bool block = false;  // in a code block, so it may be a complete command line
};

std::vector<fs::path> pages() {
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator i(WEFT_SOURCE_DIR), end; i != end; ++i) {
    const std::string name = i->path().filename().string();
    if (i->is_directory() && (name.starts_with("build") || name.starts_with(".")))
      i.disable_recursion_pending();
    if (i->is_regular_file() && i->path().extension() == ".md") found.push_back(i->path());
  }
  return found;
}

/// Removes redirections, pipes, subsequent commands and comments from a command line.
std::string without_shell(const std::string& line) {
  return std::regex_replace(line, std::regex(R"(( (#|\|\||&&|>|2>|<|;| \|) .*|   +[^\s\[-].*)$)"),
                            "");
}

std::vector<ShownCommand> shown_commands() {
  static const std::regex kCommand(R"(^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:build/)?(weft [a-z].*)$)");
  static const std::regex kSpan("`(weft [a-z][^`]*)`");
  std::vector<ShownCommand> found;
  for (const fs::path& page : pages()) {
    std::istringstream text(read_whole_file(page.string()));
    const std::string name = fs::relative(page, WEFT_SOURCE_DIR).string();
    bool block = false, more = false;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("```")) block = !block;
      std::smatch match;
      const bool indented = line.starts_with("    ");
      // "weft text 1" is not a command but the first line of the text format for graphs.
      if ((block || indented) && line != "weft text 1" && std::regex_match(line, match, kCommand)) {
        found.push_back({name, without_shell(match[1]), true});
        more = true;
      } else if (more && indented && line.find_first_of("-[") == line.find_first_not_of(' ')) {
        found.back().text += " " + without_shell(line);
      } else {
        more = false;
      }
      if (more && found.back().text.ends_with("\\")) found.back().text.pop_back();
      for (std::sregex_iterator i(line.begin(), line.end(), kSpan), end; i != end; ++i)
        if (!block) found.push_back({name, (*i)[1], false});
    }
  }
  return found;
}

std::vector<std::string> split_at(const std::string& text, char by) {
  std::istringstream in(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in, part, by);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// Splits the text into arguments as a shell would.
std::vector<std::string> arguments_of(const std::string& text) {
  std::vector<std::string> arguments;
  std::string now;
  bool open = false, some = false;
  for (const char c : text) {
    if (c == '"') {
      open = !open;
      some = true;
    } else if (c == ' ' && !open) {
      if (some || !now.empty()) arguments.push_back(now);
      now.clear();
      some = false;
    } else {
      now += c;
    }
  }
  if (some || !now.empty()) arguments.push_back(now);
  arguments.erase(arguments.begin());  // "weft"
  return arguments;
}

/// Returns the commands to which the leading words can refer, as in "train encoder|vit", "train
/// FAMILY" or "train".
std::vector<WalkedCommand> candidates(const std::vector<WalkedCommand>& all,
                                      const std::string& text) {
  std::vector<WalkedCommand> commands = all;
  const std::vector<std::string> words = split_at(text, ' ');
  for (std::size_t place = 0; place + 1 < words.size(); ++place) {
    const std::vector<std::string> choices = split_at(words[place + 1], '|');
    std::vector<WalkedCommand> fitting;
    for (const WalkedCommand& command : commands)
      if (place < command.words.size() &&
          std::count(choices.begin(), choices.end(), command.words[place]) != 0)
        fitting.push_back(command);
    if (fitting.empty()) break;
    commands = fitting;
  }
  return commands;
}

BOOST_AUTO_TEST_SUITE(pages_of_commands)

BOOST_AUTO_TEST_CASE(every_documented_option_belongs_to_its_command) {
  static const std::regex kOption(R"((^|[ \[|])(--[a-z][a-z0-9-]*))");
  const std::vector<WalkedCommand> all = all_commands();
  std::size_t count = 0;
  for (const ShownCommand& shown : shown_commands()) {
    const std::vector<WalkedCommand> commands = candidates(all, shown.text);
    BOOST_TEST(commands.size() < all.size(), shown.page << ": no such command: " << shown.text);
    for (std::sregex_iterator i(shown.text.begin(), shown.text.end(), kOption), end; i != end;
         ++i) {
      const std::string name = (*i)[2];
      if (name == "--help") continue;
      ++count;
      const bool known = std::any_of(commands.begin(), commands.end(), [&](const auto& command) {
        return std::any_of(command.options.begin(), command.options.end(), [&](const auto& option) {
          return option.name == name || "--no-" + option.name.substr(2) == name;
        });
      });
      BOOST_TEST(known, shown.page << ": " << name << " is not an option: " << shown.text);
    }
  }
  BOOST_TEST(count > 300u);
}

BOOST_AUTO_TEST_CASE(every_complete_documented_command_is_valid) {
  std::size_t count = 0;
  for (const ShownCommand& shown : shown_commands()) {
    const std::string& text = shown.text;
    if (!shown.block || text.find_first_of("[|$*{") != std::string::npos ||
        text.find("...") != std::string::npos || text.find("--help") != std::string::npos ||
        std::regex_search(text, std::regex(" [A-Z]+( |$)")))  // "--model MODEL"
      continue;
    ++count;
    BOOST_TEST(usage_error(arguments_of(text)) == "",
               shown.page << ": " << text << "\n  " << usage_error(arguments_of(text)));
  }
  BOOST_TEST_MESSAGE(count << " complete commands are valid");
  BOOST_TEST(count > 5u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::program
