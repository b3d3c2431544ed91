#include "weft/serialization/rename.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {
namespace {

constexpr char kStar = '*';

/// Returns the substrings of `name` that the stars of `pattern` match, or nullopt if `name` does
/// not match. Every star but the last matches as few characters as possible.
std::optional<std::vector<std::string>> stars_of(std::string_view pattern, std::string_view name) {
  std::vector<std::string> found;
  std::size_t star = pattern.find(kStar);
  if (!name.starts_with(pattern.substr(0, star))) return std::nullopt;
  name.remove_prefix(star);
  while (true) {
    const std::size_t next = pattern.find(kStar, star + 1);
    const std::string_view literal = pattern.substr(star + 1, next - star - 1);
    const bool last = next == std::string_view::npos;
    const std::size_t end =
        last ? name.size() - std::min(name.size(), literal.size()) : name.find(literal);
    if (end == std::string_view::npos || (last && !name.ends_with(literal))) return std::nullopt;
    found.emplace_back(name.substr(0, end));
    if (last) return found;
    name.remove_prefix(end + literal.size());
    star = next;
  }
}

std::optional<std::string> apply(const std::pair<std::string, std::string>& rule,
                                 const std::string& name) {
  const auto& [from, to] = rule;
  if (from.find(kStar) == std::string::npos) {
    if (!name.starts_with(from)) return std::nullopt;
    return to + name.substr(from.size());
  }
  const auto stars = stars_of(from, name);
  if (!stars) return std::nullopt;
  std::string result;
  std::size_t next = 0;
  for (const char c : to) {
    if (c == kStar) {
      result += (*stars)[next++];
    } else {
      result += c;
    }
  }
  return result;
}

void check_stars(const std::pair<std::string, std::string>& rule) {
  const auto stars = [](const std::string& text) {
    return std::count(text.begin(), text.end(), kStar);
  };
  if (stars(rule.second) > stars(rule.first)) {
    throw ArgumentError(fmt::format(
        "rename {{\"{}\", \"{}\"}}: the new name has {} stars, but the old name has {}: "
        "each star of the new name needs a star of the old name",
        rule.first, rule.second, stars(rule.second), stars(rule.first)));
  }
}

}  // namespace

std::string renamed(const RenameRules& rules, const std::string& name, std::size_t* used) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    check_stars(rules[i]);
    if (auto result = apply(rules[i], name)) {
      if (used != nullptr) *used = i;
      return *std::move(result);
    }
  }
  return name;
}

RenamedTensors renamed(const RenameRules& rules, const TensorMap& tensors) {
  RenamedTensors result;
  std::set<std::size_t> used;
  for (const auto& [name, tensor] : tensors) {
    std::size_t rule = rules.size();
    const std::string to = renamed(rules, name, &rule);
    used.insert(rule);
    const auto [other, added] = result.emplace(to, RenamedTensor{name, tensor});
    if (!added) {
      throw ArgumentError(fmt::format("rename: both '{}' and '{}' would be renamed to '{}'",
                                      other->second.file_name, name, to));
    }
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (used.contains(i)) continue;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) names.push_back(name);
    throw ArgumentError(
        fmt::format("rename {{\"{}\", \"{}\"}} matches no tensor; the tensors are: {}",
                    rules[i].first, rules[i].second, list_names(names)));
  }
  return result;
}

}  // namespace weft
