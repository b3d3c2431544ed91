// Rematerialisation: values that are dropped after their first uses and recomputed before later
// ones, so that less memory is live at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "weft/graph/plan/ids.h"

namespace weft {

/// What choosing needs to know of a serial order of steps, numbered by position. At most one step
/// makes a value.
struct RecomputeProblem {
  struct Step {
    std::vector<ValueId> reads;  // each once
    std::vector<ValueId> writes;
    std::vector<std::pair<ValueId, ValueId>> inplace;  // {written, read} that may share memory
    std::size_t scratch = 0;                           // bytes that live only during the step
    double cost_ns = 0;
    bool can_rematerialise = false;  // the step may run a second time
    /// It may do so only before this step: later its operands are written over.
    StepId rematerialise_before = StepId(std::numeric_limits<int>::max());
  };
  IdVector<StepId, Step> steps;
  IdVector<ValueId, std::size_t> bytes;  // 0 for what is not in the arena
  IdVector<ValueId, char> live_out;      // lives to the end
};

/// Per step: none, or the step after which all readers of its results take those of a second run. A
/// step runs at most twice; the second run comes just before the first step that needs it.
using Recomputed = IdVector<StepId, StepId>;

/// One run of a step in the order that results.
struct StepRun {
  StepId step;
  bool rematerialised = false;
  StepId before;  // the step for which it runs: itself, or a later one
};
std::vector<StepRun> runs_of(const RecomputeProblem& problem, const Recomputed& recomputed);

/// True if a reader that runs for step `before` takes the producer's rematerialised results.
inline bool reads_rematerialised(const Recomputed& recomputed, StepId producer, StepId before) {
  const StepId cut = producer.defined() ? recomputed[producer] : StepId();
  return cut.defined() && before > cut;
}

/// Most bytes that live at the same time.
std::size_t peak_bytes(const RecomputeProblem& problem, const Recomputed& recomputed);

/// Chooses what to rematerialise so that at most `target` bytes live at the same time; nothing if
/// that was not found. Greedy: of all results that are live, but not in use, where there are too
/// many bytes, the one that saves most per nanosecond comes first, together with those operands of
/// its second run that are gone by then. At the end, choices that turned out to be superfluous are
/// undone, the most expensive first. (A covering problem; compare Chen et al., "Training deep nets
/// with sublinear memory cost", 2016, and the rematerialisation of XLA.)
std::optional<Recomputed> choose_recomputed(const RecomputeProblem& problem, std::size_t target);

}  // namespace weft
