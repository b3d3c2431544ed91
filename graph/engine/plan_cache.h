// Cache of compiled programs and their plans.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Compiled programs and their plans. Both lists are bounded and evict the least recently used
/// entry.
class PlanCache {
 public:
  struct Options {
    int plans = 16;
    bool passes = true;
    bool verify = false;
    std::size_t guard = 0;
    Precision precision = Precision::highest;
    bool batch_invariant = false;
    std::size_t memory_budget = 0;
    bool prepack = false;
    bool check_finite = false;
  };
  explicit PlanCache(Options options) : options_(options) {}

  /// Returns the compiled program, from the cache if possible. `streamed` names the streamed
  /// outputs (RunOptions::streamed).
  std::shared_ptr<const CompiledProgram> compiled(const Program& program,
                                                  const std::vector<std::string>& fetch,
                                                  const std::vector<std::string>& streamed = {});
  std::shared_ptr<const Plan> plan(const std::shared_ptr<const CompiledProgram>& program,
                                   const Bindings& bindings);
  /// Drops all entries for programs over `graph`, which is about to be destroyed.
  void forget(const Graph& graph);
  std::int64_t compile_count() const { return compile_count_; }
  std::int64_t specialise_count() const { return specialise_count_; }

 private:
  // The content of a program, that is, names and values. Programs with equal content are compiled
  // once.
  struct ProgramKey {
    std::vector<std::uint64_t> words;
    std::string names;
    friend bool operator==(const ProgramKey&, const ProgramKey&) = default;
  };
  struct CompiledEntry {
    ProgramKey key;
    const Graph* graph;
    std::shared_ptr<const CompiledProgram> program;
  };
  struct PlanEntry {
    std::vector<std::int64_t> sizes;  // sizes of the graph's symbols
    std::shared_ptr<const Plan> plan;
  };
  static ProgramKey key_of(const Program& program, const std::vector<std::string>& fetch,
                           const std::vector<std::string>& streamed);

  const Options options_;
  std::list<CompiledEntry> programs_;  // most recent first
  std::list<PlanEntry> plans_;
  std::int64_t compile_count_ = 0;
  std::int64_t specialise_count_ = 0;
};

}  // namespace weft
