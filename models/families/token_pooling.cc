#include "weft/models/families/token_pooling.h"

#include "weft/graph/functions.h"
#include "weft/models/families/encoder_heads.h"

namespace weft {
namespace {

constexpr std::string_view kTextPoolings[] = {
    "mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"};

/// Returns the vectors of h [batch, seq, width] at the greatest element of every row of `ranks`
/// [batch, seq], which must be unique.
Value vector_of_greatest(Value h, Value ranks) {
  const Value chosen = cast(equal(ranks, max(ranks, {1}, true)), h.dtype());
  return sum(h * unsqueeze(chosen, -1), {1});
}

}  // namespace

ChoiceNames choice_names(TextPooling) { return {"pooling", kTextPoolings}; }

Value pool_tokens(TextPooling pooling, Value h, Value mask, bool all, SourceLocation loc) {
  Graph::Frame frame(h.graph(), "pool_tokens", loc);
  const auto counts = [&] { return cast(mask, h.dtype()); };
  const auto positions = [&] {  // 1, 2, ...; 0 for tokens that are not pooled
    return counts() * (iota(h.graph(), Shape{h.size(0), h.size(1)}, 1, h.dtype()) + 1);
  };
  switch (pooling) {
    case TextPooling::mean: return mean_of_tokens(h, mask);
    case TextPooling::cls: {
      if (all) return select(h, 1, Dim(0));
      return vector_of_greatest(
          h, counts() / (iota(h.graph(), Shape{h.size(0), h.size(1)}, 1, h.dtype()) + 1));
    }
    case TextPooling::max: return max_of_tokens(h, mask);
    case TextPooling::mean_sqrt_len_tokens:
      return sum(h * unsqueeze(counts(), -1), {1}) / sqrt(sum(unsqueeze(counts(), -1), {1}));
    case TextPooling::weightedmean: {
      const Value weights = unsqueeze(positions(), -1);
      return sum(h * weights, {1}) / sum(weights, {1});
    }
    case TextPooling::lasttoken: break;
  }
  return vector_of_greatest(h, positions());
}

}  // namespace weft
