// Rematerialisation: values are dropped after their first uses and recomputed before later uses, so
// that less memory is live at the same time.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "weft/graph/plan/ids.h"

namespace weft {

/// Input of choose_recomputed: a serial order of steps, numbered by position. At most one step
/// produces each value.
struct RecomputeProblem {
  struct Step {
    std::vector<ValueId> reads;  // without duplicates
    std::vector<ValueId> writes;
    /// {written, read} pairs that may share memory.
    std::vector<std::pair<ValueId, ValueId>> inplace;
    std::size_t scratch = 0;  // bytes that are live only during the step
    double cost_ns = 0;
    bool can_rematerialise = false;  // true if the step may run a second time
    /// A second run is possible only before this step, which overwrites an operand.
    StepId rematerialise_before = StepId(std::numeric_limits<int>::max());
  };
  IdVector<StepId, Step> steps;
  IdVector<ValueId, std::size_t> bytes;  // 0 for values outside the arena
  IdVector<ValueId, char> live_out;      // true if the value is live until the end
};

/// Indexed by step: undefined, or the step after which all readers use the results of a second run
/// (the cut). A step runs at most twice; the second run comes directly before the first step that
/// needs it.
using Recomputed = IdVector<StepId, StepId>;

/// One run of a step in the resulting order.
struct StepRun {
  StepId step;
  bool rematerialised = false;
  StepId before;  // the step that needs this run: the step itself, or a later one
};
std::vector<StepRun> runs_of(const RecomputeProblem& problem, const Recomputed& recomputed);

/// Returns true if a reader that runs for step `before` uses the producer's rematerialised results.
inline bool reads_rematerialised(const Recomputed& recomputed, StepId producer, StepId before) {
  const StepId cut = producer.defined() ? recomputed[producer] : StepId();
  return cut.defined() && before > cut;
}

/// Returns the largest number of bytes that are live at the same time.
std::size_t peak_bytes(const RecomputeProblem& problem, const Recomputed& recomputed);

/// Chooses the steps to rematerialise so that at most `target` bytes are live at the same time.
/// Returns nullopt if no such choice is found. The algorithm is greedy. It considers the results
/// that are live but unused while too many bytes are live, and first chooses the result that saves
/// the most bytes per nanosecond, together with the operands that its second run needs but that are
/// no longer live. At the end it undoes unnecessary choices, most expensive first. (This is a
/// covering problem; compare Chen et al., "Training deep nets with sublinear memory cost", 2016,
/// and rematerialisation in XLA.)
std::optional<Recomputed> choose_recomputed(const RecomputeProblem& problem, std::size_t target);

}  // namespace weft
