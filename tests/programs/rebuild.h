// A case with other sizes and attributes.
#pragma once

#include <functional>

#include "weft/tests/programs/case.h"

namespace weft::testing {

/// What becomes of a case.
struct Rebuilding {
  /// What a size becomes, in types of leaves and in attributes; not larger than it was.
  std::function<std::int64_t(std::int64_t)> size = [](std::int64_t s) { return s; };
  /// Attributes of a node, whose sizes have become what they shall be.
  std::function<Attributes(const Node& node, Attributes attributes)> attributes =
      [](const Node&, Attributes a) { return a; };
  /// Integers of leaves become smaller than this, if it is not 0: they may be indices.
  std::int64_t integers_below = 0;
};

/// The case built anew: data of leaves are the first of what they were, symbols have what the runs
/// of `c` say. For programs without functions; throws what the shape rules throw.
Case rebuilt(const Case& c, const Rebuilding& what);

/// A copy with other sizes of symbols in a run: data of inputs are the first of what they were.
Case with_dims(const Case& c, std::size_t run, const DimValues& dims);

}  // namespace weft::testing
