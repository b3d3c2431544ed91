// Position encodings without parameters: sinusoidal and rotary.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// Returns the sinusoidal encodings (Vaswani et al. 2017) of `positions` (i32 or i64, any shape) ->
/// [..., width]. Feature j < width/2 is sin(p / 10000^(2j/width)); the second half contains the
/// cosines of the same angles. (The paper interleaves sines and cosines, which is a fixed
/// permutation of the features.) `width` must be even.
Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype,
                           SourceLocation loc = SourceLocation::current());

/// How the frequencies of rotary positions, base^(-2j/n) for pair j of n features, are changed so
/// that a model can process longer texts than it was trained on.
enum class RotaryScalingKind : std::uint8_t {
  none,
  linear,   // divides all frequencies by factor (Chen et al. 2023)
  dynamic,  // increases the base once the text exceeds context (NTK-aware)
  llama3,   // divides the frequencies of long waves by factor, keeps the others (LLaMA 3.1)
};
/// The names are "none", "linear", "dynamic" and "llama3".
ChoiceNames choice_names(RotaryScalingKind);

struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  double factor = 1;  // at least 1
  /// llama3: wavelengths above context / low_factor tokens are long, and wavelengths below context
  /// / high_factor are short. In between, the two frequencies are interpolated.
  double low_factor = 1, high_factor = 4;
  std::int64_t context = 0;  // dynamic, llama3: context length of the original training, in tokens

  friend bool operator==(const RotaryScaling&, const RotaryScaling&) = default;
};

/// Returns the frequencies of the features / 2 pairs, in radians per token. With `dynamic`, returns
/// the frequencies for texts that fit in the context.
std::vector<double> rotary_frequencies(std::int64_t features, double base,
                                       const RotaryScaling& scaling);

/// Rotates pairs (j, j + features/2) of the first `features` features of x [batch, heads, seq,
/// size] by positions * frequencies (RoPE, Su et al. 2021). positions are i32 or i64, [batch, seq]
/// or [seq]. `length`, an i64 scalar or [batch], is the length of the text, which only `dynamic`
/// uses:
///   frequency_j = base^(-2j/n) s^(-2j/(n-2)), s = max(1, factor length / context - (factor - 1)).
Value scaled_rotary(Value x, Value positions, Value length, std::int64_t features, double base,
                    const RotaryScaling& scaling, SourceLocation loc = SourceLocation::current());

}  // namespace weft
