// A tile program compiled for the current CPU into instructions that use a table of pointers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/ops/fusion/tile_program.h"
#include "weft/ops/kernels/elementwise/chain.h"

namespace weft {

/// The instructions that the interpreter runs for every tile. A tile is one row of elements.
///
/// Instructions refer to operands and results by their index in a table of pointers, which the
/// interpreter fills for each tile. The table contains the inputs of the program, then its results,
/// then temporaries (rows in the worker's scratch).
struct TileSchedule {
  static constexpr std::size_t kMaxPointers = TileProgram::kMaxInputs + TileProgram::kMaxResults +
                                              TileProgram::kMaxSteps + TileProgram::kMaxResults;
  static constexpr std::uint8_t kNoPointer = 255;
  /// The number of bytes of a row of any dtype. It is small enough for several rows to stay in the
  /// L1 cache.
  static constexpr std::size_t kRowBytes = 4096;
  /// The distance between temporaries in bytes. If a row began exactly 4096 bytes after another
  /// row, loads would wait for stores to the same offset (4K aliasing).
  static constexpr std::size_t kTemporaryBytes = kRowBytes + 192;

  struct Instruction {
    RowKernel kernel;
    std::array<std::uint8_t, 3> operands{};
    std::uint8_t operand_count = 0;
    std::uint8_t destination = 0;
  };
  /// Consecutive instructions. If `chain` is empty, the instructions run individually. Otherwise,
  /// the chain computes whole blocks of the row, and the instructions compute the elements after
  /// the last block.
  struct Segment {
    std::size_t begin = 0, end = 0;  // range of instructions
    std::vector<kernels::ChainStep> chain = {};
    DType dtype = DType::f32;
    std::int64_t block = 0;  // number of elements
  };
  /// A hazard between an input and a result: an instruction reads the input after or while the
  /// result is written. If they share memory, the store of the result must be deferred to the end
  /// of the row.
  struct Hazard {
    std::uint8_t result, input;
  };

  std::size_t inputs = 0, results = 0, temporaries = 0;
  std::int64_t tile = 0;  // maximum number of elements in a row; a multiple of 64
  std::vector<Instruction> instructions;
  std::vector<Segment> segments;
  std::vector<Hazard> hazards;
  std::vector<std::uint8_t> input_size;   // bytes per element; 0 if the input is a scalar
  std::vector<std::uint8_t> result_size;  // bytes per element; 0 if the result is not needed
  /// For every result, the temporary that holds the result if its store is deferred.
  std::vector<std::uint8_t> deferred;
  /// Bits of the results that a chain writes and no instruction reads back. Chains can write these
  /// results with non-temporal stores.
  std::uint32_t nontemporal = 0;
  double ns_per_element = 0;

  std::uint8_t input(std::size_t i) const { return static_cast<std::uint8_t>(i); }
  std::uint8_t result(std::size_t r) const { return static_cast<std::uint8_t>(inputs + r); }
  std::uint8_t temporary(std::size_t t) const {
    return static_cast<std::uint8_t>(inputs + results + t);
  }
};

/// Compiles a program. `dtypes` contains the dtypes of all values in the program (see
/// infer_values). Bit i of `scalars` is set if input i is a single element for the whole row.
/// `needed[r]` is true if result r has a reader.
TileSchedule make_tile_schedule(const TileProgram& program, const std::vector<DType>& dtypes,
                                std::uint32_t scalars, const std::vector<char>& needed);

}  // namespace weft
