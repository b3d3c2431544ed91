#include "weft/ops/fused_kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "weft/ops/broadcast_plan.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/stream_copy.h"
#include "weft/ops/tile_interpreter.h"

namespace weft {
namespace {

using elementwise::at;

// Rows of a broadcast shorter than this are not worth a round of the interpreter: such inputs are
// spread out to whole tiles first.
constexpr std::int64_t kShortRow = 256;
// Results at least this large are written past the caches, where they are not written over an
// input.
constexpr std::size_t kStreamBytes = std::size_t{64} << 20;

/// How one input comes to a tile.
struct TileInput {
  std::size_t element_size = 0;
  bool whole = false;   // a key
  bool spread = false;  // copied into a dense row first, by `plan`
  std::size_t scratch = 0;
};

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

class FusedKernel {
 public:
  explicit FusedKernel(const KernelRequest& request)
      : program_(TileProgram::parse(request.attributes.text("program"))) {
    const std::size_t inputs = static_cast<std::size_t>(program_.inputs);
    const std::vector<char> whole = whole_inputs(program_);
    // The shape of all steps: that of any result.
    const Sizes& sizes = request.outputs[0].sizes;
    std::vector<ValueType> types;
    std::vector<const ValueType*> type_pointers;
    types.reserve(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      types.push_back({request.inputs[i].dtype, Shape(request.inputs[i].sizes)});
      type_pointers.push_back(&types.back());
    }
    std::vector<DType> dtypes;
    for (const ValueType& t : infer_values(program_, type_pointers, DimFacts())) {
      dtypes.push_back(t.dtype);
    }
    std::vector<Sizes> broadcast;
    for (std::size_t i = 0; i < inputs; ++i) {
      inputs_.push_back({dtype_size(dtypes[i]), whole[i] != 0, false, 0});
      broadcast.push_back(whole[i] ? Sizes{} : request.inputs[i].sizes);
    }
    plan_ = BroadcastPlan(sizes, broadcast);
    numel_ = plan_.numel();
    if (plan_.row() < std::min(kShortRow, numel_)) spread(sizes, broadcast);
    std::uint32_t scalars = 0;
    for (std::size_t i = 0; i < inputs; ++i) {
      if (inputs_[i].whole || (!inputs_[i].spread && plan_.step(i) == 0)) scalars |= 1u << i;
    }
    std::vector<char> needed;
    for (std::size_t r = 0; r < program_.results.size(); ++r) {
      needed.push_back(request.has_output(r));
      const auto v = static_cast<std::size_t>(program_.results[r]);
      result_size_.push_back(dtype_size(dtypes[v]));
      if (request.has_output(r) && request.outputs[r].numel() > 0 &&
          static_cast<std::size_t>(numel_) * result_size_.back() >= kStreamBytes) {
        streamed_ |= 1u << r;
      }
    }
    interpreter_ = std::make_unique<TileInterpreter>(program_, dtypes, scalars, needed);
    scratch_ = interpreter_->scratch_bytes();
    for (TileInput& input : inputs_) {
      if (!input.spread) continue;
      input.scratch = scratch_;
      scratch_ +=
          (static_cast<std::size_t>(interpreter_->tile()) * input.element_size + 63) / 64 * 64;
    }
  }

  std::int64_t numel() const { return numel_; }
  std::size_t scratch() const { return scratch_; }
  double ns_per_element() const {
    std::size_t bytes = 0;
    for (const TileInput& input : inputs_) bytes += input.whole ? 0 : input.element_size;
    for (const std::size_t size : result_size_) bytes += size;
    return interpreter_->ns_per_element() + 0.05 * static_cast<double>(bytes);
  }

  void run(const KernelRun& run, std::int64_t begin, std::int64_t end) const {
    const std::uint32_t over_input = interpreter_->kept_back(run.inputs, run.outputs);
    std::uint32_t late = over_input, stream = 0;
    for (std::size_t r = 0; r < result_size_.size(); ++r) {
      if ((streamed_ >> r & 1) != 0 && !lies_over_input(run, r)) stream |= 1u << r;
    }
    // Rows that are kept back are all copied in the same way.
    const bool streaming = stream != 0 && over_input == 0;
    if (streaming) late = stream;
    const std::int64_t tile = interpreter_->tile();
    plan_.for_rows(begin, end, [&](std::int64_t row, const std::int64_t* from, std::int64_t count) {
      for (std::int64_t i = 0; i < count; i += tile) {
        run_tile(run, row + i, std::min(tile, count - i), from, i, late, streaming);
      }
    });
    if (streaming) kernels::stream_fence();
  }

 private:
  /// Makes rows of whole tiles: inputs that do not run along with the result are copied.
  void spread(const Sizes& sizes, const std::vector<Sizes>& broadcast) {
    std::vector<Sizes> direct;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::int64_t n = num_elements(broadcast[i]);
      if (n != 1 && n != numel_) {
        inputs_[i].spread = true;
        plans_.emplace_back(sizes, std::vector<Sizes>{broadcast[i]});
        direct.push_back({});
      } else {
        plans_.emplace_back(Sizes{}, std::vector<Sizes>{});
        direct.push_back(broadcast[i]);
      }
    }
    plan_ = BroadcastPlan(sizes, direct);
  }

  bool lies_over_input(const KernelRun& run, std::size_t r) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (run.inputs[i] == run.outputs[r]) return true;
    }
    return false;
  }

  void run_tile(const KernelRun& run, std::int64_t position, std::int64_t n,
                const std::int64_t* row, std::int64_t in_row, std::uint32_t late,
                bool stream) const {
    std::array<const void*, TileProgram::kMaxInputs> in;
    std::array<void*, TileProgram::kMaxResults> out;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const TileInput& input = inputs_[i];
      if (input.whole) {
        in[i] = run.inputs[i];
      } else if (input.spread) {
        in[i] = spread_input(run, i, position, n);
      } else {
        in[i] = at(run.inputs[i], row[i] + in_row * plan_.step(i), input.element_size);
      }
    }
    for (std::size_t r = 0; r < result_size_.size(); ++r) {
      out[r] = run.outputs[r] == nullptr ? nullptr : at(run.outputs[r], position, result_size_[r]);
    }
    interpreter_->run(in.data(), out.data(), n, position, late, stream, run.slot_scratch);
  }

  const void* spread_input(const KernelRun& run, std::size_t i, std::int64_t position,
                           std::int64_t n) const {
    const std::size_t size = inputs_[i].element_size;
    std::byte* to = run.slot_scratch + inputs_[i].scratch;
    const bool runs_along = plans_[i].step(0) != 0;
    plans_[i].for_rows(position, position + n,
                       [&](std::int64_t at_element, const std::int64_t* from, std::int64_t count) {
                         std::byte* piece =
                             to + static_cast<std::size_t>(at_element - position) * size;
                         const void* source = at(run.inputs[i], from[0], size);
                         if (runs_along) {
                           std::memcpy(piece, source, static_cast<std::size_t>(count) * size);
                         } else {
                           fill(piece, source, size, count);
                         }
                       });
    return to;
  }

  TileProgram program_;
  std::vector<TileInput> inputs_;
  std::vector<std::size_t> result_size_;
  BroadcastPlan plan_{Sizes{}, {}};
  std::vector<BroadcastPlan> plans_;  // of inputs that are spread
  std::unique_ptr<TileInterpreter> interpreter_;
  std::int64_t numel_ = 0;
  std::size_t scratch_ = 0;
  std::uint32_t streamed_ = 0;
};

}  // namespace

Kernel make_fused_kernel(const KernelRequest& request) {
  const auto fused = std::make_shared<const FusedKernel>(request);
  Kernel kernel =
      elementwise::make_kernel(fused->numel(), fused->ns_per_element(),
                               [fused](const KernelRun& run, std::int64_t begin, std::int64_t end) {
                                 fused->run(run, begin, end);
                               });
  kernel.slot_scratch = fused->scratch();
  return kernel;
}

Cost fused_cost(const KernelRequest& request) {
  Cost cost;
  for (const OperandSpec& spec : request.inputs) {
    if (spec.present) {
      cost.bytes += static_cast<double>(spec.numel()) * static_cast<double>(dtype_size(spec.dtype));
    }
  }
  double numel = 0;
  for (const OperandSpec& spec : request.outputs) {
    numel = static_cast<double>(spec.numel());
    if (spec.present) cost.bytes += numel * static_cast<double>(dtype_size(spec.dtype));
  }
  const TileProgram program = TileProgram::parse(request.attributes.text("program"));
  cost.flops = numel * static_cast<double>(program.steps.size());
  return cost;
}

}  // namespace weft
