// Gradient of attention: one op that recomputes the scores block by block. The definitions of both
// ops materialise [B, H, Lq, Lk] tensors. The blocked kernels are tested against them.
#include <algorithm>
#include <limits>

#include "weft/autodiff/rounded_lse.h"
#include "weft/autodiff/rule.h"
#include "weft/autodiff/rules/joined_rows.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"
#include "weft/ops/sequence/attention_op.h"

namespace weft {
namespace {

/// Returns the index of each of the `keys` keys in a ring buffer of keys or values.
Value ring_index(const Value& buffer, const Dim& keys) {
  const Value key = iota(buffer.graph(), Shape{keys}, 0);
  const Value size = maximum(dim_value(buffer.graph(), buffer.shape()[2]), 1);
  return key - key / size * size;
}

/// Returns the rows of k or v for each row of q.
Value looked_up(const Value& x, const Value& rows) {
  if (!rows.defined()) return x;
  return rows.rank() == 2 ? joined_rows(x, rows, 2) : take(x, rows, 0);
}

/// Returns the gradient of x given that of looked_up(x, rows).
Value looked_up_gradient(const Value& x, const Value& rows, const Value& g) {
  if (!rows.defined()) return g;
  if (rows.rank() != 2) return index_add(zeros_like(x), rows, g, 0);
  const Dim &batch = rows.size(0), &columns = rows.size(1);
  const Value blocks =
      permute(reshape(g, {batch, x.size(1), columns, x.size(2), x.size(3)}), {0, 2, 1, 3, 4});
  return index_add(zeros_like(x), reshape(clamped_rows(x, rows), {batch * columns}),
                   reshape(blocks, {batch * columns, x.size(1), x.size(2), x.size(3)}), 0);
}

std::vector<Value> gradient_attention(const GradientContext& c) {
  using namespace attention_op;
  const Dim& ring = c.attributes().dim("ring");
  const bool circular = ring != Dim(0);
  const Value out = c.output(0), lse = c.output(1), rows = c.input(kKvRows);
  std::vector<Value> inputs = {c.has_cotangent(0) ? c.cotangent(0) : zeros_like(out), out, lse};
  for (std::size_t i = 0; i < kGradOperands; ++i) {
    inputs.push_back(c.input(i));
    if (i != kK && i != kV) continue;
    inputs.back() = looked_up(inputs.back(), rows);
    if (circular) inputs.back() = take(inputs.back(), ring_index(c.input(i), ring), 2);
  }
  Attributes attributes = c.attributes();
  attributes.set("ring", Dim(0));
  inputs.push_back(c.has_cotangent(1) ? c.cotangent(1) : Value());
  inputs.push_back(c.input(kSinks));
  inputs.push_back(c.input(kOffsets));
  Node& node = c.graph().apply("attention_grad", std::move(inputs), std::move(attributes));
  // Operands to which the outputs of the gradient op correspond, in order.
  constexpr std::size_t kDifferentiable[] = {kQ,          kK,       kV,       kBias,
                                             kOffsetBias, kRowBias, kColBias, kSinks};
  std::vector<Value> result(kOperands);
  int output = 0;
  for (const std::size_t i : kDifferentiable) {
    if (c.input(i).defined()) result[i] = node.output(output);
    ++output;
  }
  for (const std::size_t i : {kK, kV}) {
    if (circular) {
      const Value like = looked_up(c.input(i), rows);
      result[i] = index_add(zeros_like(like), ring_index(c.input(i), ring), result[i], 2);
    }
    result[i] = looked_up_gradient(c.input(i), rows, result[i]);
  }
  return result;
}

// -- Definitions ----------------------------------------------------------------------------------

using Values = std::vector<Value>;

Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b) {
  return a.graph()
      .apply("matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}})
      .output(0);
}

/// The operands of attention and quantities derived from them.
class Definition {
 public:
  /// `in` contains the operands of attention or, if `gradient` is true, of attention_grad.
  Definition(const Node& node, const Values& in, bool gradient, Graph& graph)
      : graph_(graph), attributes_(node.attributes()) {
    using namespace attention_op;
    const auto operand = [&](int i) {
      const int at = position_of(i, gradient);
      return at >= 0 && at < std::ssize(in) ? in[static_cast<std::size_t>(at)] : Value();
    };
    sinks = operand(kSinks);
    if (operand(kOffsets).defined()) offsets = cast(operand(kOffsets), DType::i64);
    const auto keys_or_values = [&](int i) {
      const Dim& ring = attributes_.dim("ring");
      Value x = looked_up(operand(i), operand(kKvRows));
      if (ring != Dim(0)) x = take(x, ring_index(x, ring), 2);
      return per_query_head(x);
    };
    q = operand(kQ);
    k = keys_or_values(kK);
    v = keys_or_values(kV);
    kv_heads = operand(kK).shape()[1];
    bias = operand(kBias);
    mask = operand(kMask);
    offset_bias = operand(kOffsetBias);
    row_bias = operand(kRowBias);
    row_index = operand(kRowIndex);
    col_bias = operand(kColBias);
    col_index = operand(kColIndex);
    if (operand(kLengths).defined()) lengths = cast(operand(kLengths), DType::i64);
    if (operand(kQStart).defined()) q_start = cast(operand(kQStart), DType::i64);
    key = operand(kKey);
  }

  const Dim& batch() const { return q.shape()[0]; }
  const Dim& heads() const { return q.shape()[1]; }
  const Dim& queries() const { return q.shape()[2]; }
  const Dim& keys() const { return k.shape()[2]; }
  double scale() const { return attributes_.real("scale"); }
  Shape pairs() const { return {batch(), heads(), queries(), keys()}; }

  /// Returns the derivative of the soft cap, or an undefined Value without it.
  Value slope() const { return cap() > 0 ? 1 - square(tanh(scaled_products() / cap())) : Value(); }

  /// Returns the scores [B, H, Lq, Lk], followed by the sinks if there are any: [B, H, Lq, Lk + 1].
  Value scores() const {
    Value s = scaled_products();
    if (cap() > 0) s = tanh(s / cap()) * cap();
    if (bias.defined()) s = s + bias;
    if (offset_bias.defined()) {
      const Value picked = take(offset_bias, offset_index(), 1);
      s = s + (q_start.defined() ? permute(picked, {1, 0, 2, 3}) : picked);
    }
    if (row_bias.defined()) s = s + take_along_axis(row_bias, full_row_index(), 3);
    if (col_bias.defined()) {
      s = s + transpose(take_along_axis(col_bias, full_col_index(), 3));
    }
    return with_sinks(s, sinks.defined() ? reshape(sinks, Shape{heads(), 1, 1}) : Value());
  }

  /// Returns x [B, H, Lq, Lk] with one more column if there are sinks.
  Value with_sinks(const Value& x, const Value& column) const {
    if (!sinks.defined()) return x;
    return concat({x, broadcast_to(column, Shape{batch(), heads(), queries(), 1})}, 3);
  }
  /// Return the columns of x that belong to the keys, and the column of the sinks.
  Value of_keys(const Value& x) const {
    return sinks.defined() ? slice(x, 3, {.begin = Dim(0), .end = keys()}) : x;
  }
  Value of_sinks(const Value& x) const { return slice(x, 3, {.begin = keys(), .end = keys() + 1}); }

  /// Returns the attention mask, bool [B, H, Lq, Lk (+ 1 with sinks)], or an undefined Value if
  /// every query attends to every key.
  Value visible() const {
    Value seen = mask;
    const auto also = [&](const Value& condition) {
      seen = seen.defined() ? logical_and(seen, condition) : condition;
    };
    // `ahead` is j - i, the distance from query i to key j without the start offset of the queries.
    // The start offset and the window may be as large as the integer type allows, so they are never
    // added to each other.
    const Value j = iota(graph_, Shape{queries(), keys()}, 1);
    const Value ahead = j - iota(graph_, Shape{queries(), keys()}, 0);
    const Value start = q_start.defined() ? reshape(q_start, Shape{batch(), 1, 1, 1})
                                          : dim_value(graph_, keys() - queries());
    const std::int64_t window = attributes_.integer("window");
    // 2^62 exceeds every difference of two positions. (Passed as Dims, because literals are
    // converted to double.)
    const std::int64_t reach = std::min(window, std::int64_t{1} << 62);
    if (attributes_.flag("causal")) also(ahead <= start);
    if (window > 0) {
      also(ahead > start - dim_value(graph_, q_start.defined() ? window : reach));
      also(ahead - dim_value(graph_, reach) < start);
    }
    const auto same = [&](const Value& x) {  // x [L] is equal for the query and the key
      also(equal(unsqueeze(x, 1), unsqueeze(x, 0)));
    };
    const Value begin = offsets.defined() ? text_begins() : Value();
    if (begin.defined()) same(begin);
    if (attributes_.integer("chunk") > 0 && begin.defined()) {
      same((iota(graph_, Shape{keys()}, 0) - begin) /
           dim_value(graph_, attributes_.integer("chunk")));
    } else if (attributes_.integer("chunk") > 0) {
      // The position is `whole` + `more`, which are not added, because the sum may overflow.
      const Value chunk = dim_value(graph_, attributes_.integer("chunk"));
      const Value whole = maximum(start, 0), more = j - ahead + minimum(start, 0);
      const Value rest = whole - whole / chunk * chunk, left = more - more / chunk * chunk;
      also(more >= 0);
      also(equal(j / chunk, whole / chunk + more / chunk + cast(left >= chunk - rest, DType::i64)));
    }
    if (lengths.defined()) also(j < reshape(lengths, Shape{batch(), 1, 1, 1}));
    if (!seen.defined()) return seen;
    return with_sinks(broadcast_to(seen, pairs()), equal(zeros(graph_, DType::i64, {}), 0));
  }

  /// Returns true if no query is without visible keys, for any sizes and any data.
  bool every_query_has_a_key() const {
    if (mask.defined() || bias.defined() || lengths.defined() || offset_bias.defined() ||
        row_bias.defined() || col_bias.defined()) {
      return false;
    }
    const bool causal = attributes_.flag("causal");
    if (!causal && attributes_.integer("window") == 0 && attributes_.integer("chunk") == 0) {
      return true;
    }
    // A query that has the position of a key sees this key.
    return q_start.defined() ? causal : Dim::provably_le(queries(), keys());
  }

  /// Returns p = exp(scores - lse) where `seen` is true, else 0; lse is [B, H, Lq]. The
  /// rounding of a large lse is corrected.
  Value probabilities(const Value& scores, const Value& seen, const Value& lse) const {
    // Compares with -inf instead of using isfinite(), so that NaN stays NaN.
    const Value finite = not_equal(lse, -std::numeric_limits<double>::infinity());
    const Value shift = unsqueeze(where(finite, lse, 0), 3);
    Value attended = unsqueeze(finite, 3);
    if (seen.defined()) attended = logical_and(seen, attended);
    // The inner where() prevents exp() of a masked score from overflowing: 0 * inf would be NaN.
    const Value p = where(attended, exp(where(attended, scores - shift, 0)), 0);
    return without_rounding_of_lse(p, shift, 3);
  }

  Value dropped(const Value& p) const {
    const double rate = attributes_.real("dropout");
    if (rate == 0) return p;
    return graph_
        .apply("dropout", {p, key}, {{"rate", rate}, {"stream", attributes_.integer("stream")}})
        .output(0);
  }

  /// Sums x [B, H, ...] over the query heads that share a key head.
  Value per_key_head(const Value& x) const {
    if (heads() == kv_heads) return x;
    const Dim group = exact_div(heads(), kv_heads);
    const Shape split{batch(), kv_heads, group, x.shape()[2], x.shape()[3]};
    return sum(reshape(x, split), 2);
  }

  Value offset_gradient(const Value& ds) const {
    const Value source = q_start.defined() ? permute(ds, {1, 0, 2, 3}) : sum(ds, 0);
    return index_add(zeros_like(offset_bias), offset_index(), source, 1);
  }
  Value row_gradient(const Value& ds) const {
    return scatter_add(zeros_like(row_bias), full_row_index(), ds, 3);
  }
  Value col_gradient(const Value& ds) const {
    return scatter_add(zeros_like(col_bias), full_col_index(), transpose(ds), 3);
  }

  Value q, k, v, bias, mask, offset_bias, row_bias, row_index, col_bias, col_index, lengths,
      q_start, key, sinks, offsets;
  Dim kv_heads;

 private:
  double cap() const { return attributes_.real("soft_cap"); }
  Value scaled_products() const { return matmul(q, k, false, true) * scale(); }

  /// Repeats the key heads of x: [B, Hkv, L, D] -> [B, H, L, D].
  Value per_query_head(const Value& x) const {
    const Dim &kv = x.shape()[1], &length = x.shape()[2], &width = x.shape()[3];
    if (heads() == kv) return x;
    const Dim group = exact_div(heads(), kv);
    const Value wide = broadcast_to(unsqueeze(x, 2), Shape{batch(), kv, group, length, width});
    return reshape(wide, Shape{batch(), heads(), length, width});
  }

  /// Index into offset_bias[h]: [Lq, Lk], or [B, Lq, Lk] with q_start.
  Value offset_index() const {
    const Value i = iota(graph_, Shape{queries(), keys()}, 0);
    const Value j = iota(graph_, Shape{queries(), keys()}, 1);
    if (!q_start.defined()) return j - i + dim_value(graph_, queries() - 1);
    const Value origin = dim_value(graph_, offset_bias.shape()[1] - keys());
    return j - i + (origin - reshape(q_start, Shape{batch(), 1, 1}));
  }

  /// Returns the position at which the text of each token begins, i64 [L], given the offsets.
  Value text_begins() const {
    const Value texts = unsqueeze(offsets, 0);
    const Value token = unsqueeze(iota(graph_, Shape{keys()}, 0), 1);
    return max(where(texts <= token, texts, 0), {1});
  }

  Value full_row_index() const { return broadcast_to(row_index, pairs()); }
  Value full_col_index() const {
    return broadcast_to(transpose(col_index), Shape{batch(), heads(), keys(), queries()});
  }

  Graph& graph_;
  const Attributes& attributes_;
};

Values decompose_attention(const Node& node, const Values& in, Graph& graph) {
  const Definition d(node, in, /*gradient=*/false, graph);
  const double infinity = std::numeric_limits<double>::infinity();
  Value s = d.scores();
  if (const Value seen = d.visible(); seen.defined()) s = where(seen, s, -infinity);
  const Value lse = logsumexp(s, 3);
  Value p;
  if (d.every_query_has_a_key()) {
    p = softmax(s, 3);
  } else {
    const Value alive = any(not_equal(s, -infinity), 3, true);
    p = where(alive, softmax(where(alive, s, 0), 3), 0);
  }
  return {matmul(d.dropped(d.of_keys(p)), d.v, false, false), lse};
}

Values decompose_attention_grad(const Node& node, const Values& in, Graph& graph) {
  using namespace attention_op;
  const Definition d(node, in, /*gradient=*/true, graph);
  const Value g = in[0], out = in[1], lse = in[2];
  const Value all = d.probabilities(d.scores(), d.visible(), lse), p = d.of_keys(all);
  Value delta = sum(g * out, 3, true);
  if (in.size() > kGradLse && in[kGradLse].defined()) delta = delta - unsqueeze(in[kGradLse], 3);
  const Value ds = p * (d.dropped(matmul(g, d.v, false, true)) - delta);
  const Value slope = d.slope(), dc = slope.defined() ? ds * slope : ds;
  Values gradients = {matmul(dc, d.k, false, false) * d.scale(),
                      d.per_key_head(matmul(dc, d.q, true, false)) * d.scale(),
                      d.per_key_head(matmul(d.dropped(p), g, true, false)),
                      d.bias.defined() ? sum_to(ds, d.bias.shape()) : Value(),
                      d.offset_bias.defined() ? d.offset_gradient(ds) : Value(),
                      d.row_bias.defined() ? d.row_gradient(ds) : Value(),
                      d.col_bias.defined() ? d.col_gradient(ds) : Value()};
  if (d.sinks.defined()) gradients.push_back(-sum(d.of_sinks(all) * delta, {0, 2, 3}));
  return gradients;
}

}  // namespace

void AttentionOps::add(RuleSet& rules) {
  rules.add("attention", gradient_attention);
  rules.define("attention", decompose_attention);
  rules.define("attention_grad", decompose_attention_grad);
}

}  // namespace weft
