#include "weft/core/closest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weft {
namespace {

// True if one name is the other with a scope prefix.
bool same_without_scope(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  return !b.empty() && a.size() > b.size() && a.ends_with(b) && a[a.size() - b.size() - 1] == '.';
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the dynamic-programming table of distances between prefixes of a and b: the row
  // before the previous one, the previous row, and the current row.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string closest_name(std::string_view name, const std::vector<std::string>& known) {
  // Limits the quadratic running time; real names are shorter.
  constexpr std::size_t kLongest = 256;
  if (name.size() > kLongest) return {};
  // Up to this distance, a typing error is more likely than a missing scope.
  constexpr std::size_t kSlip = 2;
  const std::string* best = nullptr;
  const std::string* scoped = nullptr;
  std::size_t best_distance = name.size() / 2 + 1;
  for (const std::string& candidate : known) {
    if (scoped == nullptr && same_without_scope(name, candidate)) scoped = &candidate;
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    if (longer - shorter >= best_distance) continue;  // the distance is at least this
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) best_distance = distance, best = &candidate;
  }
  if (scoped != nullptr && best_distance > kSlip) best = scoped;
  return best == nullptr ? std::string() : *best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string closest = closest_name(name, known);
  return closest.empty() ? closest : fmt::format(" (did you mean '{}'?)", closest);
}

std::string list_names(const std::vector<std::string>& names, std::size_t most) {
  if (names.empty()) return "none";
  const std::size_t shown = std::min(names.size(), most);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known) {
  return fmt::format("unknown {} '{}'{}; available: {}", kind, name, did_you_mean(name, known),
                     list_names(known));
}

}  // namespace weft
