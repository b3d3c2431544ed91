// Reading and writing the rows of a tensor whose numbers are computed in the graph: the common part
// of GatherND, ScatterElements, ScatterND, MaxUnpool, GridSample and RoiAlign.
#pragma once

#include <string>
#include <vector>

#include "weft/serialization/onnx/import/node_import.h"

namespace weft::onnx {

/// Returns an index (i32 or i64) along an axis of `size` elements with `size` added to negative
/// elements.
Value wrapped_index(NodeImport& n, Value index, const Dim& size);

/// Returns the numbers of the rows of a tensor with the leading axes `sizes`, i64, in row-major
/// order. index[i] counts along axis i; negative elements count from its end. The indices
/// broadcast. An index out of range throws DataError at run time.
Value row_numbers(NodeImport& n, const std::vector<Value>& index, const std::vector<Dim>& sizes);

/// Returns x [rows, width] with the rows `row` [K] combined with updates [K, width]. `reduction` is
/// "none" (the last update of a row replaces it), "add", "mul", "max" or "min".
Value scatter_rows(NodeImport& n, Value x, Value row, Value updates, const std::string& reduction);

}  // namespace weft::onnx
