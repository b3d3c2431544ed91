// The families of built-in ops. BuiltinFamilies is the only list of families: the op set, the
// samples and the gradient rules of the built-in ops are collected from it. No other code refers
// to all families, so a static program that lists its own families contains only those.
#pragma once

#include <memory>
#include <type_traits>

#include "weft/ops/op.h"

namespace WEFT_API weft {

class OpSamples;  // ops/samples.h
class RuleSet;    // autodiff/rule.h

// A family consists of up to three functions: add(OpSet&) adds its records (ops/), add(RuleSet&)
// adds its gradient rules and definitions (autodiff/rules/), and add(OpSamples&) adds the samples
// of its records. Samples are test data that only test programs link (ops/samples.h); most are
// defined in tests/samples/.

/// Input, variable, constant, iota, dim_value and barriers.
struct LeafOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Call, scan, cond and while_loop.
struct ControlOps {
  static void add(OpSet& ops);
};
/// Elementwise ops with one operand.
struct UnaryOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Elementwise ops with two operands, comparisons, logical ops and where.
struct BinaryOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Conversion between dtypes.
struct CastOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Several elementwise ops in one pass over memory.
struct FusedOps {
  static void add(OpSet& ops);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Sum, mean, max, argmax, cumsum and other reductions.
struct ReduceOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Linear recurrences along an axis.
struct RecurrenceOps {
  static void add(OpSet& ops);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Reshape, permute, slice, concat, pad and others.
struct ShapeOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Take, scatter_add, one_hot, dynamic_slice and others.
struct IndexOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Topk and sort.
struct SortOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Matrix products.
struct MatmulOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Matrix products with an elementwise epilogue.
struct MatmulFusedOps {
  static void add(OpSet& ops);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Dequantize and the ops into which it is folded.
struct QuantizedOps {
  static void add(OpSet& ops);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Matrix products with quantized weights.
struct QuantizedMatmulOps {
  static void add(OpSet& ops);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Convolutions.
struct ConvOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Pooling.
struct PoolOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Random numbers, dropout and random keys.
struct RandomOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Softmax and log_softmax.
struct SoftmaxOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Layer_norm, rms_norm and their gradients.
struct NormOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Cross-entropy of logits.
struct CrossEntropyOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Cross-entropy fused with the output layer, computed in chunks of rows.
struct LinearCrossEntropyOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Attention.
struct AttentionOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Rotary position embedding.
struct RopeOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Cholesky decomposition and the check of its pivots.
struct CholeskyOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Solution of triangular systems.
struct TriangularSolveOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// QR decomposition.
struct QrOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// Singular value decomposition.
struct SvdOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};
/// All_reduce, all_gather and other ops between ranks.
struct CollectiveOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
  WEFT_HIDDEN static void add(OpSamples& samples);
};

/// A list of families.
template <class... Families>
struct FamilyList {
  /// Calls Family::add(set) for each family that has this function for the type of `set`.
  template <class Set>
  static void add_to(Set& set) {
    (add_family<Families>(set), ...);
  }

 private:
  template <class Family, class Set>
  static void add_family(Set& set) {
    if constexpr (requires { Family::add(set); }) Family::add(set);
  }
};

using BuiltinFamilies =
    FamilyList<LeafOps, ControlOps, UnaryOps, BinaryOps, CastOps, FusedOps, ReduceOps,
               RecurrenceOps, ShapeOps, IndexOps, SortOps, MatmulOps, MatmulFusedOps, QuantizedOps,
               QuantizedMatmulOps, ConvOps, PoolOps, RandomOps, SoftmaxOps, NormOps,
               CrossEntropyOps, LinearCrossEntropyOps, AttentionOps, RopeOps, CholeskyOps,
               TriangularSolveOps, QrOps, SvdOps, CollectiveOps>;

/// Returns an op set that consists of only these families and LeafOps:
///   Graph g(op_set<MatmulOps, SoftmaxOps>());
/// A statically linked program that uses no other op set contains only the kernels of these
/// families and is half as large. (Gradients use all built-in ops, as do graph texts and files that
/// are read without an op set.) Using any other op throws ArgumentError with the source line of the
/// use. Passes do not create ops outside the set. Elementwise ops are fused if FusedOps is in the
/// list.
template <class... Families>
std::shared_ptr<const OpSet> op_set() {
  auto set = std::make_shared<OpSet>();
  if constexpr (!(std::is_same_v<Families, LeafOps> || ...)) LeafOps::add(*set);
  (Families::add(*set), ...);
  return set;
}

/// Returns builtin_ops(), or null in a program that links only custom op sets. The library itself
/// calls this function instead of builtin_ops(), so that not every program has to link all kernels.
std::shared_ptr<const OpSet> builtin_ops_if_linked();

}  // namespace weft
