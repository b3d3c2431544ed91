// The benchmarks of `weft bench`: one function per subcommand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"

namespace weft::program {

/// Options common to all benchmarks.
struct BenchOptions {
  int threads = 0;  // 0 = one per hardware thread
  Precision precision = Precision::highest;
  int runs = 0;  // measured runs; 0 = the benchmark's default
  bool json = false;
  bool batch_invariant = false;  // SessionOptions::batch_invariant

  int thread_count() const;
  SessionOptions session() const;
};

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
};
/// Measures C [m, n] = A [m, k] B. B is stored as [n, k] (the weights of a linear layer), or as [k,
/// n] with `plain_b`. Prints one line per shape. With several threads, also measures one thread and
/// prints the scaling: the time of one thread divided by the total time of all threads.
struct GemmBench {
  BenchOptions common;
  std::vector<GemmShape> shapes;  // empty = typical transformer shapes
  bool plain_b = false;
};
int bench_gemm(const GemmBench& bench);

/// Measures the product of float rows, which are rounded to bytes, with quantised weights [k, n]
/// (int8, q8_0 or int4), summed as integers. The time includes the rounding. Prints one line per
/// shape, with the fraction of the peak of the CPU's fastest integer instructions.
struct IntegerBench {
  BenchOptions common;
  std::vector<GemmShape> shapes;  // empty = typical transformer shapes
  WeightFormat weights = WeightFormat::int8;
};
int bench_integer(const IntegerBench& bench);

struct ModelBench {
  BenchOptions common;
  std::string model = "gpt2";
  std::int64_t batch = 4;
  std::int64_t seq = 0;                 // tokens per row; 0 = 256; must be 0 for image models
  std::size_t memory_budget = 0;        // SessionOptions::memory_budget
  bool profile = false;                 // print a table of times per node to stderr
  bool prepack = false;                 // SessionOptions::prepack
  std::optional<WeightFormat> weights;  // std::nullopt = f32
  ActivationFormat activations = ActivationFormat::none;
};
int bench_forward(const ModelBench& bench);

/// A training step with shards that are divided among the ranks of a World. Rank 0 measures and
/// prints the times. Every rank holds the whole batch.
struct TrainBench : ModelBench {
  int shards = 1;                // a power of two that divides the batch; at least one per rank
  std::size_t bucket_bytes = 0;  // SessionOptions::bucket_bytes; 0 = its default
  bool no_overlap = false;       // SessionOptions::overlap
  World world = {};
};
int bench_train(const TrainBench& bench);

/// Causal attention and its gradients. q, k and v have the shape [batch, heads, seq, size].
struct AttentionBench {
  BenchOptions common;
  std::int64_t batch = 1, heads = 12, seq = 8192, size = 64;
  /// Measures the attention of one token over caches in this format (forward only) instead.
  std::optional<CacheFormat> caches;
};
int bench_attention(const AttentionBench& bench);

struct DecodeBench {
  BenchOptions common;
  std::string model = "gpt2";
  std::int64_t batch = 1;
  std::int64_t context = 128;           // tokens in the cache before the first measured token
  std::optional<WeightFormat> weights;  // std::nullopt = the format in the graph (f32)
  std::optional<CacheFormat> caches;    // std::nullopt = bf16, or f32 with f32 weights
  bool profile = false;
};
int bench_decode(const DecodeBench& bench);

}  // namespace weft::program
