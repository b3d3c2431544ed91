// Positions that are not learned.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// The sinusoids of Vaswani et al. (2017) at `positions` (i32 or i64, any shape): [..., width] with
/// feature j < width/2 sin(p / 10000^(2j/width)), and the cosines of the same in the second half
/// (the paper has them side by side, a fixed permutation of features). `width` must be even.
Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype,
                           SourceLocation loc = SourceLocation::current());

/// How the frequencies of rotary positions, base^(-2j/n) for pair j of n features, are changed so
/// that a model reads longer texts than it was trained on.
enum class RotaryScalingKind : std::uint8_t {
  none,
  linear,   // all divided by factor (Chen et al. 2023)
  dynamic,  // the base grows with the text once it is longer than context (NTK-aware)
  llama3,   // those of long waves divided by factor, of short ones kept (LLaMA 3.1)
};
/// "none", "linear", "dynamic", "llama3".
ChoiceNames choice_names(RotaryScalingKind);

struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  double factor = 1;  // at least 1
  /// llama3: waves longer than context / low_factor tokens are long, those shorter than context /
  /// high_factor are short; between them the factor goes from one to the other.
  double low_factor = 1, high_factor = 4;
  std::int64_t context = 0;  // dynamic, llama3: tokens that the model was trained on

  friend bool operator==(const RotaryScaling&, const RotaryScaling&) = default;
};

/// Frequencies of the features / 2 pairs, in radians per token; with `dynamic`, of texts within the
/// context.
std::vector<double> rotary_frequencies(std::int64_t features, double base,
                                       const RotaryScaling& scaling);

/// Turns pairs (j, j + features/2) of the first `features` features of x [batch, heads, seq, size]
/// by positions * frequencies (RoPE, Su et al. 2021). positions are i32 or i64, [batch, seq] or
/// [seq]; `length`, an i64 scalar, is how long the text is, and read by `dynamic` only:
///   frequency_j = base^(-2j/n) s^(-2j/(n-2)), s = max(1, factor length / context - (factor - 1)).
Value scaled_rotary(Value x, Value positions, Value length, std::int64_t features, double base,
                    const RotaryScaling& scaling, SourceLocation loc = SourceLocation::current());

}  // namespace weft
