// The cost of batch invariance: the time of products and of attention in batch-invariant programs,
// relative to ordinary ones. Both run in turn, on weights that are read from memory.
//
//   weft_invariance_bench [THREADS] [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/random_tensors.h"
#include "weft/ops/op.h"
#include "weft/ops/quantized/quantized.h"

namespace weft::bench {
namespace {

/// An op with one set of inputs per copy of the weights, as an ordinary and as an invariant kernel.
class Pair {
 public:
  Pair(std::string_view name, Tensor x, const std::vector<Tensor>& weights,
       const Attributes& attributes, const Sizes& result, std::size_t total, Workers& workers)
      : workers_(workers), y_(Tensor::empty(DType::f32, result)) {
    const OpRecord& op = builtin_ops()->at(name);
    KernelRequest request;
    request.attributes = op.complete(attributes).evaluate(Bindings{});
    request.inputs.push_back({x.dtype(), x.sizes()});
    std::size_t bytes = 1;
    for (const Tensor& w : weights) {
      request.inputs.push_back({w.dtype(), w.sizes()});
      bytes += w.bytes();
    }
    while (request.inputs.size() < op.inputs.size() && op.inputs.back().name != "scale")
      request.inputs.push_back({DType::f32, {}, false});
    request.outputs.push_back({DType::f32, result});
    while (request.outputs.size() < op.outputs.size())
      request.outputs.push_back({DType::f32, {}, false});
    const std::size_t copies = std::max<std::size_t>(1, total / bytes);
    for (std::size_t c = 0; c < copies; ++c) {
      std::vector<Tensor> own = {x};
      for (const Tensor& w : weights) own.push_back(c == 0 ? w : w.clone());
      inputs_.push_back(std::move(own));
    }
    for (const bool invariant : {false, true}) {
      request.batch_invariant = invariant;
      Side& side = sides_[invariant ? 1 : 0];
      side.kernel = op.kernel(request);
      side.shared = Buffer::allocate(side.kernel.shared_scratch);
      for (int i = 0; i < workers.slots(); ++i)
        side.slots.push_back(Buffer::allocate(side.kernel.slot_scratch));
    }
  }

  /// Returns the median times of one run, in milliseconds.
  std::array<double, 2> measure(int rounds) {
    std::array<std::vector<double>, 2> times;
    for (int round = 0; round <= rounds; ++round) {
      for (std::size_t s : {0, 1}) {
        const auto start = std::chrono::steady_clock::now();
        for (const std::vector<Tensor>& inputs : inputs_) run(sides_[s], inputs);
        const std::chrono::duration<double, std::milli> time =
            std::chrono::steady_clock::now() - start;
        if (round > 0) times[s].push_back(time.count() / static_cast<double>(inputs_.size()));
      }
    }
    for (auto& t : times) std::nth_element(t.begin(), t.begin() + rounds / 2, t.end());
    return {times[0][static_cast<std::size_t>(rounds / 2)],
            times[1][static_cast<std::size_t>(rounds / 2)]};
  }

 private:
  struct Side {
    Kernel kernel;
    std::shared_ptr<Buffer> shared;
    std::vector<std::shared_ptr<Buffer>> slots;
  };

  void run(const Side& side, const std::vector<Tensor>& inputs) {
    std::array<const void*, 32> in = {};
    for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i].raw();
    std::array<void*, 4> out = {y_.mutable_raw()};
    for (const Phase& phase : side.kernel.phases) {
      workers_.for_chunks(
          phase.chunks,
          [&](std::int64_t chunk, int slot) {
            phase.body({in.data(), out.data(), side.shared->data(),
                        side.slots[static_cast<std::size_t>(slot)]->data()},
                       chunk);
          },
          phase.cost_ns);
    }
  }

  Workers& workers_;
  Tensor y_;
  std::vector<std::vector<Tensor>> inputs_;
  std::array<Side, 2> sides_;
};

void print(const std::string& what, const std::array<double, 2>& ms) {
  fmt::print("{:<34} {:9.3f} {:9.3f} {:6.2f}\n", what, ms[0], ms[1], ms[1] / ms[0]);
  std::fflush(stdout);
}

enum class Layout { in_out, out_in };

void measure_product(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                     std::optional<QuantizedFormat> format, DType dtype, Layout layout,
                     Workers& workers, int rounds) {
  const Tensor x = normal_tensor({rows, inputs}, 1);
  Tensor w =
      normal_tensor(layout == Layout::in_out ? Sizes{inputs, outputs} : Sizes{outputs, inputs}, 2);
  std::vector<Tensor> weights = {w.to(dtype)};
  Attributes attributes = {{"transpose_b", layout == Layout::out_in}};
  if (format) {
    const QuantizedMatrix m = quantize_matrix(w, *format, layout == Layout::out_in);
    weights = {m.q, m.scale};
    attributes = {{"outputs", outputs}};
  }
  const std::size_t total = (rows > 16 ? std::size_t{16} : std::size_t{128}) << 20;
  Pair pair(format ? "quantized_matmul" : "matmul", x, weights, attributes, {rows, outputs}, total,
            workers);
  print(
      fmt::format("{} {} rows {}x{}{}", format ? quantized_format_name(*format) : dtype_name(dtype),
                  rows, inputs, outputs,
                  format                     ? ""
                  : layout == Layout::out_in ? " [n, k]"
                                             : " [k, n]"),
      pair.measure(rounds));
}

void measure_attention(std::int64_t batch, std::int64_t queries, std::int64_t keys,
                       Workers& workers, int rounds) {
  constexpr std::int64_t kHeads = 12, kSize = 64;
  Pair pair("attention", normal_tensor({batch, kHeads, queries, kSize}, 1),
            {normal_tensor({batch, kHeads, keys, kSize}, 2),
             normal_tensor({batch, kHeads, keys, kSize}, 3)},
            {{"scale", 0.125}, {"causal", true}}, {batch, kHeads, queries, kSize}, 1, workers);
  print(fmt::format("attention {} x {} queries, {} keys", batch, queries, keys),
        pair.measure(rounds));
}

int run(int threads, int rounds) {
  Workers workers({.threads = threads});
  fmt::print("{:<34} {:>9} {:>9} {:>6}\n", "", "ms", "invariant", "ratio");
  for (const std::int64_t rows : {1, 8, 256}) {
    for (const auto& [inputs, outputs] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{768, 3072}, {3072, 768}}) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        for (const Layout layout : {Layout::out_in, Layout::in_out})
          measure_product(rows, inputs, outputs, {}, dtype, layout, workers, rounds);
      }
      for (const QuantizedFormat format : {QuantizedFormat::int8, QuantizedFormat::int4})
        measure_product(rows, inputs, outputs, format, DType::f32, Layout::out_in, workers, rounds);
    }
  }
  measure_attention(1, 256, 256, workers, rounds);
  measure_attention(8, 128, 128, workers, rounds);
  measure_attention(1, 1, 1024, workers, rounds);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  return weft::bench::run(threads, std::max(1, rounds));
}
