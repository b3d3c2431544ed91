// Truncation of texts that are too long for a model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/models/fields/choice.h"
#include "weft/models/text/tokenizers/base/encoding.h"

namespace WEFT_API weft {

/// The end of a text at which it is truncated or padded.
enum class TextEnd : std::uint8_t { left, right };
inline constexpr std::array<std::string_view, 2> kTextEndNames = {"Left", "Right"};
inline ChoiceNames choice_names(TextEnd) { return {"direction", kTextEndNames}; }

/// Specifies which text of a pair is truncated.
enum class TruncationStrategy : std::uint8_t { longest_first, only_first, only_second };
inline constexpr std::array<std::string_view, 3> kTruncationStrategyNames = {
    "LongestFirst", "OnlyFirst", "OnlySecond"};
inline ChoiceNames choice_names(TruncationStrategy) {
  return {"strategy", kTruncationStrategyNames};
}

struct Truncation {
  TextEnd direction = TextEnd::right;
  std::uint64_t max_length = 512;  // total number of ids, including special tokens
  TruncationStrategy strategy = TruncationStrategy::longest_first;
  /// Number of ids that adjacent windows share.
  std::uint64_t stride = 0;

  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("direction", direction);
    fields.required("max_length", max_length);
    fields.required("strategy", strategy);
    fields.required("stride", stride);
  }
};

/// Truncates `encoding` to a maximum of `most` ids. The removed ids become overflow windows of at
/// most `most` ids, in which adjacent windows share `stride` ids. If `most` is 0, all ids become a
/// single window. Throws ArgumentError if ids must be removed, `most` is positive, and `stride` is
/// not less than `most`.
void truncate(Encoding& encoding, std::size_t most, std::size_t stride, TextEnd direction);
/// Truncates one text or a pair of texts so that it satisfies `truncation` together with `added`
/// special tokens. Throws ArgumentError if nothing would be left of the text that is truncated.
void truncate(Encoding& first, std::optional<Encoding>& second, const Truncation& truncation,
              std::size_t added);

}  // namespace weft
