// The op records and shape rules of attention and attention_grad.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/option.h"
#include "weft/ops/builtin.h"
#include "weft/ops/kernels/quantized/int8_rows.h"
#include "weft/ops/operands.h"
#include "weft/ops/sequence/attention_op.h"

namespace weft {
namespace attention_op {
namespace {

/// Checks the operands of attention, or those that attention_grad has in common with it.
class Checker {
 public:
  /// If `narrow` is true, k and v must be bf16, and q must be bf16 or, without `gradient`, f32.
  Checker(const InferContext& context, bool gradient, bool narrow = false)
      : c_(context), gradient_(gradient), narrow_(narrow) {}

  void check() {
    check_attributes();
    check_queries_and_keys();
    check_ring();
    check_scores(kBias, "bias");
    if (has(kMask)) c_.require_dtype(at(kMask), DType::boolean, "mask");
    check_scores(kMask, "mask");
    check_offset_bias();
    check_indexed(kRowBias, kRowIndex, size(kQ, 2), "row_bias", "row_index", "query");
    check_indexed(kColBias, kColIndex, keys(), "col_bias", "col_index", "key");
    check_per_batch(kLengths, "lengths");
    check_per_batch(kQStart, "q_start");
    if (has_table()) {
      c_.require_index(at(kKvRows), "kv_rows");
      c_.require_equal(size(kKvRows, 0), size(kQ, 0), "batch (axis 0) of kv_rows and q");
    } else {
      check_per_batch(kKvRows, "kv_rows");
    }
    if (has(kSinks)) {
      c_.require_dtype(at(kSinks), dtype(), "sinks");
      c_.require_shape(at(kSinks), Shape{size(kQ, 1)}, "sinks");
    }
    check_offsets();
    if (has(kKey)) {
      c_.require_dtype(at(kKey), DType::i64, "key");
      c_.require_shape(at(kKey), Shape{2}, "key");
    }
  }

  /// Returns the dtype of results and of operands other than q, k and v.
  DType dtype() const { return narrow_ ? DType::f32 : type(kQ).dtype; }
  bool has(int operand) const { return at(operand) >= 0 && c_.has(at(operand)); }
  const ValueType& type(int operand) const { return c_.input(at(operand)); }
  const Dim& size(int operand, int axis) const { return type(operand).shape[axis]; }
  Shape out_shape() const { return {size(kQ, 0), size(kQ, 1), size(kQ, 2), head_size(kV)}; }
  Shape lse_shape() const { return {size(kQ, 0), size(kQ, 1), size(kQ, 2)}; }

 private:
  /// Returns true if k and v are rows of int8 with a scale (unpack_int8_rows).
  bool packed() const { return narrow_ && !gradient_ && type(kK).dtype == DType::i8; }
  /// Returns the number of elements of a key or value.
  Dim head_size(int operand) const {
    return packed() ? size(operand, 3) - kernels::kRowScaleBytes : size(operand, 3);
  }

  void check_attributes() const {
    const Attributes& a = c_.attributes();
    const double dropout = a.real("dropout");
    if (!(dropout >= 0 && dropout < 1)) {
      throw ArgumentError(fmt::format("dropout must be in [0, 1), but is {}", dropout));
    }
    const std::string error = option_error("scale", a.real("scale"), Allowed::finite);
    if (!error.empty()) throw ArgumentError(error);
    const double cap = a.real("soft_cap");
    using Float = std::numeric_limits<float>;  // kernels may compute in float
    if (cap != 0 && !(cap >= Float::min() && cap <= Float::max())) {
      throw ArgumentError(fmt::format(
          "soft_cap must be from {:.2g} to {:.2g}, the range of floats, or 0 for no cap, but is {}",
          Float::min(), Float::max(), cap));
    }
    for (const char* name : {"window", "chunk"}) {
      if (a.integer(name) >= 0) continue;
      throw ArgumentError(
          fmt::format("{0} must be positive, or 0 for no {0}, but is {1}", name, a.integer(name)));
    }
    if (dropout > 0 && !has(kKey)) {
      throw ArgumentError(
          fmt::format("dropout {} requires the operand 'key' (a random key)", dropout));
    }
  }

  void check_queries_and_keys() const {
    if (!narrow_) {
      c_.require_floating(at(kQ), "q");
    } else if (gradient_) {
      c_.require_dtype(at(kQ), DType::bf16, "q");
    } else if (type(kQ).dtype != DType::bf16) {
      c_.require_dtype(at(kQ), DType::f32, "q");
    }
    const DType keys = !narrow_ ? type(kQ).dtype : packed() ? DType::i8 : DType::bf16;
    c_.require_rank(at(kQ), 4, "q");
    for (const auto& [operand, name] : {std::pair{kK, "k"}, {kV, "v"}}) {
      c_.require_rank(at(operand), 4, name);
      c_.require_dtype(at(operand), keys, name);
    }
    if (!has(kKvRows)) c_.require_equal(size(kQ, 0), size(kK, 0), "batch (axis 0) of q and k");
    c_.require_equal(size(kK, 0), size(kV, 0), "batch (axis 0) of k and v");
    c_.require_equal(size(kK, 1), size(kV, 1), "heads (axis 1) of k and v");
    c_.require_equal(size(kK, 2), size(kV, 2), "length (axis 2) of k and v");
    for (const auto& [operand, name] : {std::pair{kK, "k"}, {kV, "v"}}) {
      const Dim& width = size(operand, 3);
      if (!packed() || !width.is_constant() || width.constant() >= kernels::kRowScaleBytes)
        continue;
      throw ShapeError(fmt::format(
          "rows of int8 end with a scale of {} bytes, but the last axis of {} has {} elements",
          kernels::kRowScaleBytes, name, width.constant()));
    }
    c_.require_equal(size(kQ, 3), head_size(kK), "head size (axis 3) of q and k");
    const Dim &heads = size(kQ, 1), &kv_heads = size(kK, 1);
    if (c_.equal(heads, kv_heads)) return;
    const bool known = heads.is_constant() && kv_heads.is_constant();
    if (!known || kv_heads.constant() == 0 || heads.constant() % kv_heads.constant() != 0) {
      throw ShapeError(fmt::format("heads of q (axis 1), {}, must be a multiple of heads of k, {}",
                                   heads.str(), kv_heads.str()));
    }
  }

  /// Returns true if every row of q attends to several rows of k and v, one after the other.
  bool has_table() const { return has(kKvRows) && type(kKvRows).shape.rank() == 2; }

  /// Returns the number of keys, which is larger than the size of k and v if they are ring buffers
  /// or parts of the texts.
  Dim keys() const {
    const Dim& ring = c_.attributes().dim("ring");
    if (ring != Dim(0)) return ring;
    return has_table() ? size(kKvRows, 1) * size(kK, 2) : size(kK, 2);
  }

  void check_ring() const {
    const Dim& ring = c_.attributes().dim("ring");
    if (ring == Dim(0)) return;
    if (ring.is_constant() && ring.constant() < 0) {
      throw ArgumentError(fmt::format(
          "ring must be the number of keys, or 0 without ring buffers, but is {}", ring.str()));
    }
    if (!has(kLengths)) {
      throw ArgumentError("ring buffers of keys require the operand 'lengths'");
    }
    if (has_table()) {
      throw ArgumentError(
          "ring buffers of keys cannot be combined with several kv_rows per row of q: free the "
          "rows "
          "before the window instead");
    }
  }

  /// Checks bias or mask, in which every axis must have the full size or size 1.
  void check_scores(int operand, std::string_view name) const {
    if (!has(operand)) return;
    c_.require_rank(at(operand), 4, name);
    if (operand == kBias) c_.require_dtype(at(operand), dtype(), name);
    const Shape full{size(kQ, 0), size(kQ, 1), size(kQ, 2), keys()};
    for (int axis = 0; axis < 4; ++axis) {
      const Dim& given = size(operand, axis);
      if (!(given == Dim(1)) && !c_.equal(given, full[axis])) {
        throw ShapeError(fmt::format(
            "{} must broadcast to [batch, heads, queries, keys] = {}, but axis {} of {} is {}",
            name, full.str(), axis, type(operand).shape.str(), given.str()));
      }
    }
  }

  void check_offset_bias() const {
    if (!has(kOffsetBias)) return;
    c_.require_dtype(at(kOffsetBias), dtype(), "offset_bias");
    c_.require_rank(at(kOffsetBias), 2, "offset_bias");
    c_.require_equal(size(kOffsetBias, 0), size(kQ, 1), "heads of offset_bias (axis 0) and q");
    if (!has(kQStart)) {
      c_.require_equal(size(kOffsetBias, 1), size(kQ, 2) + keys() - 1,
                       "offset_bias without q_start must have queries + keys - 1 entries per head");
    }
  }

  void check_indexed(int bias, int index, const Dim& length, std::string_view bias_name,
                     std::string_view index_name, std::string_view row) const {
    if (has(bias) != has(index)) {
      throw ArgumentError(fmt::format("{} and {} must be given together, but only {} is given",
                                      bias_name, index_name, has(bias) ? bias_name : index_name));
    }
    if (!has(bias)) return;
    c_.require_dtype(at(bias), dtype(), bias_name);
    c_.require_rank(at(bias), 4, bias_name);
    const Shape expected{size(kQ, 0), size(kQ, 1), length, size(bias, 3)};
    if (!c_.equal(type(bias).shape, expected)) {
      throw ShapeError(
          fmt::format("{} must have shape [batch, heads, {} length, entries] = {}, but has {}",
                      bias_name, row, expected.str(), type(bias).shape.str()));
    }
    c_.require_index(at(index), index_name);
    c_.require_shape(at(index), Shape{size(kQ, 2), keys()}, index_name);
  }

  void check_per_batch(int operand, std::string_view name) const {
    if (!has(operand)) return;
    c_.require_index(at(operand), name);
    c_.require_shape(at(operand), Shape{size(kQ, 0)}, name);
  }

  void check_offsets() const {
    if (!has(kOffsets)) return;
    c_.require_index(at(kOffsets), "offsets");
    c_.require_rank(at(kOffsets), 1, "offsets");
    c_.require_equal(size(kQ, 2), keys(),
                     "with offsets, queries and keys belong to the same texts, but their lengths "
                     "(axis 2)");
    if (c_.attributes().dim("ring") != Dim(0)) {
      throw ArgumentError("offsets cannot be combined with ring buffers of keys");
    }
    for (const auto& [operand, name] :
         {std::pair{kLengths, "lengths"}, {kQStart, "q_start"}, {kKvRows, "kv_rows"}}) {
      if (!has(operand)) continue;
      throw ArgumentError(fmt::format(
          "offsets and {} cannot be combined: offsets define the keys of every query", name));
    }
  }

  int at(int operand) const { return position_of(operand, gradient_); }

  const InferContext& c_;
  bool gradient_, narrow_;
};

/// Assumes that all texts have the same length if there are offsets, because the cost does not
/// depend on data.
double attention_flops(const KernelRequest& request, bool gradient, double products) {
  const auto position = [&](int operand) {
    return static_cast<std::size_t>(position_of(operand, gradient));
  };
  const Sizes &q = request.inputs[position(kQ)].sizes, &v = request.inputs[position(kV)].sizes;
  const double queries = static_cast<double>(q[0] * q[1] * q[2]);
  const bool causal = request.attributes.flag("causal");
  const std::int64_t window = request.attributes.integer("window");
  double keys = static_cast<double>(v[2]);
  if (!gradient && request.has_input(kKvRows) && request.inputs[kKvRows].sizes.size() == 2)
    keys *= static_cast<double>(request.inputs[kKvRows].sizes[1]);
  double pairs = queries * keys;
  if (request.has_input(position(kOffsets))) {
    const std::int64_t texts = request.inputs[position(kOffsets)].sizes[0] - 1;
    pairs /= static_cast<double>(std::max<std::int64_t>(1, texts));
  }
  if (causal && q[2] == v[2]) pairs /= 2;
  // The few queries at the ends, which have truncated windows, are not treated separately.
  if (window > 0)
    pairs = std::min(pairs,
                     queries * (static_cast<double>(window) * (causal ? 1 : 2) - (causal ? 0 : 1)));
  const auto chunk = static_cast<double>(request.attributes.integer("chunk"));
  if (chunk > 0) pairs = std::min(pairs, queries * (causal ? (chunk + 1) / 2 : chunk));
  return products * pairs * static_cast<double>(q[3] + v[3]);
}

Cost cost(const KernelRequest& request) {
  return {attention_flops(request, false, 2), operand_bytes(request)};
}
Cost grad_cost(const KernelRequest& request) {
  return {attention_flops(request, true, 7), operand_bytes(request)};
}

std::vector<InputSpec> operands() {
  const auto optional = [](const char* name) { return InputSpec{name, Arity::optional}; };
  return {{"q"},
          {"k"},
          {"v"},
          optional("bias"),
          optional("mask"),
          optional("offset_bias"),
          optional("row_bias"),
          optional("row_index"),
          optional("col_bias"),
          optional("col_index"),
          optional("lengths"),
          optional("q_start"),
          optional("key"),
          optional("kv_rows"),
          optional("sinks"),
          optional("offsets")};
}

std::vector<AttributeSpec> attributes() {
  return {{"scale", 1.0, true},        {"causal", false},
          {"window", std::int64_t{0}}, {"dropout", 0.0},
          {"stream", std::int64_t{0}}, {"soft_cap", 0.0},
          {"chunk", std::int64_t{0}},  {"ring", Dim(0)}};
}

std::vector<ValueType> forward_types(Checker checker) {
  checker.check();
  return {{checker.dtype(), checker.out_shape()}, {checker.dtype(), checker.lse_shape()}};
}

}  // namespace

std::vector<ValueType> infer(const InferContext& c) {
  return forward_types(Checker(c, /*gradient=*/false));
}
std::vector<ValueType> infer_narrow(const InferContext& c) {
  return forward_types(Checker(c, /*gradient=*/false, /*narrow=*/true));
}

namespace {

std::vector<ValueType> gradient_types(const InferContext& c, bool narrow) {
  if (const Dim& ring = c.attributes().dim("ring"); ring != Dim(0)) {
    throw ArgumentError(
        fmt::format("the gradient reads the keys in order: ring must be 0, but is {}", ring.str()));
  }
  Checker checker(c, /*gradient=*/true, narrow);
  checker.check();
  const DType dtype = checker.dtype();
  const auto require = [&](int i, DType type, const Shape& shape, std::string_view name) {
    c.require_dtype(i, type, name);
    c.require_shape(i, shape, name);
  };
  require(0, dtype, checker.out_shape(), "g");
  require(1, narrow ? DType::bf16 : dtype, checker.out_shape(), "out");
  require(2, dtype, checker.lse_shape(), "lse");
  if (c.has(kGradLse)) require(kGradLse, dtype, checker.lse_shape(), "g_lse");
  std::vector<ValueType> types;
  for (const int operand : {kQ, kK, kV, kBias, kOffsetBias, kRowBias, kColBias}) {
    types.push_back({dtype, checker.has(operand) ? checker.type(operand).shape : Shape{0}});
  }
  // Files that were written before `sinks` existed declare seven outputs.
  if (c.has(kGradSinks)) types.push_back(c.input(kGradSinks));
  return types;
}

}  // namespace

std::vector<ValueType> infer_grad(const InferContext& c) {
  return gradient_types(c, /*narrow=*/false);
}
std::vector<ValueType> infer_grad_narrow(const InferContext& c) {
  return gradient_types(c, /*narrow=*/true);
}

}  // namespace attention_op

void AttentionOps::add(OpSet& ops) {
  using namespace attention_op;
  OpRecord forward;
  forward.name = "attention";
  forward.doc =
      "softmax(s) v per head, O(Lq + Lk) memory. q [B,H,Lq,D], k [B,Hkv,Lk,D], v [B,Hkv,Lk,Dv]; "
      "query head h uses key head h / (H/Hkv). s[i,j] = cap(scale * q_i.k_j) + bias[i,j] + "
      "offset_bias[h,o] + row_bias[i,row_index[i,j]] + col_bias[j,col_index[i,j]], where cap(x) = "
      "soft_cap * tanh(x / soft_cap), or x if soft_cap is 0. bias and "
      "mask are [B|1,H|1,Lq|1,Lk|1]; offset_bias is [H,T]: with q_start o = j - (i + "
      "q_start[b]) + T - Lk, without it T = Lq + Lk - 1 and o = j - i + Lq - 1; row_bias "
      "[B,H,Lq,R], col_bias [B,H,Lk,R], indices [Lq,Lk]. The position of query i is p(i) = i + "
      "q_start[b], or i + Lk - Lq without q_start. Key j is visible to query i if mask is true, j "
      "< lengths[b], j <= p(i) if causal, |p(i) - j| < window if window > 0, and floor(p(i) / "
      "chunk) = floor(j / chunk) if chunk > 0. Dropout multiplies probability n (flat index in "
      "[B,H,Lq,Lk]) by 1/(1-dropout) if word n of the "
      "stream is >= dropout * 2^32, else by 0. lse = ln(sum(exp(s))) over the visible keys. "
      "sinks [H] are the scores of one more visible key per head. Its value is 0, and its "
      "probability is not dropped. A query without visible keys and sinks has out 0, lse -inf and "
      "gradient 0. With offsets [texts+1] (cu_seqlens of FlashAttention), the axes Lq = Lk contain "
      "consecutive texts: text t is the range [offsets[t], offsets[t+1]), a query sees keys of its "
      "own text only, and p(i) and j count from the beginning of the text; offsets that do not "
      "ascend from 0 to Lq are a data error. With kv_rows [B], k and v have S rows, and row b of q "
      "attends to their row "
      "kv_rows[b]; col_bias is indexed by b. With kv_rows [B,C], k and v are blocks [S,Hkv,P,..] "
      "of "
      "texts: Lk = C P, and key j of row b is entry j mod P of row kv_rows[b, j / P]; entries for "
      "keys that no query sees are not read. If ring > 0, k and v are ring buffers [..,R,..]: Lk = "
      "ring, and key j is entry j mod R; a visible key j < lengths[b] - R is a data error. "
      "kv_rows outside [0,S), lengths outside [0,Lk], q_start < 0, causal with q_start + Lq > Lk, "
      "and indices out of range are data errors (Vaswani et al. 2017; Dao et al. 2022 for the "
      "backward recomputation; Gemma Team 2024 for soft_cap; Xiao et al. 2024 for sinks).";
  forward.inputs = operands();
  forward.attributes = attention_op::attributes();
  forward.outputs = {"out", "lse"};
  forward.traits = Trait::random;
  forward.infer = attention_op::infer;
  forward.kernel = attention_op::kernel;
  forward.cost = attention_op::cost;

  // attention_narrow differs from attention only in its names, types and samples.
  OpRecord narrow = forward;
  narrow.name = "attention_narrow";
  narrow.doc =
      "attention(cast(q, f32), cast(k, f32), cast(v, f32), ...) for bf16 keys and values and f32 "
      "or bf16 queries. Returns the same bits but reads half as much memory. If k and v are i8, "
      "attention(q, unpack_int8_rows(k), unpack_int8_rows(v), ...) with rounding errors of "
      "float32: a single query multiplies sums by the scales. Created by the pass "
      "`fold_dequantize` for inference, and at precision `medium` together with the gradient.";
  narrow.infer = attention_op::infer_narrow;
  narrow.gradient = Gradient::none;
  narrow.no_gradient_reason =
      "created after differentiation; differentiate attention and the casts";
  ops.add(std::move(forward));
  ops.add(std::move(narrow));

  OpRecord backward;
  backward.name = "attention_grad";
  backward.doc =
      "Gradients of attention, computed from its outputs by recomputing the scores block by block: "
      "p = "
      "exp(s - lse), ds = p * (dropout(g v^T) - sum(g * out) + g_lse), dc = scale * cap'(scale * "
      "q.k) * ds, dq = dc k, dk = dc^T q, dv = dropout(p)^T g; the gradient of a bias element is "
      "the sum of ds over the scores that use it, and dsinks, which exists only with sinks, is the "
      "sum of ds of the "
      "sinks. If |lse| > 32, p is divided by its sum, because the rounding of a "
      "large lse would be an error of all probabilities. g_lse is the cotangent of lse. The "
      "gradient of an absent operand "
      "has shape [0].";
  backward.inputs = {{"g"}, {"out"}, {"lse"}};
  const std::vector<InputSpec> all = operands();
  backward.inputs.insert(backward.inputs.end(), all.begin(), all.begin() + kGradOperands);
  backward.inputs.push_back({"g_lse", Arity::optional});
  backward.inputs.push_back({"sinks", Arity::optional});
  backward.inputs.push_back({"offsets", Arity::optional});
  backward.attributes = attention_op::attributes();
  backward.outputs = {"dq",           "dk",        "dv",        "dbias",
                      "doffset_bias", "drow_bias", "dcol_bias", "dsinks"};
  backward.traits = Trait::random;
  backward.infer = attention_op::infer_grad;
  backward.kernel = attention_op::grad_kernel;
  backward.cost = attention_op::grad_cost;
  backward.gradient = Gradient::decomposition;
  OpRecord narrow_backward = backward;
  ops.add(std::move(backward));
  narrow_backward.name = "attention_grad_narrow";
  narrow_backward.doc =
      "attention_grad for bf16 out, q, k and v, which are widened to f32. The results are f32, "
      "with the same bits. Created by a pass at precision `medium`.";
  narrow_backward.infer = attention_op::infer_grad_narrow;
  narrow_backward.gradient = Gradient::none;
  narrow_backward.no_gradient_reason = "created after differentiation; differentiate attention";
  ops.add(std::move(narrow_backward));
}

}  // namespace weft
