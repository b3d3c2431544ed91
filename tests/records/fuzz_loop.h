// Runs random cases of every record, seeded and limited in number. Each case can be repeated on its
// own.
#pragma once

#include <functional>
#include <string>

#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// Returns a description of the failure of a case, or "".
using CaseBody = std::function<std::string(const OpRecord& op, const OpSample& sample, Draw& draw)>;

struct FuzzOptions {
  /// Number of cases of each op in a normal run.
  int cases_per_op = 50;
  /// How samples are varied; may draw from the generator.
  std::function<VaryOptions(Draw&)> vary = [](Draw&) { return VaryOptions{}; };
  /// Selects the ops; all ops with samples if empty.
  std::function<bool(const OpRecord&)> ops = {};
};

/// The environment variables WEFT_FUZZ_SEED and WEFT_FUZZ_SECONDS (0 if not set), described below.
std::string fuzz_seed();
double fuzz_seconds();

/// Runs `body` on variations of the samples of every record. Failures, including crashes and
/// endless loops, are reported as errors of the current Boost test, with a command that repeats the
/// case. Environment variables:
///   WEFT_FUZZ_SECONDS  continue with further cases for this time
///   WEFT_FUZZ_SEED     selects another sequence of cases; the default is 1
///   WEFT_FUZZ_OP       only this op
///   WEFT_FUZZ_CASE     only the case with this number, as printed in a message
///   WEFT_FUZZ_CASES    number of cases of each op instead of the normal number
void fuzz_records(const FuzzOptions& options, const CaseBody& body);

}  // namespace weft::testing
