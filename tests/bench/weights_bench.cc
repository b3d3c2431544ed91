// Benchmarks of products of a few rows with weights, and of one query with cached keys and values,
// that are read from memory. They dominate the time of decoding a token.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "weft/ops/kernels/targets/peak.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

// `medium` is bf16 stored as [outputs, inputs], at this precision.
enum class Format { f32, bf16, medium, int8, q8_0, int4 };
constexpr std::pair<Format, const char*> kFormats[] = {
    {Format::f32, "f32"},   {Format::bf16, "bf16"}, {Format::medium, "bf16-medium"},
    {Format::int8, "int8"}, {Format::q8_0, "q8_0"}, {Format::int4, "int4"}};

struct Shape {
  std::int64_t rows, outputs, inputs;
};
// Layers of GPT-2 small: the attention projection, the feed-forward layers, and the tied output
// layer.
constexpr Shape kShapes[] = {{1, 768, 768},  {1, 3072, 768}, {1, 768, 3072}, {1, 50257, 768},
                             {4, 3072, 768}, {8, 3072, 768}, {8, 768, 3072}, {16, 768, 3072}};

struct Cache {
  std::int64_t heads, kv_heads, keys, size;
};
// Four query heads per key head, and one.
constexpr Cache kCaches[] = {{32, 8, 8192, 128}, {32, 8, 32768, 128}, {12, 12, 8192, 64}};

Tensor apply(std::string_view op, const Tensor& x) {
  return evaluate_op(builtin_ops()->at(op), {x})[0];
}

// Weights or caches of one shape in one block of memory. Together they are larger than the caches
// of the CPU. The op computes a result from `x` and each of them in turn.
class Stream {
 public:
  Stream(std::string_view op, const Attributes& attributes, Tensor x,
         const std::vector<Tensor>& weights, const Sizes& result, int threads)
      : workers_({.threads = threads}), x_(std::move(x)) {
    const OpRecord& record = builtin_ops()->at(op);
    KernelRequest request;
    request.attributes = record.complete(attributes).evaluate(Bindings{});
    request.inputs.push_back({x_.dtype(), x_.sizes()});
    for (const Tensor& w : weights) request.inputs.push_back({w.dtype(), w.sizes()});
    request.outputs.push_back({DType::f32, result});
    kernel_ = record.kernel(request);

    std::size_t one = 0;
    for (const Tensor& w : weights) one += w.bytes();
    constexpr std::size_t kTotal = std::size_t{192} << 20;
    const std::size_t copies = std::max<std::size_t>(1, kTotal / one);
    block_ = Buffer::allocate(copies * (one + 2 * kTensorAlignment));
    y_ = Tensor::empty(DType::f32, result);
    std::size_t offset = 0;
    for (std::size_t c = 0; c < copies; ++c) {
      std::vector<const void*> inputs = {x_.raw()};
      for (const Tensor& w : weights) {
        std::copy_n(w.raw(), w.bytes(), block_->data() + offset);
        inputs.push_back(block_->data() + offset);
        offset += (w.bytes() + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
      }
      inputs_.push_back(std::move(inputs));
    }
    bytes_ = static_cast<double>(one * copies);
    shared_ = Buffer::allocate(kernel_.shared_scratch);
    slots_ = Buffer::allocate(kernel_.slot_scratch * static_cast<std::size_t>(workers_.slots()));
  }

  // Multiplies by every matrix and keeps the best time for each matrix, because other programs slow
  // down some runs but not all.
  void run() {
    void* out[] = {y_.mutable_raw()};
    best_.resize(inputs_.size(), 1e9);
    for (std::size_t c = 0; c < inputs_.size(); ++c) {
      const auto begin = Clock::now();
      for (const Phase& phase : kernel_.phases) {
        const auto body = [&](std::int64_t chunk, int slot) {
          phase.body({inputs_[c].data(), out, shared_->data(),
                      slots_->data() + kernel_.slot_scratch * static_cast<std::size_t>(slot)},
                     chunk);
        };
        workers_.for_chunks(phase.chunks, body, phase.cost_ns);
      }
      best_[c] = std::min(best_[c], std::chrono::duration<double>(Clock::now() - begin).count());
    }
  }
  // Returns the bytes of weights per second, computed from the best time of every matrix.
  double best_rate() const { return bytes_ / std::accumulate(best_.begin(), best_.end(), 0.0); }

  // Reads the same memory with all threads, without computing anything else, and keeps the best
  // rate of every MiB.
  void read() {
    constexpr std::size_t kPart = std::size_t{1} << 20;
    const std::size_t parts = block_->bytes() / kPart;
    read_.resize(parts, 0);
    workers_.for_chunks(static_cast<std::int64_t>(parts), [&](std::int64_t part, int) {
      const auto i = static_cast<std::size_t>(part);
      const auto begin = Clock::now();
      kernels::read_memory(block_->data() + i * kPart, kPart);
      const std::chrono::duration<double> elapsed = Clock::now() - begin;
      read_[i] = std::max(read_[i], static_cast<double>(kPart) / elapsed.count());
    });
  }
  // Returns the bytes per second of reading the memory with all threads, computed from the best
  // rate of every MiB.
  double read_rate() const {
    double seconds_per_byte = 0;
    for (const double rate : read_)
      seconds_per_byte += 1 / rate / static_cast<double>(read_.size());
    return workers_.slots() / seconds_per_byte;
  }
  double bytes() const { return bytes_; }

 private:
  Workers workers_;
  Kernel kernel_;
  std::shared_ptr<Buffer> block_, shared_, slots_;
  std::vector<std::vector<const void*>> inputs_;
  Tensor x_, y_;
  double bytes_ = 0;
  std::vector<double> best_, read_;
};

Stream product(const Shape& shape, Format format, int threads) {
  std::vector<Tensor> weights = {random_tensor({shape.inputs, shape.outputs})};
  Attributes attributes;
  const bool quantized =
      format != Format::f32 && format != Format::bf16 && format != Format::medium;
  if (quantized) {
    const QuantizedMatrix m = quantize_matrix(weights[0],
                                              format == Format::int8   ? QuantizedFormat::int8
                                              : format == Format::q8_0 ? QuantizedFormat::q8_0
                                                                       : QuantizedFormat::int4,
                                              false);
    weights = {m.q, m.scale};
    attributes.set("outputs", shape.outputs);
  } else if (format == Format::bf16) {
    weights[0] = weights[0].to(DType::bf16);
  } else if (format == Format::medium) {
    weights[0] = random_tensor({shape.outputs, shape.inputs}).to(DType::bf16);
    attributes.set("transpose_b", true);
    attributes.set("precision", std::string("medium"));
  }
  return {quantized ? "quantized_matmul" : "matmul",
          attributes,
          random_tensor({shape.rows, shape.inputs}),
          weights,
          {shape.rows, shape.outputs},
          threads};
}

Stream attention(const Cache& cache, Format format, int threads) {
  const Tensor wide = random_tensor({1, cache.kv_heads, cache.keys, cache.size});
  const Tensor keys = format == Format::f32    ? wide
                      : format == Format::bf16 ? wide.to(DType::bf16)
                                               : apply("pack_int8_rows", wide);
  return {format == Format::f32 ? "attention" : "attention_narrow",
          {{"scale", 0.125}},
          random_tensor({1, cache.heads, 1, cache.size}),
          {keys, keys},
          {1, cache.heads, 1, cache.size},
          threads};
}

void measure(benchmark::State& state, const std::function<Stream()>& make) {
  Stream stream = make();
  stream.run();
  for (auto _ : state) {
    stream.run();
    state.PauseTiming();
    stream.read();
    state.ResumeTiming();
  }
  state.counters["bytes"] =
      benchmark::Counter(stream.bytes(), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["best"] = stream.best_rate();
  state.counters["of_read"] = stream.best_rate() / stream.read_rate();
}

void add(const std::string& title, const std::function<Stream()>& make) {
  benchmark::RegisterBenchmark(title.c_str(),
                               [=](benchmark::State& state) { measure(state, make); })
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

void add_weights_benchmarks() {
  for (const int threads : thread_counts()) {
    for (const Shape& s : kShapes) {
      for (const auto& [format, name] : kFormats) {
        const std::string title = fmt::format("weights/{}/{}x{}x{}/threads:{}", name, s.rows,
                                              s.outputs, s.inputs, threads);
        add(title, [=, format = format] { return product(s, format, threads); });
      }
    }
    for (const Cache& c : kCaches) {
      for (const Format format : {Format::f32, Format::bf16, Format::int8}) {
        add(fmt::format("caches/{}/{}:{}x{}x{}/threads:{}",
                        kFormats[static_cast<int>(format)].second, c.heads, c.kv_heads, c.keys,
                        c.size, threads),
            [=] { return attention(c, format, threads); });
      }
    }
  }
}

}  // namespace weft::bench
