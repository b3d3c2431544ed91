#include "weft/ops/fusion/tile_interpreter.h"

#include <algorithm>
#include <cstring>

#include "weft/ops/fusion/tile_chain.h"
#include "weft/ops/kernels/stream_copy.h"

namespace weft {
namespace {

constexpr std::size_t kTileBytes = 4096;  // of one row
// A row that begins 4096 bytes after another makes loads wait for stores to the same offset.
constexpr std::size_t kPadding = 192;
constexpr std::uint8_t kNowhere = 255;
constexpr std::size_t kLine = 64;  // bytes of a cache line, and of the largest vectors

/// Spreads prefetches evenly over the steps of a tile, so that they never fill the queue of misses.
class Fetcher {
 public:
  Fetcher(const TileInterpreter::Ahead& ahead, std::size_t steps) : ahead_(ahead) {
    std::size_t lines = 0;
    for (std::size_t r = 0; r < ahead.rows; ++r) lines += (ahead.row[r].bytes + 63) / 64;
    lines_per_step_ = (lines + steps - 1) / std::max<std::size_t>(steps, 1);
  }
  void next() {
    for (std::size_t k = 0; k < lines_per_step_ && row_ < ahead_.rows; ++k) {
      __builtin_prefetch(ahead_.row[row_].at + offset_, 0, 2);
      offset_ += 64;
      if (offset_ >= ahead_.row[row_].bytes) {
        offset_ = 0;
        ++row_;
      }
    }
  }

 private:
  const TileInterpreter::Ahead& ahead_;
  std::size_t lines_per_step_ = 0, row_ = 0, offset_ = 0;
};

}  // namespace

// Assigns registers by last use and records where a result over an input would be read too late.
class TileInterpreter::Builder {
 public:
  Builder(TileInterpreter& self, const TileProgram& program, const std::vector<DType>& dtypes,
          std::uint32_t scalars, const std::vector<char>& needed)
      : self_(self),
        program_(program),
        dtypes_(dtypes),
        scalars_(scalars),
        last_use_(dtypes.size(), -1),
        result_of_(dtypes.size(), -1),
        wanted_(dtypes.size(), 0),
        place_(dtypes.size(), kNowhere) {
    self.inputs_ = static_cast<std::size_t>(program.inputs);
    self.results_ = program.results.size();
    for (std::size_t r = 0; r < program.results.size(); ++r) {
      if (!needed[r]) continue;
      const auto v = static_cast<std::size_t>(program.results[r]);
      result_of_[v] = static_cast<int>(r);
      wanted_[v] = 1;
    }
    for (std::size_t s = program.steps.size(); s-- > 0;) {
      if (!wanted_[value_of(s)]) continue;
      for (const int v : program.steps[s].operands) {
        const auto i = static_cast<std::size_t>(v);
        wanted_[i] = 1;
        last_use_[i] = std::max(last_use_[i], static_cast<int>(s));
      }
    }
  }

  void run() {
    set_sizes();
    for (std::size_t i = 0; i < self_.inputs_; ++i) place_[i] = static_cast<std::uint8_t>(i);
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      if (wanted_[value_of(s)]) add(s);
    }
    find_stretches();
    self_.late_register_.assign(self_.results_, kNowhere);
    for (std::size_t r = 0; r < self_.results_; ++r) {
      if (self_.result_size_[r] != 0) self_.late_register_[r] = new_register();
    }
    find_hazards();
  }

 private:
  std::size_t value_of(std::size_t step) const { return self_.inputs_ + step; }

  void set_sizes() {
    std::size_t largest = 1;
    for (std::size_t v = 0; v < dtypes_.size(); ++v) {
      if (wanted_[v] && v >= self_.inputs_) largest = std::max(largest, dtype_size(dtypes_[v]));
    }
    self_.tile_ = static_cast<std::int64_t>(kTileBytes / std::max<std::size_t>(largest, 4));
    self_.register_bytes_ = kTileBytes + kPadding;
    for (std::size_t i = 0; i < self_.inputs_; ++i) {
      const bool advances = (scalars_ >> i & 1) == 0;
      self_.input_size_.push_back(advances ? static_cast<std::uint8_t>(dtype_size(dtypes_[i]))
                                           : std::uint8_t{0});
    }
    for (const int v : program_.results) {
      const auto i = static_cast<std::size_t>(v);
      self_.result_size_.push_back(
          result_of_[i] >= 0 ? static_cast<std::uint8_t>(dtype_size(dtypes_[i])) : std::uint8_t{0});
    }
  }

  std::uint8_t new_register() {
    return static_cast<std::uint8_t>(self_.inputs_ + self_.results_ + self_.registers_++);
  }

  void add(std::size_t s) {
    const TileStep& step = program_.steps[s];
    const std::size_t value = value_of(s);
    Instruction instruction;
    RowRequest request{{}, dtypes_[value], 0, step.attributes};
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const auto v = static_cast<std::size_t>(step.operands[k]);
      request.inputs.push_back(dtypes_[v]);
      if (v < self_.inputs_ && (scalars_ >> v & 1) != 0) request.scalars |= 1u << k;
      instruction.operands[k] = place_[v];
    }
    instruction.operand_count = static_cast<std::uint8_t>(step.operands.size());
    instruction.kernel = step.op->row(request);
    // Alone, an op pays for memory; here most of that is gone.
    self_.ns_per_element_ += std::max(0.08, instruction.kernel.ns_per_element - 0.25);
    // Registers of operands that are read for the last time: one may be written over.
    std::vector<std::uint8_t> dying;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const auto v = static_cast<std::size_t>(step.operands[k]);
      if (v < self_.inputs_ || result_of_[v] >= 0 || last_use_[v] != static_cast<int>(s)) continue;
      if (std::find(dying.begin(), dying.end(), place_[v]) != dying.end()) continue;
      dying.push_back(place_[v]);
      if (result_of_[value] < 0 && place_[value] == kNowhere && overwrites(*step.op, k) &&
          dtype_size(dtypes_[v]) == dtype_size(dtypes_[value])) {
        place_[value] = place_[v];
      }
    }
    if (result_of_[value] >= 0) {
      place_[value] =
          static_cast<std::uint8_t>(self_.inputs_ + static_cast<std::size_t>(result_of_[value]));
    } else if (place_[value] == kNowhere) {
      if (free_.empty()) {
        place_[value] = new_register();
      } else {
        place_[value] = free_.back();
        free_.pop_back();
      }
    }
    for (const std::uint8_t r : dying) {
      if (r != place_[value]) free_.push_back(r);
    }
    instruction.to = place_[value];
    self_.instructions_.push_back(instruction);
    const auto chained = kernels::chain_op(instruction.kernel, dtypes_[value]);
    drafts_.push_back({static_cast<int>(s), dtypes_[value], chained.has_value()});
    if (!chained) return;
    ChainableStep& draft = drafts_.back().step;
    draft.op = *chained;
    draft.reals = instruction.kernel.reals;
    draft.scalars = instruction.kernel.scalars;
    draft.operand_count = step.operands.size();
    for (std::size_t k = 0; k < draft.operand_count; ++k) {
      draft.operands[k] = step.operands[k];
      draft.places[k] = instruction.operands[k];
    }
    draft.value = static_cast<int>(value);
    draft.to = instruction.to;
    if (result_of_[value] >= 0) draft.result = 1u << result_of_[value];
  }

  // Chains as long as they can be: steps of one dtype. Registers hold elements of that dtype all
  // along a chain, so that it makes no difference that chains go by blocks and not by rows.
  void find_stretches() {
    for (std::size_t begin = 0, end; begin < drafts_.size(); begin = end) {
      const Draft& first = drafts_[begin];
      end = begin + 1;
      while (end < drafts_.size() && drafts_[end].chained == first.chained &&
             (!first.chained || drafts_[end].dtype == first.dtype)) {
        ++end;
      }
      Stretch stretch{begin, end, {}, first.dtype, 0};
      if (first.chained) {
        const std::vector<ChainableStep> steps = chainable(begin, end);
        Chain chain = make_chain(steps);
        stretch.chain = std::move(chain.steps);
        for (std::size_t i = begin; i < end; ++i) {
          const ChainableStep& step = steps[i - begin];
          const bool read_later =
              last_use_[static_cast<std::size_t>(step.value)] > drafts_[end - 1].index;
          if (!read_later) self_.streamable_ |= step.result & ~chain.read_back;
        }
        stretch.block = kernels::chain_block(first.dtype);
      }
      self_.stretches_.push_back(std::move(stretch));
    }
  }

  std::vector<ChainableStep> chainable(std::size_t begin, std::size_t end) {
    std::vector<ChainableStep> steps;
    for (std::size_t i = begin; i < end; ++i) {
      ChainableStep step = drafts_[i].step;
      const int last_use = last_use_[static_cast<std::size_t>(step.value)];
      step.stored = step.result != 0 || last_use > drafts_[end - 1].index;
      for (std::size_t k = i; k < end; ++k) {
        if (drafts_[k].index <= last_use) step.last_use = k - begin;
      }
      steps.push_back(step);
    }
    return steps;
  }

  static bool overwrites(const OpRecord& op, std::size_t operand) {
    return std::find(op.inplace.begin(), op.inplace.end(),
                     std::pair(0, static_cast<int>(operand))) != op.inplace.end();
  }

  void find_hazards() {
    for (std::size_t s = 0; s < program_.steps.size(); ++s) {
      const std::size_t value = value_of(s);
      if (result_of_[value] < 0) continue;
      for (std::size_t i = 0; i < self_.inputs_; ++i) {
        bool hazard = last_use_[i] > static_cast<int>(s);
        for (std::size_t k = 0; k < program_.steps[s].operands.size(); ++k) {
          if (program_.steps[s].operands[k] != static_cast<int>(i)) continue;
          hazard = hazard || !overwrites(*program_.steps[s].op, k);
        }
        if (hazard) {
          self_.hazards_.push_back(
              {static_cast<std::uint8_t>(result_of_[value]), static_cast<std::uint8_t>(i)});
        }
      }
    }
  }

  TileInterpreter& self_;
  const TileProgram& program_;
  const std::vector<DType>& dtypes_;
  const std::uint32_t scalars_;
  std::vector<int> last_use_;   // step
  std::vector<int> result_of_;  // result that a value is, or -1
  struct Draft {
    int index;  // of the step in the program
    DType dtype;
    bool chained;
    ChainableStep step = {};
  };
  std::vector<Draft> drafts_;        // by instruction
  std::vector<char> wanted_;         // by value
  std::vector<std::uint8_t> place_;  // pointer of a value
  std::vector<std::uint8_t> free_;
};

TileInterpreter::TileInterpreter(const TileProgram& program, const std::vector<DType>& dtypes,
                                 std::uint32_t scalars, const std::vector<char>& needed) {
  Builder(*this, program, dtypes, scalars, needed).run();
}

std::uint32_t TileInterpreter::kept_back(const void* const* in, void* const* out) const {
  std::uint32_t late = 0;
  for (const Hazard& h : hazards_) {
    if (in[h.input] == out[h.result]) late |= 1u << h.result;
  }
  return late;
}

void TileInterpreter::run(const void* const* in, void* const* out, std::int64_t n,
                          std::int64_t position, std::uint32_t late, std::uint32_t streamed,
                          std::byte* scratch, const Ahead& ahead) const {
  std::array<void*, kMaxPointers> at;
  for (std::size_t i = 0; i < inputs_; ++i) at[i] = const_cast<void*>(in[i]);
  std::byte* row = scratch;
  const std::size_t first = inputs_ + results_;
  for (std::size_t r = 0; r < registers_; ++r, row += register_bytes_) at[first + r] = row;
  // Chains write past the caches themselves, if they can; other results are copied there.
  std::uint32_t direct = streamed & streamable_ & ~late;
  for (std::size_t r = 0; r < results_; ++r) {
    if (reinterpret_cast<std::uintptr_t>(out[r]) % kLine != 0) direct &= ~(1u << r);
  }
  late |= streamed & ~direct;
  for (std::size_t r = 0; r < results_; ++r) {
    at[inputs_ + r] = (late >> r & 1) != 0 ? at[late_register_[r]] : out[r];
  }
  Fetcher fetcher(ahead, instructions_.size());
  bool fetching = ahead.rows != 0;
  for (const Stretch& stretch : stretches_) {
    if (!stretch.chain.empty()) {
      run_chain(stretch, at.data(), n, position, direct, fetching ? ahead : Ahead());
      fetching = false;
      continue;
    }
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      if (fetching) fetcher.next();
      const Instruction& instruction = instructions_[i];
      const void* const operands[3] = {at[instruction.operands[0]], at[instruction.operands[1]],
                                       at[instruction.operands[2]]};
      instruction.kernel(operands, at[instruction.to], n, position);
    }
  }
  for (std::size_t r = 0; late >> r != 0; ++r) {
    if ((late >> r & 1) == 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(n) * result_size_[r];
    if ((streamed >> r & 1) != 0) {
      kernels::stream_copy(at[inputs_ + r], out[r], bytes);
    } else {
      std::memcpy(out[r], at[inputs_ + r], bytes);
    }
  }
}

void TileInterpreter::run_chain(const Stretch& stretch, void* const* at, std::int64_t n,
                                std::int64_t position, std::uint32_t streamed,
                                const Ahead& ahead) const {
  const std::int64_t blocks = n / stretch.block, done = blocks * stretch.block;
  if (blocks > 0) {
    kernels::run_chain(stretch.dtype, stretch.chain.data(), stretch.chain.size(),
                       {.at = at,
                        .blocks = blocks,
                        .streamed = streamed,
                        .fetched = ahead.row.data(),
                        .fetched_count = ahead.rows});
  }
  if (done == n) return;
  const std::size_t offset = static_cast<std::size_t>(done) * dtype_size(stretch.dtype);
  for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
    const Instruction& instruction = instructions_[i];
    const void* operands[2] = {};
    for (std::size_t k = 0; k < instruction.operand_count; ++k) {
      operands[k] = static_cast<const std::byte*>(at[instruction.operands[k]]) +
                    (instruction.kernel.scalar(k) ? 0 : offset);
    }
    instruction.kernel(operands, static_cast<std::byte*>(at[instruction.to]) + offset, n - done,
                       position + done);
  }
}

void TileInterpreter::run_block(const Block& block, std::byte* scratch) const {
  std::array<const void*, TileProgram::kMaxInputs> in{};
  std::array<void*, TileProgram::kMaxResults> out{};
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; c += tile_) {
      for (std::size_t i = 0; i < inputs_; ++i) {
        in[i] = static_cast<const std::byte*>(block.in[i]) + r * block.in_stride[i] +
                c * input_size_[i];
      }
      for (std::size_t k = 0; k < results_; ++k) {
        out[k] = result_size_[k] == 0 ? nullptr
                                      : static_cast<std::byte*>(block.out[k]) +
                                            r * block.out_stride[k] + c * result_size_[k];
      }
      run(in.data(), out.data(), std::min(tile_, block.columns - c),
          block.position + r * block.position_stride + c, kept_back(in.data(), out.data()), 0,
          scratch, {});
    }
  }
}

}  // namespace weft
