// Checks of the documentation: code on pages is compiled, links and paths exist, and pages are
// short. Pages are all .md files: in the root folder, in docs/ and next to the code.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "weft/models/text/corpus/text_file.h"

namespace {

namespace fs = std::filesystem;
using weft::read_utf8_file;

const fs::path kRoot = WEFT_SOURCE_DIR;

/// Returns the files with this extension in the source tree, sorted. Build folders and fixtures are
/// skipped.
std::vector<fs::path> files(const std::string& ending, const fs::path& folder = kRoot) {
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator i(folder), end; i != end; ++i) {
    const std::string name = i->path().filename().string();
    if (i->is_directory() &&
        (name.starts_with("build") || name.starts_with(".") || name == "fixtures"))
      i.disable_recursion_pending();
    if (i->is_regular_file() && i->path().extension() == ending) found.push_back(i->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string name_of(const fs::path& path) { return fs::relative(path, kRoot).string(); }

std::vector<std::string> lines_of(const fs::path& path) {
  std::istringstream text(read_utf8_file(path.string()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Returns `text` without white space, because pages and sources have different line breaks.
std::string packed(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

/// Returns the fenced code blocks in this language on a page.
std::vector<std::string> blocks(const fs::path& page, const std::string& language) {
  std::vector<std::string> found;
  bool inside = false;
  for (const std::string& line : lines_of(page)) {
    if (!inside && line == "```" + language) {
      found.emplace_back();
      inside = true;
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      found.back() += line + "\n";
    }
  }
  return found;
}

/// Returns the code spans in a line.
std::vector<std::string> spans(const std::string& line) {
  static const std::regex kSpan("`([^`]+)`");
  std::vector<std::string> found;
  for (std::sregex_iterator i(line.begin(), line.end(), kSpan), end; i != end; ++i)
    found.push_back((*i)[1]);
  return found;
}

/// Returns true if `name` is a path relative to the page's folder or to a folder above it.
bool exists_from(const fs::path& page, const std::string& name) {
  for (fs::path folder = page.parent_path();; folder = folder.parent_path()) {
    if (fs::exists(folder / name)) return true;
    if (folder == kRoot) return false;
  }
}

BOOST_AUTO_TEST_SUITE(pages)

BOOST_AUTO_TEST_CASE(every_cpp_block_is_part_of_a_compiled_source) {
  std::vector<std::string> sources;
  for (const fs::path& source : files(".cc", kRoot / "tests"))
    sources.push_back(packed(read_utf8_file(source.string())));
  std::size_t count = 0;
  for (const fs::path& page : files(".md")) {
    for (const std::string& block : blocks(page, "cpp")) {
      ++count;
      const bool known = std::any_of(sources.begin(), sources.end(), [&](const std::string& text) {
        return text.find(packed(block)) != std::string::npos;
      });
      BOOST_TEST(known, name_of(page)
                            << " has a C++ block that is in no source below tests/ (add it "
                               "to one of tests/pages):\n"
                            << block);
    }
  }
  BOOST_TEST(count > 20u);
}

BOOST_AUTO_TEST_CASE(every_idiom_for_users_of_other_frameworks_is_executed) {
  std::string source;
  for (const fs::path& file : files(".cc", kRoot / "tests/pages"))
    source += packed(read_utf8_file(file.string()));
  std::size_t count = 0;
  for (const fs::path& page : files(".md")) {
    bool inside = false;
    for (const std::string& line : lines_of(page)) {
      if (!line.starts_with("|")) inside = false;
      if (line.ends_with("| Weft |")) inside = true;
      if (!inside || line.ends_with("| Weft |") || line.find("| --- |") == 0) continue;
      const std::size_t cell = line.rfind(" | ");
      for (const std::string& code : spans(line.substr(cell))) {
        ++count;
        BOOST_TEST((source.find(packed(code)) != std::string::npos),
                   name_of(page) << ": `" << code << "` is in no source of tests/pages");
      }
    }
  }
  BOOST_TEST(count > 80u);
}

BOOST_AUTO_TEST_CASE(the_first_program_is_complete_and_short) {
  const std::string program = read_utf8_file((kRoot / "tests/examples/first_program.cc").string());
  const std::string readme = read_utf8_file((kRoot / "README.md").string());
  BOOST_TEST((readme.find("```cpp\n" + program + "```") != std::string::npos),
             "README.md has no block that is equal to tests/examples/first_program.cc");
  BOOST_TEST(std::count(program.begin(), program.end(), '\n') <= 40);
}

BOOST_AUTO_TEST_CASE(examples_are_short_and_begin_with_a_comment) {
  std::size_t count = 0;
  for (const fs::path& example : files(".cc", kRoot / "tests/examples")) {
    const std::vector<std::string> lines = lines_of(example);
    ++count;
    BOOST_TEST(lines.size() < 110u, name_of(example) << " has " << lines.size() << " lines");
    BOOST_TEST(lines.front().starts_with("// "), name_of(example));
  }
  BOOST_TEST(count >= 5u);
}

BOOST_AUTO_TEST_CASE(pages_are_short) {
  // Tables of measurements and the list of functions are reference material, so they may be long.
  const std::set<std::string> long_ones = {"docs/zoo.md"};
  for (const fs::path& page : files(".md")) {
    if (long_ones.count(name_of(page)) != 0) continue;
    const std::size_t count = lines_of(page).size();
    BOOST_TEST(count < 200u, name_of(page) << " has " << count << " lines: split it by task");
  }
}

BOOST_AUTO_TEST_CASE(links_and_paths_on_pages_exist) {
  static const std::regex kLink(R"(\]\(([^)#:]+)\))");
  static const std::regex kPath(R"([\w.-]+(/[\w.-]+)+\.(h|cc|md|cmake|py|proto))");
  for (const fs::path& page : files(".md")) {
    bool code = false;
    for (const std::string& line : lines_of(page)) {
      if (line.starts_with("```")) code = !code;
      if (code) continue;
      for (std::sregex_iterator i(line.begin(), line.end(), kLink), end; i != end; ++i)
        BOOST_TEST(fs::exists(page.parent_path() / (*i)[1].str()),
                   name_of(page) << ": broken link: " << (*i)[1]);
      for (std::string span : spans(line)) {
        if (!std::regex_match(span, kPath)) continue;
        // The umbrella header of an installation is models/weft.h.
        if (span == "weft/weft.h") span = "models/weft.h";
        if (span.starts_with("weft/")) span = span.substr(5);
        // The installed headers weft/testing/ are in this folder.
        if (span.starts_with("testing/")) span.replace(0, 7, "testing_lib");
        BOOST_TEST((exists_from(page, span) || exists_from(page, "tests/" + span)),
                   name_of(page) << ": no such file: " << span);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
