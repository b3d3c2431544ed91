// Chains of exact float operations on rows: the values between two operations stay in vector
// registers.
//
// A chain is a program for a machine with one accumulator (a block of eight vectors) and two more
// registers of that size, A and B. A step loads the accumulator, applies an operation to it, alone
// or with an operand of as many elements, or stores it. The machine processes rows block by block,
// so that an operation costs little more than its arithmetic. (Rows that go through memory between
// two operations, even if they stay in the first-level cache, cost a load and a store more for each
// vector: twice the time of a chain of ten.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/core/dtype.h"
#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// Names as in the ops of the same meaning; chain_op() gives the one that a row kernel computes.
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

/// The second operand of a step, where it has one.
enum class ChainForm : std::uint8_t {
  self,          // accumulator op accumulator
  row,           // accumulator op element of a row
  row_first,     // element op accumulator
  scalar,        // accumulator op the one element for all
  scalar_first,  // the one element op accumulator
  a,             // accumulator op A
  a_first,       // A op accumulator
  b,
  b_first,
};

struct ChainStep {
  std::uint8_t code = 0;             // chain_code(): what to do
  std::uint8_t pointer = 0;          // index of the pointer to the operand or result
  std::uint32_t result = 0;          // bit of the result that a store writes, 0 if it writes none
  std::array<double, 2> reals = {};  // bounds of a clamp
};
/// Operation and form as one number.
constexpr std::uint8_t chain_code(ChainOp op, ChainForm form = ChainForm::self) {
  const int first = static_cast<int>(ChainOp::add), o = static_cast<int>(op);
  return static_cast<std::uint8_t>(o < first ? o
                                             : first + (o - first) * 9 + static_cast<int>(form));
}

constexpr std::size_t kChainCodes = chain_code(ChainOp::minimum, ChainForm::b_first) + 1;
constexpr std::size_t kMaxChainSteps = 256;

/// Memory to prefetch into the second-level cache meanwhile: a line for every line worked on.
struct PrefetchRow {
  const std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// Where a chain runs.
struct ChainRows {
  void* const* at = nullptr;      // the table of pointers
  std::int64_t blocks = 0;        // how many, from the first element on
  std::uint32_t nontemporal = 0;  // bits of results to write past the caches (aligned to a line)
  const PrefetchRow* prefetch = nullptr;
  std::size_t prefetch_rows = 0;
};

/// The operation that does what `kernel` does for elements of `dtype`; none if there is none.
std::optional<ChainOp> chain_op(const RowKernel& kernel, DType dtype);
/// Elements of a block on this CPU.
std::int64_t chain_block(DType dtype);
/// Runs the `count` <= kMaxChainSteps steps on all blocks of rows of f32 or f64, all of them
/// `dtype`. After non-temporal results call stream_fence() before another thread may look.
void run_chain(DType dtype, const ChainStep* steps, std::size_t count, const ChainRows& rows);

}  // namespace weft::kernels
