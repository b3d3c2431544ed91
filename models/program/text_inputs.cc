#include "weft/models/program/text_inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>

#include "weft/models/data/lines.h"
#include "weft/models/data/text.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"

namespace weft::program {
namespace {

constexpr const char* kStdin = "-";

std::string read_stdin() {
  return checked_utf8(std::string(std::istreambuf_iterator<char>(std::cin), {}), "stdin");
}

}  // namespace

void TextInputs::add(OptionList& options, const std::string& name, const std::string& what) {
  name_ = name;
  options.texts(name, texts_, OptionList::Times::list, what);
  options.input("--input", file_,
                "file with one of them on each line; - is stdin, which is read where nothing is "
                "given");
}

std::vector<std::string> TextInputs::read() const {
  if (!texts_.empty() && !file_.empty())
    throw UsageError(fmt::format("give {} as arguments, or --input FILE, not both", name_));
  if (!texts_.empty()) return texts_;
  const bool from_stdin = file_.empty() || file_ == kStdin;
  std::vector<std::string> lines;
  if (!from_stdin) {
    lines = lines_of(read_utf8_file(file_));
  } else if (!file_.empty() || isatty(STDIN_FILENO) == 0) {
    lines = lines_of(read_stdin());
  }
  if (lines.empty()) {
    throw UsageError(
        fmt::format("{}: give {} as arguments, or --input FILE with one on each line (- is stdin)",
                    from_stdin ? "there is nothing to read" : file_ + " is empty", name_));
  }
  return lines;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for_lines(text, [&](std::int64_t, std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  });
  return lines;
}

void SpeedReport::done(std::string_view unit, std::int64_t texts, std::int64_t tokens) const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const auto rate = [&](std::int64_t count) {
    return short_number(static_cast<double>(count) / std::max(seconds, 1e-9));
  };
  const std::string of_tokens = tokens == 0 ? "" : fmt::format(", {} tokens", grouped(tokens));
  flush_stdout();
  fmt::print(stderr, "{} {}{} in {:.2f} s: {} {}/s{}\n", grouped(texts), unit, of_tokens, seconds,
             rate(texts), unit, tokens == 0 ? "" : fmt::format(", {} tokens/s", rate(tokens)));
}

}  // namespace weft::program
