// Runs a tile program on one row of elements at a time.
//
// Consecutive exact float steps run as a chain (ops/kernels/chain.h): values between them stay in
// vector registers. Between other steps, a row of at most `tile()` elements stays in the L1 cache.
// The constructor resolves everything in advance (functions for the current CPU, operand
// positions). The kernel of the `fused` op runs the interpreter over tensors. A matrix product runs
// it on the rows of a finished block (run_block), which is one of the inputs; a result may
// overwrite it. The bits are the same as those of the separate ops.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/ops/fusion/tile_program.h"
#include "weft/ops/fusion/tile_schedule.h"

namespace weft {

class TileInterpreter {
 public:
  /// See make_tile_schedule.
  TileInterpreter(const TileProgram& program, const std::vector<DType>& dtypes,
                  std::uint32_t scalars, const std::vector<char>& needed)
      : schedule_(make_tile_schedule(program, dtypes, scalars, needed)) {}

  /// Memory of later rows, to be prefetched into the L2 cache while a row is computed.
  struct Prefetch {
    std::array<kernels::PrefetchRow, TileProgram::kMaxInputs> row;
    std::size_t rows = 0;
    void add(const void* at, std::size_t bytes) {
      row[rows++] = {static_cast<const std::byte*>(at), bytes};
    }
  };

  /// The maximum number of elements of a row; a multiple of 64.
  std::int64_t tile() const { return schedule_.tile; }
  /// Scratch bytes per worker, 64-byte aligned, not initialised.
  std::size_t scratch_bytes() const;
  /// Returns a mask: bit r is set if the store of result r must be deferred to the end of the row,
  /// because the result shares memory with an input that a later step reads.
  std::uint32_t deferred_stores(const void* const* in, void* const* out) const;

  /// One row of 1 <= n <= tile() elements.
  struct Row {
    /// in[i] points to input i at the first element of the row (or to its single element, or to the
    /// whole key).
    const void* const* in = nullptr;
    /// out[r] points to result r (any pointer if the result is not needed). A result may share the
    /// memory of a non-scalar input with elements of the same size, if `deferred` is set to
    /// deferred_stores().
    void* const* out = nullptr;
    std::int64_t n = 0;
    /// The index of the first element in the whole result.
    std::int64_t position = 0;
    /// Bits of the results that are copied to their destination after the last step.
    std::uint32_t deferred = 0;
    /// Bits of the results that are written with non-temporal stores (past the caches): call
    /// kernels::stream_fence() after the last row.
    std::uint32_t nontemporal = 0;
  };
  void run(const Row& row, std::byte* scratch, const Prefetch* prefetch = nullptr) const;

  /// A block of `rows` rows of any number of `columns` elements. Row r of input i begins at in[i] +
  /// r * in_stride[i] bytes and row r of result k at out[k] + r * out_stride[k] bytes; it is at
  /// position + r * position_stride of the whole result.
  struct Block {
    const void* const* in;
    const std::ptrdiff_t* in_stride;  // bytes; 0 repeats a row
    void* const* out;
    const std::ptrdiff_t* out_stride;
    std::int64_t rows, columns;
    std::int64_t position, position_stride;
  };
  void run_block(const Block& block, std::byte* scratch) const;

  double ns_per_element() const { return schedule_.ns_per_element; }

 private:
  using Pointers = std::array<void*, TileSchedule::kMaxPointers>;

  void run_chain(const TileSchedule::Segment& segment, const Pointers& pointers, const Row& row,
                 std::uint32_t nontemporal, const Prefetch* prefetch) const;

  TileSchedule schedule_;
};

}  // namespace weft
