#include "weft/ops/fusion/fused_program.h"

#include <algorithm>
#include <cstring>

#include "weft/core/rounding.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/stream_copy.h"

namespace weft {
namespace {

using elementwise::at;

// If the rows of a broadcast are shorter than this, running the interpreter separately for each row
// would be inefficient. Broadcast inputs are then first expanded to whole tiles.
constexpr std::int64_t kShortRow = 256;
// Results of at least this size are written with non-temporal stores, which bypass the caches,
// unless they overwrite an input.
constexpr std::size_t kNontemporalBytes = std::size_t{32} << 20;
// Inputs with a total size of at least kPrefetchBytes are read from memory and are prefetched
// kPrefetchTiles tiles ahead, because memory would otherwise be idle while the steps of a tile run.
// (Without prefetching, a chain of ten ops takes 20% longer.)
constexpr std::int64_t kPrefetchTiles = 2;
constexpr std::size_t kPrefetchBytes = std::size_t{1} << 20;

void fill(std::byte* to, const void* element, std::size_t size, std::int64_t count) {
  const auto repeat = [&](auto value) {
    std::memcpy(&value, element, sizeof(value));
    std::fill_n(reinterpret_cast<decltype(value)*>(to), count, value);
  };
  switch (size) {
    case 1: return repeat(std::uint8_t{});
    case 2: return repeat(std::uint16_t{});
    case 4: return repeat(std::uint32_t{});
    default: return repeat(std::uint64_t{});
  }
}

}  // namespace

FusedProgram::FusedProgram(TileProgram program, const std::vector<OperandSpec>& inputs,
                           const Sizes& sizes, const std::vector<char>& needed, Results results)
    : program_(std::move(program)) {
  const auto count = static_cast<std::size_t>(program_.inputs);
  const std::vector<char> whole = whole_inputs(program_);
  std::vector<ValueType> types;
  std::vector<const ValueType*> type_pointers;
  types.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    types.push_back({inputs[i].dtype, Shape(inputs[i].sizes)});
    type_pointers.push_back(&types.back());
  }
  std::vector<DType> dtypes;
  for (const ValueType& t : infer_values(program_, type_pointers, DimFacts())) {
    dtypes.push_back(t.dtype);
  }
  std::vector<Sizes> broadcast;
  for (std::size_t i = 0; i < count; ++i) {
    inputs_.push_back({.element_size = dtype_size(dtypes[i]), .whole = whole[i] != 0});
    broadcast.push_back(whole[i] ? Sizes{} : inputs[i].sizes);
  }
  plan_ = BroadcastPlan(sizes, broadcast);
  numel_ = plan_.numel();
  if (plan_.row() < std::min(kShortRow, numel_)) spread(sizes, broadcast);
  std::uint32_t scalars = 0;
  std::size_t dense_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Input& input = inputs_[i];
    const std::int64_t elements = num_elements(broadcast[i]);
    if (input.whole || (!input.spread && plan_.step(i) == 0)) scalars |= 1u << i;
    input.prefetch = !input.whole && elements == numel_;
    if (input.prefetch) dense_bytes += static_cast<std::size_t>(elements) * input.element_size;
  }
  prefetch_ = dense_bytes >= kPrefetchBytes;
  for (std::size_t r = 0; r < program_.results.size(); ++r) {
    result_size_.push_back(dtype_size(dtypes[static_cast<std::size_t>(program_.results[r])]));
    if (results == Results::rows) continue;
    if (needed[r] && static_cast<std::size_t>(numel_) * result_size_.back() >= kNontemporalBytes) {
      nontemporal_ |= 1u << r;
    }
  }
  interpreter_ = std::make_unique<TileInterpreter>(program_, dtypes, scalars, needed);
  scratch_ = interpreter_->scratch_bytes();
  for (Input& input : inputs_) {
    if (!input.spread) continue;
    input.scratch = scratch_;
    scratch_ += aligned_size(static_cast<std::size_t>(tile()) * input.element_size);
  }
}

double FusedProgram::ns_per_element() const {
  std::size_t bytes = 0;
  for (const Input& input : inputs_) bytes += input.whole ? 0 : input.element_size;
  for (const std::size_t size : result_size_) bytes += size;
  return interpreter_->ns_per_element() + 0.05 * static_cast<double>(bytes);
}

/// Extends rows to whole tiles. Inputs that are neither dense nor scalars are marked for expansion
/// into scratch.
void FusedProgram::spread(const Sizes& sizes, const std::vector<Sizes>& broadcast) {
  std::vector<Sizes> direct;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::int64_t n = num_elements(broadcast[i]);
    inputs_[i].spread = n != 1 && n != numel_;
    if (inputs_[i].spread) {
      plans_.emplace_back(sizes, std::vector<Sizes>{broadcast[i]});
      direct.emplace_back();
    } else {
      plans_.emplace_back(Sizes{}, std::vector<Sizes>{});
      direct.push_back(broadcast[i]);
    }
  }
  plan_ = BroadcastPlan(sizes, direct);
}

bool FusedProgram::overwrites_input(const KernelRun& run, std::size_t r) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (run.inputs[i] == run.outputs[r]) return true;
  }
  return false;
}

const void* FusedProgram::spread_input(const KernelRun& run, std::size_t i, std::int64_t position,
                                       std::int64_t n) const {
  const std::size_t size = inputs_[i].element_size;
  std::byte* to = run.slot_scratch + inputs_[i].scratch;
  const bool runs_along = plans_[i].step(0) != 0;
  plans_[i].for_rows(position, position + n,
                     [&](std::int64_t element, const std::int64_t* from, std::int64_t count) {
                       std::byte* piece = to + static_cast<std::size_t>(element - position) * size;
                       const void* source = at(run.inputs[i], from[0], size);
                       if (runs_along) {
                         std::memcpy(piece, source, static_cast<std::size_t>(count) * size);
                       } else {
                         fill(piece, source, size, count);
                       }
                     });
  return to;
}

void FusedProgram::run(const KernelRun& run, std::int64_t begin, std::int64_t end,
                       std::int64_t origin) const {
  const std::uint32_t deferred = interpreter_->deferred_stores(run.inputs, run.outputs);
  std::uint32_t nontemporal = 0;
  for (std::size_t r = 0; r < result_size_.size(); ++r) {
    if ((nontemporal_ >> r & 1) != 0 && !overwrites_input(run, r)) nontemporal |= 1u << r;
  }
  const std::int64_t most = tile();
  std::array<const void*, TileProgram::kMaxInputs> in;
  std::array<void*, TileProgram::kMaxResults> out;
  TileInterpreter::Prefetch prefetch;
  const auto run_tile = [&](std::int64_t position, std::int64_t n, const std::int64_t* row,
                            std::int64_t in_row) {
    prefetch.rows = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      if (input.whole) {
        in[i] = run.inputs[i];
      } else if (input.spread) {
        in[i] = spread_input(run, i, position, n);
      } else {
        in[i] = at(run.inputs[i], row[i] + in_row * plan_.step(i), input.element_size);
      }
      // Dense inputs continue after this tile regardless of row boundaries.
      const std::int64_t next = position + n + kPrefetchTiles * most;
      if (prefetch_ && input.prefetch && next < numel_) {
        prefetch.add(at(run.inputs[i], next, input.element_size),
                     static_cast<std::size_t>(std::min(n, numel_ - next)) * input.element_size);
      }
    }
    for (std::size_t r = 0; r < result_size_.size(); ++r) {
      out[r] = run.outputs[r] == nullptr ? nullptr
                                         : at(run.outputs[r], position - origin, result_size_[r]);
    }
    interpreter_->run({.in = in.data(),
                       .out = out.data(),
                       .n = n,
                       .position = position,
                       .deferred = deferred,
                       .nontemporal = nontemporal},
                      run.slot_scratch, &prefetch);
  };
  plan_.for_rows(begin, end, [&](std::int64_t row, const std::int64_t* from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += most) {
      run_tile(row + i, std::min(most, count - i), from, i);
    }
  });
  if (nontemporal != 0) kernels::stream_fence();
}

}  // namespace weft
