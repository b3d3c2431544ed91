// Samples and error samples of the built-in ops, which are test data: tests/samples/ defines them,
// except those of unary and binary elementwise ops, which are made from the tables of these ops.
// Records do not refer to them. Only programs that define add_builtin_samples, such as Weft's tests
// (tests/samples/builtin_samples.cc), contain the samples.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/ops/op.h"

namespace weft {

/// A collection of samples for the newest version of each op.
class OpSamples {
 public:
  using Samples = RecordFunction<std::vector<OpSample>()>;
  using Errors = RecordFunction<std::vector<OpErrorSample>()>;
  /// Adds the samples of an op. Throws ArgumentError if the op already has samples.
  void add(std::string_view op, Samples samples, Errors errors = nullptr);
  /// Returns the records of `ops` with their samples. Throws ArgumentError if there are samples of
  /// an op that is not in `ops`.
  OpSet in(const OpSet& ops) const;

 private:
  struct Entry {
    Samples samples;
    Errors errors;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

/// Must call BuiltinFamilies::add_to(all). If a program defines this function, builtin_ops() calls
/// it.
WEFT_API [[gnu::weak]] void add_builtin_samples(OpSamples& all);

}  // namespace weft
