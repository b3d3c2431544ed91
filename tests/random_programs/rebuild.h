// Rebuilds a case with different sizes and attributes.
#pragma once

#include <functional>

#include "weft/tests/random_programs/case.h"

namespace weft::testing {

/// Describes how rebuilt() changes a case.
struct Rebuilding {
  /// Maps a size that occurs in the type of a leaf or in an attribute. The result must not be
  /// larger.
  std::function<std::int64_t(std::int64_t)> size = [](std::int64_t s) { return s; };
  /// Maps the attributes of a node. The sizes in them have already been mapped.
  std::function<Attributes(const Node& node, Attributes attributes)> attributes =
      [](const Node&, Attributes a) { return a; };
  /// If not 0, integers in leaves are reduced to values below this number, because they may be used
  /// as indices.
  std::int64_t integers_below = 0;
};

/// Rebuilds the case. Leaves keep the first elements of their data, and symbols keep the sizes that
/// they have in the runs of `c`. Programs with functions are not supported. Propagates errors from
/// shape rules.
Case rebuilt(const Case& c, const Rebuilding& what);

/// Returns a copy with different symbol sizes in one run. Inputs keep the first elements of their
/// data.
Case with_dims(const Case& c, std::size_t run, const DimValues& dims);

}  // namespace weft::testing
