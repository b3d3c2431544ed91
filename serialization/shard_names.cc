#include "weft/serialization/shard_names.h"

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::string_view kEnding = ".weft", kOf = "-of-";
constexpr std::size_t kDigits = 5;

// Parses `text` if it consists of at least one and at most `most` digits.
std::optional<std::uint64_t> parse_number(std::string_view text, std::size_t most) {
  if (text.empty() || text.size() > most) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

std::string_view without_ending(std::string_view name) {
  return name.ends_with(kEnding) ? name.substr(0, name.size() - kEnding.size()) : name;
}

// Removes the last `bytes` bytes of `text` and returns them. Returns "" if `text` is shorter.
std::string_view take_last(std::string_view& text, std::size_t bytes) {
  if (text.size() < bytes) return {};
  const std::string_view last = text.substr(text.size() - bytes);
  text.remove_suffix(bytes);
  return last;
}

}  // namespace

std::string shard_name(std::string_view save, std::uint64_t index, std::uint64_t count) {
  return fmt::format("{}-{:05}{}{:05}{}", save, index, kOf, count, kEnding);
}

std::optional<ShardName> parse_shard_name(std::string_view name) {
  if (take_last(name, kEnding.size()) != kEnding) return std::nullopt;
  const auto count = parse_number(take_last(name, kDigits), kDigits);
  if (!count || take_last(name, kOf.size()) != kOf) return std::nullopt;
  const auto index = parse_number(take_last(name, kDigits), kDigits);
  if (!index || take_last(name, 1) != "-" || name.empty()) return std::nullopt;
  return ShardName{std::string(name), *index, *count};
}

std::string save_name(std::string_view checkpoint, std::uint64_t number) {
  return fmt::format("{}-{}", without_ending(checkpoint), number);
}

std::optional<std::uint64_t> parse_save_name(std::string_view checkpoint, std::string_view name) {
  const std::string_view base = without_ending(checkpoint);
  if (!name.starts_with(base)) return std::nullopt;
  name.remove_prefix(base.size());
  if (!name.starts_with('-')) return std::nullopt;
  constexpr std::size_t kMost = 18;  // digits that fit in 64 bits
  return parse_number(name.substr(1), kMost);
}

}  // namespace weft
