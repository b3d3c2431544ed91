// The part of a Trace that one Session writes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/engine/trace.h"
#include "weft/graph/plan/plan.h"

namespace weft {

/// The part of a plan that a timeline shows. Copied, because the graph may be destroyed before the
/// timeline is written.
struct TracedPlan {
  struct Step {
    std::string name, where;
    double flops = 0, bytes = 0;
  };
  std::string program;
  IdVector<StepId, Step> steps;
  IdVector<WaveId, std::size_t> live;  // bytes of the arena in use during each wave
};

/// Records the runs of one Session. Each worker slot has its own buffer, so recording needs no
/// locks.
class TraceRecorder {
 public:
  TraceRecorder(Trace& trace, int slots);

  /// Returns true if the next run is to be recorded.
  bool begin_run();
  /// Returns true if no more events fit into memory.
  bool is_full();

  /// Returns the description of a plan, which is copied when the plan is seen first.
  const TracedPlan* describe(const std::shared_ptr<const Plan>& plan);

  /// A slice on the track of the Session: a wave, another named part of a run, or a whole run.
  struct Span {
    const TracedPlan* plan = nullptr;
    std::string_view name = {};  // of static storage duration; empty for waves and runs
    WaveId wave = {};
    double begin = 0, end = 0;
    bool is_body = false;  // a wave of a loop or branch
  };
  void span(const Span& span);
  /// Chunks of a step that a worker computed one after the other.
  struct Chunks {
    const TracedPlan* plan;
    StepId step;
    std::int64_t wave;  // number of the wave among all waves of the recorder
    double begin, end;
    double busy;  // sum of the times of the chunks
    std::int64_t count;
  };
  void chunk(const TracedPlan* plan, StepId step, int slot, double begin, double end) {
    std::vector<Chunks>& own = slots_[static_cast<std::size_t>(slot)].chunks;
    if (!own.empty() && own.back().plan == plan && own.back().step == step &&
        own.back().wave == wave_) {
      own.back().end = end;
      own.back().busy += end - begin;
      ++own.back().count;
    } else {
      own.push_back({plan, step, wave_, begin, end, end - begin, 1});
    }
  }
  /// Separates the chunks of consecutive phases and waves.
  void next_phase() { ++wave_; }

 private:
  friend class Trace;
  struct alignas(64) Slot {  // workers do not write into the same cache line
    std::vector<Chunks> chunks;
  };
  Trace& trace_;
  std::vector<Slot> slots_;
  std::vector<Span> spans_;
  std::map<std::weak_ptr<const Plan>, std::unique_ptr<TracedPlan>, std::owner_less<>> plans_;
  std::int64_t wave_ = 0;
};

}  // namespace weft
