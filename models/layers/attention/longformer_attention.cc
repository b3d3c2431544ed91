#include "weft/models/layers/attention/longformer_attention.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/attention/merged_attention.h"

namespace weft {
namespace {

/// Up to this number of global tokens per row, attention takes time in proportion to their number.
constexpr std::int64_t kFewGlobals = 64;

/// The global tokens of each row.
class GlobalTokens {
 public:
  /// `selected` is bool [batch, seq].
  explicit GlobalTokens(Value selected)
      : graph_(selected.graph()), batch_(selected.size(0)), length_(selected.size(1)) {
    const Value number = cast(selected, DType::i64);
    count = sum(number, 1);
    order_ = rows(argsort(number, 1, true));
    place_ = rows(maximum(cumsum(number, 1) - 1, 0));
  }

  Value count;  // i64 [batch]

  /// Returns x [batch, seq, width] with the global tokens of each row first, in their order.
  Value first(const Value& x) const { return gather(x, order_); }
  /// Returns the values of the global tokens in first(x) at the places of these tokens. The values
  /// at other places are arbitrary.
  Value at_their_places(const Value& x) const { return gather(x, place_); }

 private:
  /// Turns indices [batch, seq] of tokens in a row to indices in all rows.
  Value rows(const Value& index) const {
    const Value row = iota(graph_, {batch_, length_}, 0, DType::i64);
    return flatten(index + row * dim_value(graph_, length_, DType::i64), 0, 1);
  }
  Value gather(const Value& x, const Value& index) const {
    return reshape(take(flatten(x, 0, 1), index), {batch_, length_, x.size(2)});
  }

  Graph& graph_;
  Dim batch_, length_;
  Value order_, place_;
};

/// Returns the output of attention from queries q [batch, heads, seq, size], of which only the
/// first `count` i64 [batch] of each row are used; the others are arbitrary.
Value attention_of_first(Value q, Value k, Value v, Value count, AttentionOptions options) {
  Graph& graph = q.graph();
  const Dim length = q.size(2);
  const Value keys = dim_value(graph, k.size(2), DType::i64);
  // Most texts have few global tokens. Rows without queries in one of the two parts are skipped:
  // none of their keys is valid.
  q = pad(q, {{0, 0}, {0, 0}, {0, kFewGlobals}, {0, 0}});
  const auto part = [&](const Dim& begin, const Dim& end, std::int64_t more_than) {
    options.lengths = where(count > static_cast<double>(more_than), keys, 0);
    return attention(slice(q, 2, {.begin = begin, .end = end}), k, v, options);
  };
  const Value all =
      concat({part(0, kFewGlobals, 0), part(kFewGlobals, length + kFewGlobals, kFewGlobals)}, 2);
  return slice(all, 2, {.begin = Dim(0), .end = length});
}

}  // namespace

Value LongformerAttention::operator()(Value x, const LongformerInputs& inputs,
                                      SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "longformer_attention", loc, scope.path());
  const Dim &batch = x.size(0), &length = x.size(1);
  const auto split = [&](const Value& v) { return split_heads(v, heads); };
  const auto key_mask = [&](const Value& v) { return reshape(v, {batch, 1, 1, length}); };
  const AttentionOptions plain{.scale = 1 / std::sqrt(static_cast<double>(head_size)),
                               .dropout = inputs.dropout,
                               .key = inputs.dropout_key};
  Value tokens;
  if (inputs.mask.defined()) tokens = not_equal(inputs.mask, 0);
  const Value q = split(query(x)), k = key(x), v = value(x);
  AttentionOptions local = plain;
  if (window > 0) local.window = window / 2 + 1;
  Value attended;
  if (!inputs.global_mask.defined()) {
    if (tokens.defined()) local.mask = key_mask(tokens);
    attended = join_heads(attention(q, split(k), split(v), local));
  } else {
    Value selected = not_equal(inputs.global_mask, 0);
    if (tokens.defined()) selected = logical_and(selected, tokens);
    const GlobalTokens globals(selected);
    // Global tokens are keys of every query, and therefore not keys of the window.
    const Value others = logical_not(selected);
    local.mask = key_mask(tokens.defined() ? logical_and(tokens, others) : others);
    const AttentionResult near = attention_with_lse(q, split(k), split(v), local);
    // In these calls, the global tokens are the first keys or queries. Their scope marks their maps
    // in attention_maps().
    const Graph::Frame sorted(scope.graph(), "global_attention", loc, (scope / "global").path());
    AttentionOptions far = plain;
    far.lengths = globals.count;
    attended = join_heads(merged_attention(
        near, attention_with_lse(q, split(globals.first(k)), split(globals.first(v)), far)));
    AttentionOptions whole = plain;
    if (tokens.defined()) whole.mask = key_mask(tokens);
    const Value from_globals =
        attention_of_first(split(global_query(globals.first(x))), split(global_key(x)),
                           split(global_value(x)), globals.count, whole);
    attended =
        where(unsqueeze(selected, 2), globals.at_their_places(join_heads(from_globals)), attended);
  }
  if (tokens.defined()) attended = where(unsqueeze(tokens, 2), attended, 0);
  return out(attended);
}

LongformerAttention make_longformer_attention(const Scope& scope, DType dtype, std::int64_t width,
                                              const LongformerAttentionOptions& options,
                                              SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "longformer_attention", loc, scope.path());
  const std::int64_t heads = options.heads;
  if (heads < 1 || (options.head_size == 0 && width % heads != 0))
    scope.graph().fail(
        ArgumentError(fmt::format("width {} is not a multiple of heads {}", width, heads)),
        "longformer_attention", {}, loc);
  const std::int64_t size = options.head_size == 0 ? width / heads : options.head_size;
  const auto projection = [&](const char* name) {
    return make_linear(scope / name, dtype, width, heads * size, options.in);
  };
  return {scope,
          projection("query"),
          projection("key"),
          projection("value"),
          projection("global_query"),
          projection("global_key"),
          projection("global_value"),
          make_linear(scope / "out", dtype, heads * size, width, options.out),
          heads,
          size,
          options.window};
}

}  // namespace weft
