// Shape manipulation (reshape, permute, slice, concat, pad, ...) and tensors created from sizes.
#pragma once

#include <utility>

#include "weft/graph/functions/axes.h"

namespace WEFT_API weft {

// All functions accept any dtype and are differentiable if x has a floating-point dtype. Negative
// axes count from the end. reshape and the functions built on it (flatten, squeeze, unsqueeze) copy
// nothing; the others cost one pass over their result. A tensor has at most 2^47 bytes
// (kMaxTensorBytes).

// -- Reshaping and reordering of axes -------------------------------------------------------------

/// Returns the same elements, in the same order, with a new shape. One size may be -1 and is
/// inferred by exact division of Dims. Throws ShapeError unless both shapes provably have the same
/// number of elements.
Value reshape(Arg x, std::initializer_list<AxisSize> sizes);
Value reshape(Arg x, const Shape& shape);
/// Merges the axes from `first` to `last`, inclusive, into one.
Value flatten(Arg x, int first = 0, int last = -1);
/// Reorders the axes: axis i of the result is axis order[i] of x.
Value permute(Arg x, const std::vector<int>& order);
/// Swaps two axes.
Value transpose(Arg x, int a = -2, int b = -1);
/// Broadcasts x to a shape according to NumPy's rules: repeats axes of size 1 and adds leading
/// axes.
Value broadcast_to(Arg x, std::initializer_list<AxisSize> sizes);
Value broadcast_to(Arg x, const Shape& shape);
/// Removes axes of size 1: the given ones, or by default all axes whose size is the constant 1.
Value squeeze(Arg x, const Axes& axes = {});
/// Inserts an axis of size 1, which becomes axis `axis` of the result.
Value unsqueeze(Arg x, int axis);

// -- Slicing and splitting ------------------------------------------------------------------------

/// The slice begin:end:step of one axis, as in Python. Absent bounds extend to the ends of the
/// axis, negative constants count from the end, and a negative step reverses the order. If the axis
/// size and the bounds are constant, the bounds are clamped to the axis. Otherwise the bounds are
/// not clamped, but checked when the sizes are known.
struct Slice {
  std::optional<Dim> begin = {};
  std::optional<Dim> end = {};
  std::int64_t step = 1;
};
/// Returns x[slices[0], slices[1], ...]. Axes without a Slice are kept whole.
Value slice(Arg x, const std::vector<Slice>& slices);
/// Slices one axis.
Value slice(Arg x, int axis, const Slice& slice);
/// Returns x[..., index, ...] without the axis. A negative constant index counts from the end.
Value select(Arg x, int axis, const Dim& index);
/// Splits x along an axis into pieces of the given sizes. Throws ShapeError unless the sizes add up
/// to the size of the axis.
std::vector<Value> split(Arg x, const std::vector<Dim>& sizes, int axis = 0);
/// Splits x along an axis into `pieces` pieces of equal size. Throws ShapeError unless the size of
/// the axis is provably divisible by `pieces`.
std::vector<Value> split_equal(Arg x, int pieces, int axis = 0);

// -- Concatenating, padding and reordering --------------------------------------------------------

/// Concatenates values along an existing axis.
Value concat(const std::vector<Value>& xs, int axis = 0,
             SourceLocation loc = SourceLocation::current());
/// Stacks values of equal shape along a new axis, which is axis `axis` of the result.
Value stack(const std::vector<Value>& xs, int axis = 0,
            SourceLocation loc = SourceLocation::current());

/// How pad() computes the added elements.
enum class PadMode {
  constant,   // PadOptions::value
  reflect,    // mirror image without repeating the border element; requires padding < size
  replicate,  // the border element
};
struct PadOptions {
  PadMode mode = PadMode::constant;
  double value = 0;
};
/// Pads axis i with pads[i].first elements at the beginning and pads[i].second at the end. Throws
/// DTypeError if x's dtype cannot represent the padding value: a fraction for an integer dtype, or
/// a number out of range.
Value pad(Arg x, const std::vector<std::pair<Dim, Dim>>& pads, const PadOptions& options = {});

/// Reverses the order of the elements along the axes.
Value flip(Arg x, const Axes& axes);
/// Repeats x repeats[i] times along axis i (NumPy: tile). A list shorter than the rank is aligned
/// with the last axes; a longer one adds leading axes.
Value repeat(Arg x, const std::vector<std::int64_t>& repeats);
/// Repeats each element `repeats` times along the axis, with adjacent copies.
Value repeat_interleave(Arg x, std::int64_t repeats, int axis);
/// Rotates the elements along the axis: out[(i + shift) mod n] = x[i]. If the axis is symbolic,
/// |shift| must not exceed its size.
Value roll(Arg x, std::int64_t shift, int axis);
/// Lower (tril) or upper (triu) triangle of the last two axes: sets elements above or below the
/// k-th diagonal to 0.
Value tril(Arg x, std::int64_t k = 0);
Value triu(Arg x, std::int64_t k = 0);
/// Rearranges channels into space: [N, C * r * r, H, W] -> [N, C, H * r, W * r] (Shi et al. 2016).
Value pixel_shuffle(Arg x, std::int64_t r);

// -- Creation from sizes --------------------------------------------------------------------------

/// Returns a tensor of `shape` whose elements are their index along `axis`. Like arange() and
/// dim_value(), throws ShapeError if an integer dtype cannot represent the largest element.
Value iota(Graph& graph, const Shape& shape, int axis, DType dtype = DType::i64,
           SourceLocation loc = SourceLocation::current());
/// Returns the tensor [0, 1, ..., n - 1].
Value arange(Graph& graph, const Dim& n, DType dtype = DType::i64,
             SourceLocation loc = SourceLocation::current());
/// Returns a scalar with the value of a Dim.
Value dim_value(Graph& graph, const Dim& dim, DType dtype = DType::i64,
                SourceLocation loc = SourceLocation::current());
/// Returns a tensor in which all elements are `value`, 0 or 1. Throws DTypeError if an integer
/// dtype cannot represent `value` exactly: a fraction, or a number out of range.
Value full(Graph& graph, DType dtype, const Shape& shape, double value,
           SourceLocation loc = SourceLocation::current());
Value zeros(Graph& graph, DType dtype, const Shape& shape,
            SourceLocation loc = SourceLocation::current());
Value ones(Graph& graph, DType dtype, const Shape& shape,
           SourceLocation loc = SourceLocation::current());
/// As above, with the dtype and shape of x.
Value full_like(Arg x, double value);
Value zeros_like(Arg x);
Value ones_like(Arg x);

}  // namespace weft
