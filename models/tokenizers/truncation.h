// Texts that are too long for a model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/models/fields/choice.h"
#include "weft/models/tokenizers/encoding.h"

namespace WEFT_API weft {

/// Which end is cut off, or filled up.
enum class TextEnd : std::uint8_t { left, right };
inline constexpr std::array<std::string_view, 2> kTextEndNames = {"Left", "Right"};
inline ChoiceNames choice_names(TextEnd) { return {"direction", kTextEndNames}; }

/// Which of two texts is cut.
enum class Truncated : std::uint8_t { longest_first, only_first, only_second };
inline constexpr std::array<std::string_view, 3> kTruncatedNames = {"LongestFirst", "OnlyFirst",
                                                                    "OnlySecond"};
inline ChoiceNames choice_names(Truncated) { return {"strategy", kTruncatedNames}; }

struct Truncation {
  TextEnd direction = TextEnd::right;
  std::uint64_t max_length = 512;  // ids in all, special ones among them
  Truncated strategy = Truncated::longest_first;
  std::uint64_t stride = 0;  // ids that windows side by side have in common

  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("direction", direction);
    fields.required("max_length", max_length);
    fields.required("strategy", strategy);
    fields.required("stride", stride);
  }
};

/// Cuts `encoding` to `most` ids; what is cut off stands in windows of as many ids behind it.
/// Throws ArgumentError where the stride leaves no room.
void truncate(Encoding& encoding, std::size_t most, std::size_t stride, TextEnd direction);
/// Cuts one text or two to what `truncation` allows without the `added` special ids. Throws
/// ArgumentError where that leaves nothing of the text that is to be cut.
void truncate(Encoding& first, std::optional<Encoding>& second, const Truncation& truncation,
              std::size_t added);

}  // namespace weft
