#include "weft/models/data/formats/labelled_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/core/error.h"
#include "weft/models/data/rng.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

constexpr std::string_view kSides[] = {"auto", "first", "last"};

/// Returns the trimmed text on each side of the tab at offset `tab`.
std::pair<std::string, std::string> sides(std::string_view line, std::size_t tab) {
  return {std::string(trimmed_line(line.substr(0, tab))),
          std::string(trimmed_line(line.substr(tab + 1)))};
}

}  // namespace

ChoiceNames choice_names(LabelSide) { return {"side of the label", kSides}; }

LabelledText LabelledText::subset(std::span<const std::int64_t> indices) const {
  LabelledText result{{}, {}, names};
  for (const std::int64_t i : indices) {
    result.texts.push_back(texts.at(static_cast<std::size_t>(i)));
    result.labels.push_back(labels.at(static_cast<std::size_t>(i)));
  }
  return result;
}

LabelledText read_labelled_text(std::span<const std::string> paths, LabelSide side) {
  struct Line {
    std::string place;
    /// The line split as (label, text) and as (text, label).
    std::pair<std::string, std::string> first, last;
  };
  std::vector<Line> lines;
  for (const std::string& path : paths) {
    for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
      if (trimmed_line(line).empty()) return;
      const std::string place = fmt::format("{}:{}", path, number);
      const std::size_t tab = line.find('\t');
      if (tab == std::string_view::npos)
        throw FormatError(fmt::format("{}: expected a label and a text separated by a tab", place));
      lines.push_back({place, sides(line, tab), sides(line, line.rfind('\t'))});
    });
  }
  if (side == LabelSide::automatic) {
    std::set<std::string_view> first, last;
    for (const Line& line : lines) {
      first.insert(line.first.first);
      last.insert(line.last.second);
    }
    if (first.size() == last.size() && !lines.empty()) {
      throw FormatError(
          fmt::format("{}: cannot distinguish labels from texts, because both sides have {} "
                      "distinct values: specify the side (--label first or --label last)",
                      lines.front().place, first.size()));
    }
    side = first.size() < last.size() ? LabelSide::first : LabelSide::last;
  }
  LabelledText result;
  std::map<std::string, std::vector<std::size_t>> by_label;
  for (const Line& line : lines) {
    const auto& [label, text] =
        side == LabelSide::first ? line.first : std::pair{line.last.second, line.last.first};
    if (label.empty()) throw FormatError(fmt::format("{}: the label is empty", line.place));
    by_label[label].push_back(result.texts.size());
    result.texts.push_back(text);
  }
  if (by_label.size() < 2) {
    throw FormatError(fmt::format("{}: a classifier needs at least two classes, but there {}",
                                  fmt::join(paths, ", "),
                                  by_label.empty() ? "are no lines" : "is only one"));
  }
  result.labels.resize(result.texts.size());
  for (const auto& [label, indices] : by_label) {
    for (const std::size_t i : indices)
      result.labels[i] = static_cast<std::int32_t>(result.names.size());
    result.names.push_back(label);
  }
  return result;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  for_lines(read_utf8_file(path), [&](std::int64_t, std::string_view line) {
    if (!trimmed_line(line).empty()) lines.emplace_back(trimmed_line(line));
  });
  return lines;
}

namespace {

using ClassMembers = std::map<std::int32_t, std::vector<std::int64_t>>;

/// Returns the classes of which one example is held out although their share rounds to 0. There are
/// such classes only if the shares of all classes round to 0: the test set would be empty. Their
/// number is the fraction of all examples in classes with at least two examples.
std::set<std::int32_t> sampled_small_classes(const ClassMembers& classes, double test_fraction,
                                             std::uint64_t seed) {
  std::vector<std::int32_t> candidates;
  double examples = 0;
  for (const auto& [label, members] : classes) {
    const auto size = static_cast<double>(members.size());
    if (size < 2) continue;
    if (std::round(test_fraction * size) >= 1) return {};
    candidates.push_back(label);
    examples += size;
  }
  if (candidates.empty()) return {};
  Rng(stable_hash("small_classes", seed), 0).shuffle(candidates);
  const auto count = static_cast<std::size_t>(std::max(1.0, std::round(test_fraction * examples)));
  candidates.resize(std::min(count, candidates.size()));
  return {candidates.begin(), candidates.end()};
}

}  // namespace

Split stratified_split(std::span<const std::int32_t> labels, double test_fraction,
                       std::uint64_t seed) {
  if (!(test_fraction > 0 && test_fraction < 1))
    throw ArgumentError(fmt::format("test_fraction must be in (0, 1), not {}", test_fraction));
  ClassMembers classes;
  for (std::size_t i = 0; i < labels.size(); ++i)
    classes[labels[i]].push_back(static_cast<std::int64_t>(i));
  Split split;
  const std::set<std::int32_t> sparse = sampled_small_classes(classes, test_fraction, seed);
  for (auto& [label, members] : classes) {
    Rng(stable_hash("stratified_split", seed), static_cast<std::uint32_t>(label)).shuffle(members);
    // At least one example stays in the training set, because a class that occurs only in the test
    // set cannot be predicted.
    const auto count = static_cast<std::ptrdiff_t>(
        sparse.contains(label)
            ? 1
            : std::min(std::round(test_fraction * static_cast<double>(members.size())),
                       static_cast<double>(members.size()) - 1));
    split.test.insert(split.test.end(), members.begin(), members.begin() + count);
    split.train.insert(split.train.end(), members.begin() + count, members.end());
  }
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.test.begin(), split.test.end());
  return split;
}

}  // namespace weft
