// A tile program made for tensors of concrete sizes: how its inputs broadcast to the shape of its
// steps, and how they come to the interpreter tile by tile.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/ops/broadcast_plan.h"
#include "weft/ops/fusion/tile_interpreter.h"
#include "weft/ops/kernel.h"

namespace weft {

class FusedProgram {
 public:
  /// Where results go: tensors, or rows that somebody works on at once.
  enum class Results { stored, rows };

  /// `sizes` is the shape of all steps; `needed` says which results anybody wants.
  FusedProgram(TileProgram program, const std::vector<OperandSpec>& inputs, const Sizes& sizes,
               const std::vector<char>& needed, Results results);

  std::int64_t numel() const { return numel_; }
  /// Scratch of a worker, in bytes.
  std::size_t scratch() const { return scratch_; }
  double ns_per_element() const;
  /// Elements of which a row is made at once, at most.
  std::int64_t tile() const { return interpreter_->tile(); }

  /// Elements [begin, end) of all results, which begin at run.outputs with element `origin`. An
  /// element's bits never depend on the range.
  void run(const KernelRun& run, std::int64_t begin, std::int64_t end,
           std::int64_t origin = 0) const;

 private:
  /// How one input comes to a tile.
  struct Input {
    std::size_t element_size = 0;
    bool whole = false;   // a key
    bool spread = false;  // copied into a dense row first
    bool prefetch = false;
    std::size_t scratch = 0;
  };

  void spread(const Sizes& sizes, const std::vector<Sizes>& broadcast);
  bool overwrites_input(const KernelRun& run, std::size_t r) const;
  const void* spread_input(const KernelRun& run, std::size_t i, std::int64_t position,
                           std::int64_t n) const;

  TileProgram program_;
  std::vector<Input> inputs_;
  std::vector<std::size_t> result_size_;  // bytes of an element
  BroadcastPlan plan_{Sizes{}, {}};
  std::vector<BroadcastPlan> plans_;  // of inputs that are spread
  std::unique_ptr<TileInterpreter> interpreter_;
  std::int64_t numel_ = 0;
  std::size_t scratch_ = 0;
  std::uint32_t nontemporal_ = 0;  // bits of results to write past the caches
  bool prefetch_ = false;
};

}  // namespace weft
