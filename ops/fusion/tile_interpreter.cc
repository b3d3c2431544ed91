#include "weft/ops/fusion/tile_interpreter.h"

#include <algorithm>
#include <cstring>

#include "weft/ops/kernels/stream_copy.h"

namespace weft {
namespace {

constexpr std::size_t kLine = 64;  // size in bytes of a cache line and of the largest vectors

/// Distributes prefetches evenly over the steps of a row, so that they never fill the miss queue.
class Prefetcher {
 public:
  /// If `prefetch` is null, there is nothing to prefetch, and next() must not be called.
  Prefetcher(const TileInterpreter::Prefetch* prefetch, std::size_t steps) : prefetch_(prefetch) {
    if (prefetch == nullptr) return;
    std::size_t lines = 0;
    for (std::size_t r = 0; r < prefetch->rows; ++r) {
      lines += (prefetch->row[r].bytes + kLine - 1) / kLine;
    }
    lines_per_step_ = (lines + steps - 1) / std::max<std::size_t>(steps, 1);
  }
  void next() {
    for (std::size_t k = 0; k < lines_per_step_ && row_ < prefetch_->rows; ++k) {
      __builtin_prefetch(prefetch_->row[row_].at + offset_, 0, 2);
      offset_ += kLine;
      if (offset_ >= prefetch_->row[row_].bytes) {
        offset_ = 0;
        ++row_;
      }
    }
  }

 private:
  const TileInterpreter::Prefetch* prefetch_;
  std::size_t lines_per_step_ = 0, row_ = 0, offset_ = 0;
};

}  // namespace

std::size_t TileInterpreter::scratch_bytes() const {
  return schedule_.temporaries * TileSchedule::kTemporaryBytes;
}

std::uint32_t TileInterpreter::deferred_stores(const void* const* in, void* const* out) const {
  std::uint32_t deferred = 0;
  for (const TileSchedule::Hazard& h : schedule_.hazards) {
    if (in[h.input] == out[h.result]) deferred |= 1u << h.result;
  }
  return deferred;
}

void TileInterpreter::run(const Row& row, std::byte* scratch, const Prefetch* prefetch) const {
  const TileSchedule& s = schedule_;
  Pointers pointers;
  for (std::size_t i = 0; i < s.inputs; ++i) pointers[s.input(i)] = const_cast<void*>(row.in[i]);
  for (std::size_t t = 0; t < s.temporaries; ++t, scratch += TileSchedule::kTemporaryBytes) {
    pointers[s.temporary(t)] = scratch;
  }
  // If possible, chains write non-temporal results directly. Other non-temporal results are
  // computed in a temporary and copied, like deferred results.
  std::uint32_t by_chain = row.nontemporal & s.nontemporal & ~row.deferred;
  for (std::size_t r = 0; r < s.results; ++r) {
    if (reinterpret_cast<std::uintptr_t>(row.out[r]) % kLine != 0) by_chain &= ~(1u << r);
  }
  const std::uint32_t copied = row.deferred | (row.nontemporal & ~by_chain);
  for (std::size_t r = 0; r < s.results; ++r) {
    pointers[s.result(r)] = (copied >> r & 1) != 0 ? pointers[s.deferred[r]] : row.out[r];
  }
  // The cache lines to prefetch are distributed over the instructions. If there is a chain, the
  // first chain prefetches all of them.
  if (prefetch != nullptr && prefetch->rows == 0) prefetch = nullptr;
  Prefetcher prefetcher(prefetch, s.instructions.size());
  for (const TileSchedule::Segment& segment : s.segments) {
    if (!segment.chain.empty()) {
      run_chain(segment, pointers, row, by_chain, prefetch);
      prefetch = nullptr;
      continue;
    }
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      if (prefetch != nullptr) prefetcher.next();
      const TileSchedule::Instruction& instruction = s.instructions[i];
      const void* const operands[3] = {pointers[instruction.operands[0]],
                                       pointers[instruction.operands[1]],
                                       pointers[instruction.operands[2]]};
      instruction.kernel(operands, pointers[instruction.destination], row.n, row.position);
    }
  }
  for (std::size_t r = 0; copied >> r != 0; ++r) {
    if ((copied >> r & 1) == 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(row.n) * s.result_size[r];
    if ((row.nontemporal >> r & 1) != 0) {
      kernels::stream_copy(pointers[s.result(r)], row.out[r], bytes);
    } else {
      std::memcpy(row.out[r], pointers[s.result(r)], bytes);
    }
  }
}

void TileInterpreter::run_chain(const TileSchedule::Segment& segment, const Pointers& pointers,
                                const Row& row, std::uint32_t nontemporal,
                                const Prefetch* prefetch) const {
  const std::int64_t blocks = row.n / segment.block, done = blocks * segment.block;
  if (blocks > 0) {
    kernels::run_chain(segment.dtype, segment.chain.data(), segment.chain.size(),
                       {.at = pointers.data(),
                        .blocks = blocks,
                        .nontemporal = nontemporal,
                        .prefetch = prefetch != nullptr ? prefetch->row.data() : nullptr,
                        .prefetch_rows = prefetch != nullptr ? prefetch->rows : 0});
  }
  if (done == row.n) return;
  const std::size_t offset = static_cast<std::size_t>(done) * dtype_size(segment.dtype);
  for (std::size_t i = segment.begin; i < segment.end; ++i) {
    const TileSchedule::Instruction& instruction = schedule_.instructions[i];
    const void* operands[2] = {};
    for (std::size_t k = 0; k < instruction.operand_count; ++k) {
      operands[k] = static_cast<const std::byte*>(pointers[instruction.operands[k]]) +
                    (instruction.kernel.scalar(k) ? 0 : offset);
    }
    instruction.kernel(operands,
                       static_cast<std::byte*>(pointers[instruction.destination]) + offset,
                       row.n - done, row.position + done);
  }
}

void TileInterpreter::run_block(const Block& block, std::byte* scratch) const {
  const TileSchedule& s = schedule_;
  std::array<const void*, TileProgram::kMaxInputs> in{};
  std::array<void*, TileProgram::kMaxResults> out{};
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; c += s.tile) {
      for (std::size_t i = 0; i < s.inputs; ++i) {
        in[i] = static_cast<const std::byte*>(block.in[i]) + r * block.in_stride[i] +
                c * s.input_size[i];
      }
      for (std::size_t k = 0; k < s.results; ++k) {
        out[k] = s.result_size[k] == 0 ? nullptr
                                       : static_cast<std::byte*>(block.out[k]) +
                                             r * block.out_stride[k] + c * s.result_size[k];
      }
      run({.in = in.data(),
           .out = out.data(),
           .n = std::min(s.tile, block.columns - c),
           .position = block.position + r * block.position_stride + c,
           .deferred = deferred_stores(in.data(), out.data())},
          scratch);
    }
  }
}

}  // namespace weft
