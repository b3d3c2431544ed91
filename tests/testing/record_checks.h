// Operations of one's own, held to all that Weft's own are held to.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/ops/op.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

struct RecordCheckOptions {
  /// Besides the record's samples, so many variations of them: other sizes (0, 1, primes, large),
  /// ranks, attributes, dtypes, operands that are left out, infinities and NaN.
  int variations = 30;
  std::uint64_t seed = 1;
};

/// Op `name` of `ops` keeps, for each of its samples and for variations of them,
/// - its word: documentation, samples, a gradient or a reason for none, error samples that give
///   their message with the user's line;
/// - its memory: kernels touch nothing but operands and scratch (a page that nobody may touch lies
///   on either side), in any order of chunks, at any alignment, in place where the record says so,
///   with outputs that nobody reads: the same bits;
/// - its values: in f32 as in double, and as `definition` says where there is one;
/// - its gradients, of first and second order, against differences;
/// - all of it in Sessions: among other ops that passes fuse with it, with symbols for sizes, with
///   any number of threads, poisoned and shuffled, within a memory budget;
/// - text and files, which give the same program back.
/// The message says what is wrong, and for which operands and attributes. Takes some seconds.
Outcome check_record(const std::shared_ptr<const OpSet>& ops, std::string_view name,
                     const RecordCheckOptions& options = {});

}  // namespace testing
}  // namespace weft
