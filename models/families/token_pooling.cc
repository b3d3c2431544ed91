#include "weft/models/families/token_pooling.h"

#include <limits>
#include <utility>

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

Value pool_texts(TextPooling pooling, Value h, Value offsets, Value mask, SourceLocation loc) {
  Graph& graph = h.graph();
  Graph::Frame frame(graph, "pool_texts", loc);
  const Dim tokens = h.size(1), texts = offsets.size(0) - 1;
  offsets = cast(offsets, DType::i64);
  h = select(h, 0, Dim(0));
  const Value ids = segment_ids(offsets, tokens), index = iota(graph, {tokens}, 0, DType::i64);
  const Value pooled =
      mask.defined() ? not_equal(select(mask, 0, Dim(0)), 0) : equal(zeros_like(index), 0);
  const auto sums = [&](Value weights) {
    weights = unsqueeze(cast(weights, h.dtype()), 1);
    return std::pair(segment_sum(h * weights, ids, texts), segment_sum(weights, ids, texts));
  };
  switch (pooling) {
    case TextPooling::mean: {
      const auto [sum, count] = sums(pooled);
      return sum / count;
    }
    case TextPooling::cls:
      return take(h, segment_min(where(pooled, index, dim_value(graph, tokens)), ids, texts));
    case TextPooling::max: {
      const double lowest = std::numeric_limits<float>::lowest();
      return segment_max(where(unsqueeze(pooled, 1), h, lowest), ids, texts);
    }
    case TextPooling::mean_sqrt_len_tokens: {
      const auto [sum, count] = sums(pooled);
      return sum / sqrt(count);
    }
    case TextPooling::weightedmean: {
      const auto [sum, count] =
          sums(where(pooled, index - take(offsets, ids) + 1, zeros_like(index)));
      return sum / count;
    }
    case TextPooling::lasttoken: break;
  }
  return take(h, segment_max(where(pooled, index, zeros_like(index)), ids, texts));
}

}  // namespace weft
