// A tile program compiled for the running CPU: instructions over a table of pointers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/ops/fusion/tile_program.h"
#include "weft/ops/kernels/chain.h"

namespace weft {

/// What the interpreter runs for every tile (one row of elements).
///
/// Instructions name their operands and results by index into a table of pointers that the
/// interpreter fills for each tile: the inputs of the program, then its results, then temporaries
/// (rows in the worker's scratch).
struct TileSchedule {
  static constexpr std::size_t kMaxPointers = TileProgram::kMaxInputs + TileProgram::kMaxResults +
                                              TileProgram::kMaxSteps + TileProgram::kMaxResults;
  static constexpr std::uint8_t kNoPointer = 255;
  /// Bytes of one row of any dtype, so that several rows stay in the first-level cache.
  static constexpr std::size_t kRowBytes = 4096;
  /// Bytes from one temporary to the next: a row that begins 4096 bytes after another makes loads
  /// wait for stores to the same offset (4K aliasing).
  static constexpr std::size_t kTemporaryBytes = kRowBytes + 192;

  struct Instruction {
    RowKernel kernel;
    std::array<std::uint8_t, 3> operands{};
    std::uint8_t operand_count = 0;
    std::uint8_t destination = 0;
  };
  /// Consecutive instructions: run one by one where `chain` is empty. Otherwise the chain computes
  /// whole blocks of the row, and the instructions compute the elements after the last block.
  struct Segment {
    std::size_t begin = 0, end = 0;  // instructions
    std::vector<kernels::ChainStep> chain = {};
    DType dtype = DType::f32;
    std::int64_t block = 0;  // elements
  };
  /// An instruction reads the input after (or while) the result is written. So where the two share
  /// memory, the store of the result has to be deferred to the end of the row.
  struct Hazard {
    std::uint8_t result, input;
  };

  std::size_t inputs = 0, results = 0, temporaries = 0;
  std::int64_t tile = 0;  // most elements of a row; a multiple of 64
  std::vector<Instruction> instructions;
  std::vector<Segment> segments;
  std::vector<Hazard> hazards;
  std::vector<std::uint8_t> input_size;   // bytes of an element; 0 where it does not advance
  std::vector<std::uint8_t> result_size;  // bytes of an element; 0 where it is not needed
  /// Per result: the temporary that holds it when its store is deferred.
  std::vector<std::uint8_t> deferred;
  /// Bits of results that a chain writes and no instruction reads back: chains can write them with
  /// non-temporal stores.
  std::uint32_t nontemporal = 0;
  double ns_per_element = 0;

  std::uint8_t input(std::size_t i) const { return static_cast<std::uint8_t>(i); }
  std::uint8_t result(std::size_t r) const { return static_cast<std::uint8_t>(inputs + r); }
  std::uint8_t temporary(std::size_t t) const {
    return static_cast<std::uint8_t>(inputs + results + t);
  }
};

/// `dtypes` of all values of the program (see infer_values). `scalars`: bit i for an input that is
/// one element for a whole row. `needed`: per result, whether anybody reads it.
TileSchedule make_tile_schedule(const TileProgram& program, const std::vector<DType>& dtypes,
                                std::uint32_t scalars, const std::vector<char>& needed);

}  // namespace weft
