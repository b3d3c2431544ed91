// Chains of exact float operations on rows: values between two operations stay in vector registers.
//
// A chain is a program for a machine with one accumulator (a block of eight vectors) and two more
// registers of that size, A and B. A step loads the accumulator, stores it, or applies an operation
// to it, alone or with a second operand. The machine processes rows block by block, so that an
// operation costs little more than its arithmetic. (If rows went through memory between two
// operations, even within the L1 cache, every vector would cost an additional load and store, and a
// chain of ten operations would take twice the time.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/core/dtype.h"
#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// The names are those of the equivalent ops; chain_op() returns the operation that a row kernel
/// computes.
enum class ChainOp : std::uint8_t {
  // the accumulator and memory
  load,
  store,
  // the accumulator and the registers A and B
  keep_a,
  keep_b,
  take_a,
  take_b,
  // the accumulator alone
  neg,
  abs,
  sign,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  relu,
  clamp,
  // the accumulator and an operand
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
};

/// The second operand of a step, if it has one.
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
  std::uint8_t code = 0;             // operation and form, see chain_code()
  std::uint8_t pointer = 0;          // index of the pointer to the operand or result
  std::uint32_t result = 0;          // bit of the result that a store writes, or 0
  std::array<double, 2> reals = {};  // bounds of a clamp
};
/// Encodes operation and form as one number.
constexpr std::uint8_t chain_code(ChainOp op, ChainForm form = ChainForm::self) {
  const int first = static_cast<int>(ChainOp::add), o = static_cast<int>(op);
  return static_cast<std::uint8_t>(o < first ? o
                                             : first + (o - first) * 9 + static_cast<int>(form));
}

constexpr std::size_t kChainCodes = chain_code(ChainOp::minimum, ChainForm::b_first) + 1;
constexpr std::size_t kMaxChainSteps = 256;

/// Memory to prefetch into the L2 cache while a chain runs: one line per line that is processed.
struct PrefetchRow {
  const std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// The memory on which a chain runs.
struct ChainRows {
  void* const* at = nullptr;      // the table of pointers
  std::int64_t blocks = 0;        // number of blocks, starting with the first element
  std::uint32_t nontemporal = 0;  // bits of results to write past the caches (line-aligned)
  const PrefetchRow* prefetch = nullptr;
  std::size_t prefetch_rows = 0;
};

/// Returns the operation that is equivalent to `kernel` for elements of `dtype`, or nothing if
/// there is none.
std::optional<ChainOp> chain_op(const RowKernel& kernel, DType dtype);
/// Returns the number of elements of a block on this CPU.
std::int64_t chain_block(DType dtype);
/// Runs `count` <= kMaxChainSteps steps on all blocks of rows, which all have dtype `dtype`, f32 or
/// f64. If results are non-temporal, call stream_fence() before another thread reads them.
void run_chain(DType dtype, const ChainStep* steps, std::size_t count, const ChainRows& rows);

}  // namespace weft::kernels
