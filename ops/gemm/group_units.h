// Division of the work on groups of rows into chunks. The sizes of the groups are data.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/core/rounding.h"
#include "weft/ops/gemm/detail.h"
#include "weft/ops/kernel.h"

namespace weft::gemm_detail {

/// The rows of all groups in one run: group e has the next sizes[e] rows. The rows after the last
/// group form group number `groups`.
struct GroupRows {
  const void* sizes = nullptr;  // i32 or i64 [groups]
  DType dtype = DType::i64;
  std::int64_t groups = 0;
  std::int64_t rows = 0;

  /// Calls body(group, rows) for all groups in order, including group number `groups`.
  template <class Body>
  void for_each(const Body& body) const {
    Range next;
    for (std::int64_t group = 0; group < groups; ++group) {
      next = {next.end,
              next.end + (dtype == DType::i32 ? static_cast<const std::int32_t*>(sizes)[group]
                                              : static_cast<const std::int64_t*>(sizes)[group])};
      body(group, next);
    }
    body(groups, Range{next.end, rows});
  }
};

/// The units of work of a group.
struct GroupUnits {
  std::int64_t count = 0;
  std::int64_t weight = 0;   // of one unit, in proportion to its time
  std::int64_t storage = 0;  // of the whole group, for example bytes of packed operands
};

/// One unit of work.
struct GroupUnit {
  std::int64_t group = 0;
  Range rows;                // of the group
  std::int64_t index = 0;    // within the group
  std::int64_t storage = 0;  // the sum of the storage of the groups before
};

/// Calls body(unit) for the units of chunk `chunk`. Chunks have about equal weight. `units(group,
/// rows)` returns the GroupUnits of a group. Costs O(groups) per chunk.
template <class Units, class Body>
void run_units(const GroupRows& groups, std::int64_t chunks, std::int64_t chunk, const Units& units,
               const Body& body) {
  std::int64_t total = 0;
  groups.for_each([&](std::int64_t group, const Range& rows) {
    const GroupUnits of = units(group, rows);
    total += of.count * of.weight;
  });
  const auto [begin, end] = chunk_range(total, chunks, chunk);
  GroupUnit unit;
  std::int64_t start = 0;  // the weight of the groups before
  groups.for_each([&, begin = begin, end = end](std::int64_t group, const Range& rows) {
    const GroupUnits of = units(group, rows);
    const std::int64_t weight = of.count * of.weight;
    if (weight > 0 && start < end && start + weight > begin) {
      unit.group = group, unit.rows = rows;
      // A unit belongs to the chunk in which it starts.
      unit.index = begin <= start ? 0 : divide_up(begin - start, of.weight);
      const std::int64_t last = std::min(of.count, divide_up(end - start, of.weight));
      for (; unit.index < last; ++unit.index) body(unit);
    }
    start += weight;
    unit.storage += of.storage;
  });
}

}  // namespace weft::gemm_detail
