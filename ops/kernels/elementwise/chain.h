// Chains of exact float operations on rows. Intermediate values stay in vector registers.
//
// A chain is a program for a virtual machine with an accumulator (a block of eight vectors) and two
// additional registers of the same size, A and B. A step loads the accumulator, stores it, or
// applies an operation to it, alone or with a second operand. The machine processes rows block by
// block, so that an operation costs little more than its arithmetic. (If rows were stored between
// two operations, even in the L1 cache, every vector would require an additional load and store,
// and a chain of ten operations would take twice as long.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/core/dtype.h"
#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// The operations of a chain, named after the equivalent ops. chain_op() returns the operation that
/// a row kernel computes.
enum class ChainOp : std::uint8_t {
  // operations on the accumulator and memory
  load,
  store,
  // operations on the accumulator and the registers A and B
  keep_a,
  keep_b,
  take_a,
  take_b,
  // operations on the accumulator alone
  neg,
  abs,
  sign,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  relu,
  clamp,
  // operations on the accumulator and a second operand
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
};

/// The second operand of a step, if any, and the order of the operands.
enum class ChainForm : std::uint8_t {
  self,          // accumulator op accumulator
  row,           // accumulator op element of a row
  row_first,     // element op accumulator
  scalar,        // accumulator op single element
  scalar_first,  // single element op accumulator
  a,             // accumulator op A
  a_first,       // A op accumulator
  b,
  b_first,
};

struct ChainStep {
  std::uint8_t code = 0;             // encoded operation and form; see chain_code()
  std::uint8_t pointer = 0;          // index of the pointer to the operand or result
  std::uint32_t result = 0;          // bit of the result that a store writes, or 0
  std::array<double, 2> reals = {};  // bounds of a clamp
};
/// Encodes an operation and a form as a single number.
constexpr std::uint8_t chain_code(ChainOp op, ChainForm form = ChainForm::self) {
  const int first = static_cast<int>(ChainOp::add), o = static_cast<int>(op);
  return static_cast<std::uint8_t>(o < first ? o
                                             : first + (o - first) * 9 + static_cast<int>(form));
}

constexpr std::size_t kChainCodes = chain_code(ChainOp::minimum, ChainForm::b_first) + 1;
constexpr std::size_t kMaxChainSteps = 256;

/// Memory to prefetch into the L2 cache while a chain runs. One cache line is prefetched for each
/// line that is processed.
struct PrefetchRow {
  const std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// The memory on which a chain runs.
struct ChainRows {
  void* const* at = nullptr;  // the table of pointers
  std::int64_t blocks = 0;    // the number of blocks, starting at the first element
  // Bits of the results to write with non-temporal stores (line-aligned).
  std::uint32_t nontemporal = 0;
  const PrefetchRow* prefetch = nullptr;
  std::size_t prefetch_rows = 0;
};

/// Returns the operation that is equivalent to `kernel` for elements of `dtype`, or nullopt if
/// there is none.
std::optional<ChainOp> chain_op(const RowKernel& kernel, DType dtype);
/// Returns the number of elements in a block on this CPU.
std::int64_t chain_block(DType dtype);
/// Runs `count` <= kMaxChainSteps steps on all blocks of the rows. All rows have the dtype `dtype`,
/// which is f32 or f64. If results are written with non-temporal stores, call stream_fence() before
/// another thread reads them.
void run_chain(DType dtype, const ChainStep* steps, std::size_t count, const ChainRows& rows);

}  // namespace weft::kernels
