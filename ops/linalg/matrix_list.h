// Helpers shared by the ops on lists of matrices. A tensor x [..., rows, columns] is one list. Its
// matrices are factorised independently in double.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Returns `shape` without the last two axes.
Shape list_shape(const Shape& shape);
/// Throws ShapeError or DTypeError unless operand `i` has shape [..., n, n] and dtype f32 or f64.
/// `what` names the operand in the message.
void require_square(const InferContext& c, int i, std::string_view what);

struct MatrixList {
  std::int64_t count = 1, rows = 0, columns = 0;
};
/// Returns the list of matrices in a tensor with `sizes`. Requires that writes() is true, because
/// the product of the sizes may overflow if one axis has size 0.
MatrixList matrix_list(const Sizes& sizes);
/// Returns true if any output that has a reader is not empty. A kernel that writes nothing needs no
/// phases.
bool writes(const KernelRequest& request);

/// Returns a kernel with `count` units of about `unit_flops` FLOPs each. Every unit runs on one
/// worker. The scratch of a unit consists of consecutive arrays of doubles with the given sizes.
/// Throws ShapeError if a size is too large.
Kernel unit_kernel(
    std::int64_t count, double unit_flops, std::initializer_list<Sizes> scratch,
    std::function<void(const KernelRun& run, std::int64_t unit, double* scratch)> body);

/// Returns the cost of factorising all matrices of input 0, with flops(rows, columns) FLOPs per
/// matrix. All operands are read or written once.
Cost factorisation_cost(const KernelRequest& request, double (*flops)(double rows, double columns));

/// Returns a pointer to element `offset` of output `i`, or null if the output has no readers.
template <class T>
T* part_of_output(const KernelRun& run, std::size_t i, std::int64_t offset) {
  return run.outputs[i] == nullptr ? nullptr : run.out<T>(i) + offset;
}

}  // namespace weft
