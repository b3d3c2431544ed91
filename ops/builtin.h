// The families of built-in ops. BuiltinFamilies is the only list of families: the op set, the
// gradient rules and the test samples of the built-in ops are collected from it. No other code
// refers to all families, so a static program that lists its own families contains only those.
#pragma once

#include <memory>
#include <type_traits>

#include "weft/ops/op.h"

namespace WEFT_API weft {

class RuleSet;  // autodiff/rule.h

// A family consists of up to two functions: add(OpSet&) adds its records (ops/), and add(RuleSet&)
// adds its gradient rules and definitions (autodiff/rules/).

/// Input, variable, constant, iota, dim_value and barriers.
struct LeafOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Call, scan, cond and while_loop.
struct ControlOps {
  static void add(OpSet& ops);
};
/// Elementwise ops with one operand.
struct UnaryOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Elementwise ops with two operands, comparisons, logical ops and where.
struct BinaryOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Conversion between dtypes.
struct CastOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Several elementwise ops in one pass over memory.
struct FusedOps {
  static void add(OpSet& ops);
};
/// Sum, mean, max, argmax, cumsum and other reductions.
struct ReduceOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Linear recurrences along an axis.
struct RecurrenceOps {
  static void add(OpSet& ops);
};
/// Reshape, permute, slice, concat, pad and others.
struct ShapeOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Take, scatter_add, one_hot, dynamic_slice and others.
struct IndexOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Topk and sort.
struct SortOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Matrix products.
struct MatmulOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Matrix products of groups of rows, each with its own matrix.
struct GroupedMatmulOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Matrix products with an elementwise epilogue.
struct MatmulFusedOps {
  static void add(OpSet& ops);
};
/// Dequantize and the ops into which it is folded.
struct QuantizedOps {
  static void add(OpSet& ops);
};
/// Matrix products with quantized weights.
struct QuantizedMatmulOps {
  static void add(OpSet& ops);
};
/// Grouped matrix products with quantized weights.
struct QuantizedGroupedOps {
  static void add(OpSet& ops);
};
/// Activations rounded to 8 bits, and their matrix products with quantized weights.
struct IntegerOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Convolutions.
struct ConvOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Pooling.
struct PoolOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Random numbers, dropout and random keys.
struct RandomOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Softmax and log_softmax.
struct SoftmaxOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Layer_norm, rms_norm and their gradients.
struct NormOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Cross-entropy of logits.
struct CrossEntropyOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Cross-entropy fused with the output layer, computed in chunks of rows.
struct LinearCrossEntropyOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Attention.
struct AttentionOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Rotary position embedding.
struct RopeOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Cholesky decomposition and the check of its pivots.
struct CholeskyOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Solution of triangular systems.
struct TriangularSolveOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// QR decomposition.
struct QrOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// Singular value decomposition.
struct SvdOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
};
/// All_reduce, all_gather and other ops between ranks.
struct CollectiveOps {
  static void add(OpSet& ops);
  static void add(RuleSet& rules);
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
               RecurrenceOps, ShapeOps, IndexOps, SortOps, MatmulOps, GroupedMatmulOps,
               MatmulFusedOps, QuantizedOps, QuantizedMatmulOps, QuantizedGroupedOps, IntegerOps,
               ConvOps, PoolOps, RandomOps, SoftmaxOps, NormOps, CrossEntropyOps,
               LinearCrossEntropyOps, AttentionOps, RopeOps, CholeskyOps, TriangularSolveOps, QrOps,
               SvdOps, CollectiveOps>;

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
