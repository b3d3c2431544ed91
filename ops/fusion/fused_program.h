// A tile program for tensors with concrete sizes. It broadcasts its inputs to the shape of its
// steps and passes them to the interpreter tile by tile.
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
  /// Specifies whether results are stored in tensors or written to rows that the caller consumes
  /// immediately.
  enum class Results { stored, rows };

  /// `sizes` is the shape of all steps; `needed[r]` is true if result r has a reader.
  FusedProgram(TileProgram program, const std::vector<OperandSpec>& inputs, const Sizes& sizes,
               const std::vector<char>& needed, Results results);

  std::int64_t numel() const { return numel_; }
  /// Returns the number of bytes of scratch per worker.
  std::size_t scratch() const { return scratch_; }
  double ns_per_element() const;
  /// Returns the maximum number of elements that are computed at a time.
  std::int64_t tile() const { return interpreter_->tile(); }

  /// Computes elements [begin, end) of all results. The pointers in run.outputs refer to element
  /// `origin` of the results. The bits of an element never depend on the range.
  void run(const KernelRun& run, std::int64_t begin, std::int64_t end,
           std::int64_t origin = 0) const;

 private:
  /// Describes how an input is passed to a tile.
  struct Input {
    std::size_t element_size = 0;
    bool whole = false;   // true for a key, which is read as a whole
    bool spread = false;  // true if the input is first expanded into a dense row
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
  std::vector<BroadcastPlan> plans_;  // for the inputs that are expanded
  std::unique_ptr<TileInterpreter> interpreter_;
  std::int64_t numel_ = 0;
  std::size_t scratch_ = 0;
  std::uint32_t nontemporal_ = 0;  // bits of the results that are written with non-temporal stores
  bool prefetch_ = false;
};

}  // namespace weft
