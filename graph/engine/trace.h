// Trace: a timeline of the runs of Sessions, for ui.perfetto.dev and chrome://tracing.
//
//   Trace trace;
//   Session session(graph, {.trace = &trace});
//   session.run(program, feeds);
//   std::ofstream("run.json") << trace.json();
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

class TraceRecorder;

/// Records when every wave of a run started and ended, which worker computed which chunks of which
/// step, and how many bytes of the arena were in use. Runs execute as they do without a Trace; each
/// chunk and each wave costs two readings of the clock, about 0.1 us. (A Profile, in contrast, runs
/// the steps of a wave one after the other and sums up their times.)
///
/// Several Sessions, also on different threads, may record into one Trace, which must outlive them.
/// The other functions must not be called during a run, except by the thread that runs it.
class Trace {
 public:
  /// The steps to record, numbered from 1. A step is a training step if a Trainer announces them
  /// (begin_step()); otherwise each run of a Session is a step.
  struct Steps {
    std::int64_t first = 1;
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
  };
  explicit Trace(Steps steps);
  Trace() : Trace(Steps()) {}
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Begins or ends a step that consists of several runs. Runs outside of such steps are then not
  /// recorded.
  void begin_step(std::int64_t step);
  void end_step();
  /// Records a slice of the current step that is not a run, such as waiting for a batch. `begin`
  /// and `end` are returned by now(). Ignored outside of recorded steps.
  void slice(std::string name, double begin, double end);

  /// Returns the time of a monotonic clock in seconds.
  static double now();
  /// Returns the time at which the Trace was constructed, in seconds since 1970.
  double start() const { return start_; }
  /// True if nothing was recorded.
  bool empty() const;
  /// True if there were more events than fit into memory (4 million for each Session). The events
  /// after them are missing.
  bool truncated() const;

  /// A process of the timeline: one of the ranks that run a program together.
  struct Process {
    int rank = 0;
    /// Time 0 of the timeline, in seconds since 1970; 0 = start(). Ranks use a common origin, so
    /// that they are shown side by side. Their clocks may differ by as much as those of their
    /// machines.
    double origin = 0;
  };
  /// Returns the events as JSON objects, separated by commas.
  std::string events(const Process& process) const;
  /// Returns a complete trace file with the events of all processes.
  static std::string json(const std::vector<std::string>& events);
  /// Returns a complete trace file with the events of this process.
  std::string json() const { return json({events({})}); }

 private:
  friend class TraceRecorder;
  friend class Executor;
  struct State;
  /// Adds the tracks of a Session with this number of worker slots.
  TraceRecorder& add_recorder(int slots);
  double start_, start_now_;
  std::unique_ptr<State> state_;
};

}  // namespace weft
