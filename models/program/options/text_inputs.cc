#include "weft/models/program/options/text_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "weft/core/world/text_list.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/serialization/files/standard_input.h"

namespace weft::program {
namespace {

constexpr const char* kStdin = "-";

}  // namespace

void TextInputs::add(OptionList& options, const std::string& name, const std::string& what) {
  name_ = name;
  options.texts(name, texts_, OptionList::Times::list, what);
  options.input(
      "--input", file_,
      "file with one input per line (- is stdin; stdin is also read if no inputs are given)");
}

std::vector<std::string> TextInputs::read() const {
  if (!texts_.empty() && !file_.empty())
    throw UsageError(fmt::format("give either {} as arguments or --input FILE, not both", name_));
  if (!texts_.empty()) return texts_;
  const bool from_stdin = reads_stdin();
  std::vector<std::string> lines;
  if (!from_stdin || !file_.empty() || isatty(STDIN_FILENO) == 0)
    lines = read_lines(from_stdin ? kStdin : file_);
  if (lines.empty() && !from_stdin) throw DataError(fmt::format("{} contains no text", file_));
  if (lines.empty()) {
    throw UsageError(fmt::format(
        "no input: give {} as arguments, or --input FILE with one per line (- is stdin)", name_));
  }
  return lines;
}

std::vector<std::string> TextInputs::read(const World& world) const {
  return texts_of_first(world, [&] { return read(); });
}

bool TextInputs::reads_stdin() const {
  return texts_.empty() && (file_.empty() || file_ == kStdin);
}

PlaceOf lines_in(const std::string& file) {
  return [name = file.empty() || file == kStdin ? "stdin" : file](std::size_t text) {
    return fmt::format("{}, line {}", name, text + 1);
  };
}

std::string TextInputs::place(std::size_t text) const {
  if (many()) return lines_in(file_)(text);
  return texts_.size() == 1 ? "the text" : fmt::format("text {}", text + 1);
}

void TruncateOption::add(OptionList& options, const std::string& part) {
  options.flag("--truncate", given_,
               fmt::format("truncate texts longer than the model's context by cutting off {}, and "
                           "list the truncated texts (default: such texts are an error)",
                           part));
}

OnCut TruncateOption::on_cut() {
  if (!given_) return {};
  return [this](const CutText& cut) { cut_.push_back(cut); };
}

void TruncateOption::report(const PlaceOf& place, std::string_view part) const {
  if (cut_.empty() || is_silent()) return;
  constexpr std::size_t kMost = 3;
  std::vector<std::string> texts;
  for (const CutText& cut : cut_) {
    if (texts.size() == kMost) break;
    const std::string_view kept = cut.side == TextEnd::left ? "the last" : part;
    texts.push_back(fmt::format("{}: {}{}{} of {} tokens", place(cut.text), kept,
                                kept.empty() ? "" : " ", cut.kept, cut.tokens));
  }
  if (cut_.size() > kMost) texts.push_back(fmt::format("and {} more", cut_.size() - kMost));
  flush_stdout();
  print_stderr("truncated to the model's context: {}\n", fmt::join(texts, "; "));
}

std::vector<std::string> read_lines(const std::string& file) {
  if (file != kStdin) return lines_of(read_utf8_file(file));
  return lines_of(checked_utf8(read_standard_input(), "stdin"));
}

std::vector<std::string> texts_of_first(const World& world,
                                        FunctionRef<std::vector<std::string>()> read) {
  if (world.size() == 1) return read();
  return split_texts(from_first(world, [&] {
    std::string list;
    for (const std::string& text : read()) append_text(list, text);
    return list;
  }));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for_lines(text, [&](std::int64_t, std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  });
  return lines;
}

std::string counted(std::int64_t count, std::string_view unit) {
  return fmt::format("{} {}", grouped(count), count == 1 ? unit.substr(0, unit.size() - 1) : unit);
}

void SpeedReport::done(std::string_view unit, std::int64_t texts, std::int64_t tokens) const {
  if (is_silent()) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const auto rate = [&](std::int64_t count) {
    return short_number(static_cast<double>(count) / std::max(seconds, 1e-9));
  };
  const std::string of_tokens = tokens == 0 ? "" : ", " + counted(tokens, "tokens");
  flush_stdout();
  print_stderr("{}{} in {:.2f} s: {} {}/s{}\n", counted(texts, unit), of_tokens, seconds,
               rate(texts), unit, tokens == 0 ? "" : fmt::format(", {} tokens/s", rate(tokens)));
}

}  // namespace weft::program
