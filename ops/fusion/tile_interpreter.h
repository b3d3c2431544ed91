// Runs a tile program on one row of elements at a time.
//
// Consecutive exact float steps run as a chain (ops/kernels/elementwise/chain.h), in which
// intermediate values stay in vector registers. Between other steps, a row of at most `tile()`
// elements stays in the L1 cache. The constructor resolves the functions for the current CPU and
// the operand positions in advance. The kernel of the `fused` op runs the interpreter over tensors.
// A matrix product runs the interpreter on the rows of a finished block (run_block). The block is
// one of the inputs, and a result may overwrite it. The results have the same bits as the results
// of the separate ops.
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
  /// For the parameters, see make_tile_schedule().
  TileInterpreter(const TileProgram& program, const std::vector<DType>& dtypes,
                  std::uint32_t scalars, const std::vector<char>& needed)
      : schedule_(make_tile_schedule(program, dtypes, scalars, needed)) {}

  /// The memory of later rows, which is prefetched into the L2 cache while a row is computed.
  struct Prefetch {
    std::array<kernels::PrefetchRow, TileProgram::kMaxInputs> row;
    std::size_t rows = 0;
    void add(const void* at, std::size_t bytes) {
      row[rows++] = {static_cast<const std::byte*>(at), bytes};
    }
  };

  /// Returns the maximum number of elements in a row, which is a multiple of 64.
  std::int64_t tile() const { return schedule_.tile; }
  /// Returns the number of bytes of scratch per worker. The scratch must be 64-byte aligned and
  /// need not be initialised.
  std::size_t scratch_bytes() const;
  /// Returns a mask in which bit r is set if the store of result r must be deferred to the end of
  /// the row because the result shares memory with an input that a later step reads.
  std::uint32_t deferred_stores(const void* const* in, void* const* out) const;

  /// One row of 1 <= n <= tile() elements.
  struct Row {
    /// in[i] points to the first element of the row in input i, to its single element, or to the
    /// whole key.
    const void* const* in = nullptr;
    /// out[r] points to result r; it may be any pointer if the result is not needed. A result may
    /// share memory with a non-scalar input whose elements have the same size if `deferred` is set
    /// to deferred_stores().
    void* const* out = nullptr;
    std::int64_t n = 0;
    /// The index of the row's first element in the whole result.
    std::int64_t position = 0;
    /// Bits of the results that are copied to their destination after the last step.
    std::uint32_t deferred = 0;
    /// Bits of the results that are written with non-temporal stores, which bypass the caches. The
    /// caller must call kernels::stream_fence() after the last row.
    std::uint32_t nontemporal = 0;
  };
  void run(const Row& row, std::byte* scratch, const Prefetch* prefetch = nullptr) const;

  /// A block of `rows` rows with any number of columns. Row r of input i begins at in[i] + r *
  /// in_stride[i] bytes, and row r of result k at out[k] + r * out_stride[k] bytes. The index of
  /// the first element of row r in the whole result is position + r * position_stride.
  struct Block {
    const void* const* in;
    const std::ptrdiff_t* in_stride;  // in bytes; 0 repeats a row
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
