// Runs random cases for every record. Cases are seeded and limited in number, and each case can be
// repeated on its own.
#pragma once

#include <functional>
#include <string>

#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {

/// Returns a description of the failure of a case, or "".
using CaseBody = std::function<std::string(const OpRecord& op, const OpSample& sample, Draw& draw)>;

struct FuzzOptions {
  /// Number of cases for each op in a normal run.
  int cases_per_op = 50;
  /// How samples are varied. The function may draw from the generator.
  std::function<VaryOptions(Draw&)> vary = [](Draw&) { return VaryOptions{}; };
  /// Selects the ops. If empty, all ops with samples are selected.
  std::function<bool(const OpRecord&)> ops = {};
};

/// Return the environment variables WEFT_FUZZ_SEED and WEFT_FUZZ_SECONDS (0 if not set), which are
/// described below.
std::string fuzz_seed();
double fuzz_seconds();

/// Runs `body` on variations of the samples of every record. Failures, including crashes and
/// endless loops, are reported as errors of the current Boost test, with a command that repeats the
/// case. Environment variables:
///   WEFT_FUZZ_SECONDS  continues with further cases for this time
///   WEFT_FUZZ_SEED     selects another sequence of cases; the default is 1
///   WEFT_FUZZ_OP       runs only this op
///   WEFT_FUZZ_CASE     runs only the case with this number, as printed in a message
///   WEFT_FUZZ_CASES    sets the number of cases for each op
void fuzz_records(const FuzzOptions& options, const CaseBody& body);

}  // namespace weft::testing
