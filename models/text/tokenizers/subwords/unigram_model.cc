#include "weft/models/text/tokenizers/subwords/unigram_model.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "weft/core/error.h"

namespace weft::subwords {
namespace {

/// Rounds `value` in the same way as Hugging Face's tokenizers library when it parses decimal
/// numbers: the digits are rounded to a 53-bit integer, and the result of multiplying or dividing
/// this integer by a power of ten is rounded again. The difference matters if the scores of two
/// segmentations have the same decimal sum, for example for a row of dashes.
double as_read(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const std::size_t e = text.find('e');
  if (e == std::string_view::npos) return value;
  std::uint64_t all = 0;
  int exponent = 0;
  const std::string_view power = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  for (const char c : text.substr(0, e)) {
    if (c != '.') all = 10 * all + static_cast<std::uint64_t>(c - '0');
  }
  exponent -= e == 1 ? 0 : static_cast<int>(e) - 2;  // number of digits after the decimal point
  // The powers of ten that are exact in `double`. Scores are never larger, and smaller scores do
  // not matter.
  static constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const auto places = static_cast<std::size_t>(std::abs(exponent));
  if (places >= kPowers.size()) return value;
  const auto whole = static_cast<double>(all);
  return std::copysign(exponent < 0 ? whole / kPowers[places] : whole * kPowers[places], value);
}

}  // namespace

UnigramModel::UnigramModel(std::vector<std::pair<std::string, double>> pieces,
                           std::optional<std::int32_t> unknown, bool byte_fallback)
    : unknown_(unknown), pieces_(std::move(pieces)), byte_fallback_(byte_fallback) {
  prepare(false);
}

void UnigramModel::prepare(bool) {
  if (unknown_ && (*unknown_ < 0 || *unknown_ >= static_cast<std::int64_t>(pieces_.size()))) {
    throw FormatError(
        fmt::format("'unk_id' is {}, but there are only {} pieces", *unknown_, pieces_.size()));
  }
  std::vector<std::pair<std::string_view, std::int32_t>> ids;
  ids.reserve(pieces_.size());
  for (const auto& [piece, score] : pieces_)
    ids.emplace_back(piece, static_cast<std::int32_t>(ids.size()));
  vocabulary_ = Vocabulary(ids);
  std::vector<Unigram::Entry> entries;
  entries.reserve(pieces_.size());
  for (const auto& [piece, score] : pieces_) entries.push_back({piece, as_read(score)});
  model_.emplace(entries, Unigram::Options{.unknown = unknown_, .byte_fallback = byte_fallback_});
}

}  // namespace weft::subwords
