// Fused normalisation, activation and matrix product operators of com.microsoft.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

/// The statistics of a normalisation, which inference ignores, are not computed.
void reject_statistics(NodeImport& n) {
  for (const std::size_t i : {1, 2}) {
    if (n.wants(i)) n.unsupported(fmt::format("output {} (statistics)", i));
  }
}

/// Input, skip and bias: the sum that is normalised, which is also output 3.
std::vector<ImportedValue> skip_normalization(NodeImport& n, bool root_mean_square) {
  reject_statistics(n);
  const DType dtype = n.input(0).dtype();
  const double eps = n.real("epsilon", 1e-12);
  Value x = widened(n.input(0)) + widened(n.input(1));
  const std::size_t bias_operand = root_mean_square ? 3 : 4;
  if (const Value bias = widened(n.optional(bias_operand)); bias.defined()) x = x + bias;
  const Value gain = widened(n.input(2));
  const Value out = root_mean_square ? rms_norm(x, gain, eps)
                                     : layer_norm(x, gain, widened(n.optional(3)), {.eps = eps});
  return {cast(out, dtype), {}, {}, cast(x, dtype)};
}
std::vector<ImportedValue> skip_layer_normalization(NodeImport& n) {
  return skip_normalization(n, false);
}
std::vector<ImportedValue> skip_simplified_layer_normalization(NodeImport& n) {
  return skip_normalization(n, true);
}

std::vector<ImportedValue> simplified_layer_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  n.skip_attribute("stash_type");  // statistics are at least f32
  if (n.wants(1)) n.unsupported("output 1 (statistics)");
  if (n.axis("axis", -1, x.rank()) != x.rank() - 1) n.unsupported("an axis other than the last");
  return {cast(rms_norm(x, widened(n.input(1)), n.real("epsilon", 1e-5)), n.input(1).dtype())};
}

std::vector<ImportedValue> embed_layer_normalization(NodeImport& n) {
  n.skip_attribute("mask_index_type");
  const Value ids = n.input(0), words = n.input(2);
  const Dim length = ids.size(-1);
  Value sum = widened(take(words, ids));
  const Value positions = n.optional(8);
  sum = sum + widened(positions.defined() ? take(n.input(3), positions)
                                          : slice(n.input(3), 0, Slice{Dim(0), length}));
  if (n.has(1) && n.has(4)) sum = sum + widened(take(n.input(4), n.input(1)));
  const Value out =
      layer_norm(sum, widened(n.input(5)), widened(n.input(6)), {.eps = n.real("epsilon", 1e-12)});
  // The number of valid tokens of each text.
  Value lengths = zeros(n.graph(), DType::i32, Shape{ids.size(0)});
  if (const Value mask = n.optional(7); mask.defined())
    lengths = cast(::weft::sum(cast(mask > 0, DType::i32), {1}), DType::i32);
  return {cast(out, words.dtype()), lengths, cast(sum, words.dtype())};
}

std::vector<ImportedValue> biased_gelu(NodeImport& n, GeluForm form) {
  Value x = widened(n.input(0));
  if (n.has(1)) x = x + widened(n.input(1));
  return {cast(gelu(x, form), n.input(0).dtype())};
}
std::vector<ImportedValue> microsoft_gelu(NodeImport& n) { return biased_gelu(n, GeluForm::erf); }
std::vector<ImportedValue> fast_gelu(NodeImport& n) { return biased_gelu(n, GeluForm::tanh); }

std::vector<ImportedValue> microsoft_quick_gelu(NodeImport& n) {
  const Value x = widened(n.input(0));
  return {cast(x * sigmoid(x * n.real("alpha", 1.702)), n.input(0).dtype())};
}

std::vector<ImportedValue> fused_matmul(NodeImport& n) {
  const auto operand = [&](std::size_t i, std::string_view batch_attribute) {
    Value x = widened(n.input(i));
    if (n.flag(batch_attribute)) {
      // Axis 0, a batch axis, becomes the second last one.
      std::vector<int> order;
      for (int axis = 1; axis + 1 < x.rank(); ++axis) order.push_back(axis);
      order.push_back(0);
      order.push_back(x.rank() - 1);
      x = permute(x, order);
    }
    return x;
  };
  const Value a = operand(0, "transBatchA"), b = operand(1, "transBatchB");
  Value out = matmul(a, b, {.transpose_a = n.flag("transA"), .transpose_b = n.flag("transB")});
  if (const double alpha = n.real("alpha", 1); alpha != 1) out = out * alpha;
  return {cast(out, n.input(0).dtype())};
}

constexpr Operator kMicrosoftNorms[] = {
    {"BiasGelu", 1, microsoft_gelu},
    {"EmbedLayerNormalization", 1, embed_layer_normalization},
    {"FastGelu", 1, fast_gelu},
    {"FusedMatMul", 1, fused_matmul},
    {"Gelu", 1, microsoft_gelu},
    {"QuickGelu", 1, microsoft_quick_gelu},
    {"SimplifiedLayerNormalization", 1, simplified_layer_normalization},
    {"SkipLayerNormalization", 1, skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", 1, skip_simplified_layer_normalization},
    {"TransposeMatMul", 1, fused_matmul},
};
/// ONNX Runtime defines this operator in the default domain.
constexpr Operator kRuntimeNorms[] = {
    {"SimplifiedLayerNormalization", 1, simplified_layer_normalization},
};

}  // namespace

std::span<const Operator> microsoft_norm_operators() { return kMicrosoftNorms; }
std::span<const Operator> runtime_norm_operators() { return kRuntimeNorms; }

}  // namespace weft::onnx
