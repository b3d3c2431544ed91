// Position encodings without parameters: sinusoidal and rotary.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// The rate of pair j of sinusoidal encodings: the angle per position.
enum class SinusoidalRates : std::uint8_t {
  paper,     // 10000^(-2j / width)
  endpoint,  // 10000^(-j / (width/2 - 1)), so that the last rate is 1/10000 (tensor2tensor,
             // fairseq)
};

/// Returns the sinusoidal encodings (Vaswani et al. 2017) of `positions` (i32 or i64, any shape) ->
/// [..., width]. Feature j < width/2 is sin(p * rate_j); the second half contains the cosines of
/// the same angles. (The paper interleaves sines and cosines, which is a fixed permutation of the
/// features.) `width` must be even. With the rates `endpoint`, it must be at least 4 and may be
/// odd: the last feature is then 0. Throws ArgumentError for other widths.
Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype,
                           SinusoidalRates rates = SinusoidalRates::paper,
                           SourceLocation loc = SourceLocation::current());

/// How the frequencies of rotary positions, base^(-2j/n) for pair j of n features, are changed so
/// that a model can process longer texts than it was trained on.
enum class RotaryScalingKind : std::uint8_t {
  none,
  linear,   // divides all frequencies by factor (Chen et al. 2023)
  dynamic,  // increases the base once the text exceeds context (NTK-aware)
  llama3,   // divides the frequencies of long waves by factor, keeps the others (LLaMA 3.1)
  /// Like llama3 with another interpolation, and multiplies cosines and sines by a factor (Peng et
  /// al. 2023, "YaRN").
  yarn,
  /// Divides the frequency of each pair by its own factor. There are two lists of factors: for
  /// texts up to context, and for longer texts (Ding et al. 2024, "LongRoPE").
  longrope,
};
/// The names equal the enumerators.
ChoiceNames choice_names(RotaryScalingKind);
/// Returns true if the frequencies depend on the length of the text.
constexpr bool depends_on_length(RotaryScalingKind kind) {
  return kind == RotaryScalingKind::dynamic || kind == RotaryScalingKind::longrope;
}

struct RotaryScaling {
  RotaryScalingKind kind = RotaryScalingKind::none;
  double factor = 1;  // at least 1; longrope: the longest text / context
  /// llama3: wavelengths above context / low_factor tokens are long, and wavelengths below context
  /// / high_factor are short. In between, the two frequencies are interpolated.
  double low_factor = 1, high_factor = 4;
  /// dynamic, llama3, yarn, longrope: context length of the original training, in tokens.
  std::int64_t context = 0;
  /// yarn, longrope: factor of the cosines and sines. 0 means the formula of the paper: for yarn
  /// m(1) with m(w) = 0.1 w ln(factor) + 1, or m(mscale) / m(mscale_all) if both are given; for
  /// longrope sqrt(1 + ln(factor) / ln(context)).
  double attention_factor = 0;
  /// yarn: pairs that rotate more than beta_fast times over the context keep their frequency, and
  /// pairs that rotate less than beta_slow times have it divided by factor. In between, the two are
  /// interpolated linearly by the index of the pair. With `truncate`, the ends of this interval of
  /// indices are rounded outwards to integers.
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;
  double mscale = 0, mscale_all = 0;
  /// longrope: divisors of the frequencies of the pairs, for texts up to context and longer ones.
  std::vector<double> short_factors = {}, long_factors = {};

  friend bool operator==(const RotaryScaling&, const RotaryScaling&) = default;
};

/// Returns the frequencies of the features / 2 pairs, in radians per token. With `dynamic` and
/// `longrope`, returns the frequencies for texts that fit in the context. Throws ArgumentError if a
/// list of factors does not have one factor per pair.
std::vector<double> rotary_frequencies(std::int64_t features, double base,
                                       const RotaryScaling& scaling);

/// Returns the factor of cosines and sines that the scaling determines.
double rotary_attention_factor(const RotaryScaling& scaling);

/// Returns the factor by which a latent attention with yarn multiplies its scores: m(mscale_all)^2,
/// or 1 without mscale_all (DeepSeek-V3).
double yarn_score_factor(const RotaryScaling& scaling);

/// Rotates pairs (j, j + features/2) of the first `features` features of x [batch, heads, seq,
/// size] by positions * frequencies (RoPE, Su et al. 2021), or pairs (2j, 2j + 1) if `adjacent`.
/// positions are i32 or i64, [batch, seq] or [seq]. `length`, an i64 scalar or [batch], is the
/// length of the text, which only `dynamic` and `longrope` use. With `dynamic`
///   frequency_j = base^(-2j/n) s^(-2j/(n-2)), s = max(1, factor length / context - (factor - 1)).
Value scaled_rotary(Value x, Value positions, Value length, std::int64_t features, double base,
                    const RotaryScaling& scaling, bool adjacent = false,
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
