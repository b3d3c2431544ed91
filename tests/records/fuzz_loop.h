// Random cases of every record, bounded and seeded; each can be run again alone.
#pragma once

#include <functional>
#include <string>

#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// What a case finds wrong, "" if nothing.
using CaseBody = std::function<std::string(const OpRecord& op, const OpSample& sample, Draw& draw)>;

struct FuzzOptions {
  /// Cases of each op in a usual run.
  int cases_per_op = 50;
  /// How samples are varied; may draw.
  std::function<VaryOptions(Draw&)> vary = [](Draw&) { return VaryOptions{}; };
  /// Which ops take part; all with samples if empty.
  std::function<bool(const OpRecord&)> ops = {};
};

/// WEFT_FUZZ_SEED, and WEFT_FUZZ_SECONDS (0 where it is not set): see below.
std::string fuzz_seed();
double fuzz_seconds();

/// Runs `body` on variations of the samples of every record and reports what it finds, crashes and
/// endless loops included, as errors of the current Boost test, with a line that runs the case
/// again. The environment:
///   WEFT_FUZZ_SECONDS  goes on with further cases for so long
///   WEFT_FUZZ_SEED     another sequence of cases; the default is 1
///   WEFT_FUZZ_OP       only this op
///   WEFT_FUZZ_CASE     only the case of this number (as a message gives it)
///   WEFT_FUZZ_CASES    so many cases of each op instead of the usual number
void fuzz_records(const FuzzOptions& options, const CaseBody& body);

}  // namespace weft::testing
