// Checks of custom operations. Weft's own operations must pass the same checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "weft/ops/op.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

struct RecordCheckOptions {
  /// The number of variations with which each property is checked, in addition to the record's
  /// samples. Variations use other sizes (0, 1, primes, large), ranks, attributes and dtypes,
  /// omitted operands, infinities and NaNs.
  int variations = 30;
  std::uint64_t seed = 1;
};

/// Checks the op `name` in `ops` with each of its samples and with variations of the samples:
/// - metadata: the record has documentation, samples, and a gradient or a reason for having none;
///   error samples cause their error message, with the user's source line;
/// - memory: kernels access only their operands and scratch memory (with an inaccessible page on
///   either side), and give the same bits for any order of chunks, at any alignment, in place if
///   the record allows it, and with outputs that are not read;
/// - values: f32 results agree with f64 results, and with `definition` if the record has one;
/// - gradients: first- and second-order gradients agree with finite differences;
/// - use in Sessions: all of this holds next to other ops with which passes fuse it, with symbolic
///   sizes, any number of threads, poisoned memory, shuffled chunks and a memory budget;
/// - text and files: printing and parsing, or saving and loading, gives the same program.
/// The failure message describes the fault and the operands and attributes that cause it. Takes
/// some seconds.
Outcome check_record(const std::shared_ptr<const OpSet>& ops, std::string_view name,
                     const RecordCheckOptions& options = {});

}  // namespace testing
}  // namespace weft
