// Texts with a class each: files, and splits that keep the shares of the classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

struct LabelledText {
  std::vector<std::string> texts;
  std::vector<std::int32_t> labels;  // as many; index into names
  std::vector<std::string> names;    // of the classes, in alphabetical order

  std::int64_t size() const { return static_cast<std::int64_t>(texts.size()); }
  /// The examples at `indices`, with all names.
  LabelledText subset(std::span<const std::int64_t> indices) const;
};

/// On which side of a line's tab the label stands.
enum class LabelSide : std::uint8_t { automatic, first, last };
/// "auto", "first", "last".
ChoiceNames choice_names(LabelSide);

/// Reads files of lines "label <tab> text" or "text <tab> label", all of the same form. Lines end
/// in a line feed only (other line breaks of Unicode are part of the text); a carriage return in
/// front of it and blanks around text and label are dropped. `automatic` is the side with fewer
/// distinct values. Throws IoError; FormatError with file and line for a line without a tab or with
/// an empty label, for fewer than two classes, and where `automatic` cannot tell.
LabelledText read_labelled_text(std::span<const std::string> paths,
                                LabelSide side = LabelSide::automatic);

/// The lines of a text file that are not blank, as above. Throws IoError.
std::vector<std::string> read_lines(const std::string& path);

/// Texts to learn from, and the parts that are put aside.
struct Split {
  std::vector<std::int64_t> train, test;  // ascending
};
/// round(fraction * n) of the n examples of every class go to `test`, chosen at random: a function
/// of labels, fraction and seed. Throws ArgumentError unless 0 < fraction < 1.
Split stratified_split(std::span<const std::int32_t> labels, double test_fraction,
                       std::uint64_t seed);

}  // namespace weft
