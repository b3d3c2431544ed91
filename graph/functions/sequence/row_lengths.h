// Lengths of rows: the operand that functions over padded sequences share.
#pragma once

#include <string_view>

#include "weft/graph/functions/arg.h"

namespace weft {

/// The number of valid steps of each row of a padded batch.
struct RowLengths {
  Value lengths;       // i32 or i64 [batch]
  bool given = false;  // false if all steps of all rows are valid
  Dim longest;

  /// Returns the mask [batch, longest] of the valid steps.
  Value mask() const;
  /// Returns the lengths for ScanOptions::lengths.
  OptionalArg for_scan() const { return given ? OptionalArg(lengths) : OptionalArg(); }
};
/// Returns `given`, or `longest` for every row of x if it is absent. Throws ShapeError or
/// DTypeError unless `given` is i32 or i64 [batch], where batch is the first axis of x; elements
/// outside [0, longest] throw DataError at run time. `name` names the operand, and `function` the
/// function that the user called at `loc`.
RowLengths row_lengths(const OptionalArg& given, const Value& x, const Dim& longest,
                       std::string_view name, std::string_view function, SourceLocation loc);

/// Returns x [batch, n], i32 or i64, in which the elements after the length of a row are replaced
/// by `padding`. Other elements that are outside [0, last] or equal to `excluded` throw DataError
/// at run time, which names `name`, row, position and value. A negative `excluded` excludes
/// nothing.
Value valid_ids(const Value& x, const RowLengths& lengths, std::string_view name, const Dim& last,
                std::int64_t padding, std::int64_t excluded = -1);

}  // namespace weft
