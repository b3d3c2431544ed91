// Runs a tile program on one row of elements at a time.
//
// Exact float steps that follow one another run as a chain (ops/kernels/chain.h): what lies between
// them stays in vector registers. Between other steps a row of at most `tile()` elements lies in
// the first-level cache. Everything is resolved when the interpreter is made (functions of the
// running CPU, places of operands). The kernel of the `fused` op runs it over tensors; a matrix
// product can run it on the rows of a finished block (run_block), with the block as one of the
// inputs and the same or another memory as the result: bits are those of the single ops.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/ops/fusion/tile_program.h"
#include "weft/ops/kernels/chain.h"

namespace weft {

class TileInterpreter {
 public:
  /// `dtypes` of all values of the program (see infer_values). `scalars`: bit i for an input that
  /// is one element for a whole row. `needed`: per result, whether anybody wants it.
  TileInterpreter(const TileProgram& program, const std::vector<DType>& dtypes,
                  std::uint32_t scalars, const std::vector<char>& needed);

  /// Memory to fetch into the second-level cache while a row is worked on: that of rows to come.
  struct Ahead {
    std::array<kernels::FetchedRow, TileProgram::kMaxInputs> row;
    std::size_t rows = 0;
    void add(const void* at, std::size_t bytes) {
      row[rows++] = {static_cast<const std::byte*>(at), bytes};
    }
  };

  /// Most elements of a row; a multiple of 64.
  std::int64_t tile() const { return tile_; }
  /// Bytes that every worker needs, 64-byte aligned; contents do not matter.
  std::size_t scratch_bytes() const { return registers_ * register_bytes_; }
  /// Bit r: result r has to be kept back until the end of a row (see run), since it shares its
  /// memory with an input that a later step reads.
  std::uint32_t kept_back(const void* const* in, void* const* out) const;

  /// One row of 1 <= n <= tile() elements: in[i] is input i at the row's first element (or its one
  /// element, or the whole key), out[r] is result r (anything where it is not needed). A result may
  /// lie over an input that is not a scalar and has elements of its size, if `late` has what
  /// kept_back() says; results in `late` are copied to their place after the last step. `position`
  /// is the index of the first element in the whole result. Results in `streamed` are written past
  /// the caches: call kernels::stream_fence() after the last row.
  void run(const void* const* in, void* const* out, std::int64_t n, std::int64_t position,
           std::uint32_t late, std::uint32_t streamed, std::byte* scratch,
           const Ahead& ahead) const;

  /// A block of `rows` rows of `columns` elements (any number): row r of input i begins at
  /// in[i] + r * in_stride[i] bytes, of result k at out[k] + r * out_stride[k] bytes, and at
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

  double ns_per_element() const { return ns_per_element_; }

 private:
  // Pointers of one row: inputs, results, registers.
  static constexpr std::size_t kMaxPointers = TileProgram::kMaxInputs + TileProgram::kMaxResults +
                                              TileProgram::kMaxSteps + TileProgram::kMaxResults;
  struct Instruction {
    RowKernel kernel;
    std::array<std::uint8_t, 3> operands{};
    std::uint8_t operand_count = 0;
    std::uint8_t to = 0;
  };
  // Instructions that run one by one, or as a chain. The chain does whole blocks of a row; what is
  // left of it, its instructions do.
  struct Stretch {
    std::size_t begin = 0, end = 0;  // instructions
    std::vector<kernels::ChainStep> chain;
    DType dtype = DType::f32;
    std::int64_t block = 0;
  };
  struct Hazard {
    std::uint8_t result, input;
  };
  class Builder;

  void run_chain(const Stretch& stretch, void* const* at, std::int64_t n, std::int64_t position,
                 std::uint32_t streamed, const Ahead& ahead) const;

  std::size_t inputs_ = 0, results_ = 0, registers_ = 0;
  std::size_t register_bytes_ = 0;
  std::int64_t tile_ = 0;
  std::vector<Instruction> instructions_;
  std::vector<Stretch> stretches_;
  std::uint32_t streamable_ = 0;  // bits of results that a chain makes and nobody reads back
  std::vector<std::uint8_t> result_size_;    // bytes of an element, 0 where it is not needed
  std::vector<std::uint8_t> late_register_;  // per result: pointer of the row that keeps it back
  std::vector<std::uint8_t> input_size_;     // bytes of an element; 0 where it does not advance
  std::vector<Hazard> hazards_;
  double ns_per_element_ = 0;
};

}  // namespace weft
