// Reads texts with class labels, and splits them so that the class proportions are preserved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

struct LabelledText {
  std::vector<std::string> texts;
  /// One label per text, as an index into `names`.
  std::vector<std::int32_t> labels;
  /// Class names in alphabetical order.
  std::vector<std::string> names;

  std::int64_t size() const { return static_cast<std::int64_t>(texts.size()); }
  /// Returns the examples at `indices`, with all class names.
  LabelledText subset(std::span<const std::int64_t> indices) const;
};

/// The side of the tab that contains the label.
enum class LabelSide : std::uint8_t { automatic, first, last };
/// The names are "auto", "first" and "last".
ChoiceNames choice_names(LabelSide);

/// Reads files with lines "label <tab> text" or "text <tab> label"; all lines must have the same
/// form. Only a line feed ends a line (other Unicode line breaks are part of the text). A carriage
/// return before the line feed and blanks around text and label are dropped. `automatic` selects
/// the side with fewer distinct values. Throws IoError. Throws FormatError with file and line if a
/// line has no tab or an empty label. Throws FormatError if there are fewer than two classes or,
/// for `automatic`, if both sides have the same number of distinct values.
LabelledText read_labelled_text(std::span<const std::string> paths,
                                LabelSide side = LabelSide::automatic);

/// Returns the non-blank lines of a text file, trimmed as above. Throws IoError.
std::vector<std::string> read_lines(const std::string& path);

/// The indices of the training and test examples.
struct Split {
  std::vector<std::int64_t> train, test;  // ascending
};
/// Assigns round(test_fraction * n) of the n examples of every class to `test`, selected at random,
/// but leaves at least one example in `train`. If that would leave `test` empty, assigns one
/// example of some classes, so that `test` has about the requested fraction of all examples. `test`
/// is then empty only if no class has two examples. The result is a function of labels, fraction
/// and seed. Throws ArgumentError unless 0 < test_fraction < 1.
Split stratified_split(std::span<const std::int32_t> labels, double test_fraction,
                       std::uint64_t seed);

}  // namespace weft
