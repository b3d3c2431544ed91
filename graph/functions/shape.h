// Moving elements: reshape, permute, slice, concat, pad, ... and tensors made from sizes.
#pragma once

#include <utility>

#include "weft/graph/functions/axes.h"

namespace WEFT_API weft {

// All take any dtype and are differentiable where x is floating. Negative axes count from the end.
// reshape and what is made of it (flatten, squeeze, unsqueeze) moves nothing; the others cost a
// pass over their result. A tensor has at most 2^47 bytes (kMaxTensorBytes).

// -- Views of the axes ----------------------------------------------------------------------------

/// The same elements in the same order. One size may be -1: it is found by exact division of Dims.
/// Throws ShapeError unless both shapes provably have as many elements.
Value reshape(Arg x, std::initializer_list<AxisSize> sizes);
Value reshape(Arg x, const Shape& shape);
/// Merges the axes first..last into one.
Value flatten(Arg x, int first = 0, int last = -1);
/// Axis i of the result is axis order[i] of x.
Value permute(Arg x, const std::vector<int>& order);
/// Swaps two axes.
Value transpose(Arg x, int a = -2, int b = -1);
/// Repeats axes of size 1 and adds axes in front, as NumPy does.
Value broadcast_to(Arg x, std::initializer_list<AxisSize> sizes);
Value broadcast_to(Arg x, const Shape& shape);
/// Drops axes of size 1: those given, or (by default) all that are constant 1.
Value squeeze(Arg x, const Axes& axes = {});
/// Adds an axis of size 1 that will be axis `axis` of the result.
Value unsqueeze(Arg x, int axis);

// -- Parts ----------------------------------------------------------------------------------------

/// begin:end:step of one axis, as in Python: absent bounds mean all, negative constants count from
/// the end, a negative step walks backwards. Constant bounds of a constant axis are clamped to it;
/// where the bound or the axis is symbolic, bounds are taken as they are, and are checked when
/// sizes are known.
struct Slice {
  std::optional<Dim> begin = {};
  std::optional<Dim> end = {};
  std::int64_t step = 1;
};
/// x[slices[0], slices[1], ...]; axes without a Slice are kept whole.
Value slice(Arg x, const std::vector<Slice>& slices);
/// A slice of one axis.
Value slice(Arg x, int axis, const Slice& slice);
/// x[..., index, ...]: the axis disappears. A negative constant counts from the end.
Value select(Arg x, int axis, const Dim& index);
/// Pieces of the given sizes along an axis; throws ShapeError unless they add up to its size.
std::vector<Value> split(Arg x, const std::vector<Dim>& sizes, int axis = 0);
/// `pieces` pieces of equal size; throws ShapeError unless the size is provably divisible.
std::vector<Value> split_equal(Arg x, int pieces, int axis = 0);

// -- Putting together -----------------------------------------------------------------------------

/// Joins values along an existing axis.
Value concat(const std::vector<Value>& xs, int axis = 0,
             SourceLocation loc = SourceLocation::current());
/// Joins values of equal shapes along a new axis `axis` of the result.
Value stack(const std::vector<Value>& xs, int axis = 0,
            SourceLocation loc = SourceLocation::current());

/// What pad() puts outside.
enum class PadMode {
  constant,   // `value`
  reflect,    // mirrored, the border element not repeated: padding < size
  replicate,  // the border element
};
struct PadOptions {
  PadMode mode = PadMode::constant;
  double value = 0;
};
/// Adds pads[i].first elements before and pads[i].second after axis i. Throws DTypeError for a
/// value that x's dtype does not hold: a fraction among integers, a number out of range.
Value pad(Arg x, const std::vector<std::pair<Dim, Dim>>& pads, const PadOptions& options = {});

/// Reverses the order along the axes.
Value flip(Arg x, const Axes& axes);
/// x repeated repeats[i] times along axis i (NumPy's tile): a shorter list counts from the last
/// axis, a longer one adds axes in front.
Value repeat(Arg x, const std::vector<std::int64_t>& repeats);
/// Each element `repeats` times along the axis, copies adjacent.
Value repeat_interleave(Arg x, std::int64_t repeats, int axis);
/// out[(i + shift) mod n] = x[i] along the axis. On a symbolic axis |shift| must not exceed its
/// size.
Value roll(Arg x, std::int64_t shift, int axis);
/// Zero above (tril) or below (triu) the k-th diagonal of the last two axes.
Value tril(Arg x, std::int64_t k = 0);
Value triu(Arg x, std::int64_t k = 0);
/// [N, C * r * r, H, W] -> [N, C, H * r, W * r] (Shi et al. 2016).
Value pixel_shuffle(Arg x, std::int64_t r);

// -- Made from sizes ------------------------------------------------------------------------------

/// The index along `axis`, in a tensor of `shape`. ShapeError where an integer dtype does not hold
/// the last one; so for arange() and dim_value().
Value iota(Graph& graph, const Shape& shape, int axis, DType dtype = DType::i64,
           SourceLocation loc = SourceLocation::current());
/// [0, 1, ..., n - 1].
Value arange(Graph& graph, const Dim& n, DType dtype = DType::i64,
             SourceLocation loc = SourceLocation::current());
/// A scalar with the value of a Dim.
Value dim_value(Graph& graph, const Dim& dim, DType dtype = DType::i64,
                SourceLocation loc = SourceLocation::current());
/// A tensor of one value, of zeros, of ones. Throws DTypeError for a value that an integer dtype
/// does not hold: a fraction, or one out of range.
Value full(Graph& graph, DType dtype, const Shape& shape, double value,
           SourceLocation loc = SourceLocation::current());
Value zeros(Graph& graph, DType dtype, const Shape& shape,
            SourceLocation loc = SourceLocation::current());
Value ones(Graph& graph, DType dtype, const Shape& shape,
           SourceLocation loc = SourceLocation::current());
/// Tensors of x's dtype and shape.
Value full_like(Arg x, double value);
Value zeros_like(Arg x);
Value ones_like(Arg x);

}  // namespace weft
