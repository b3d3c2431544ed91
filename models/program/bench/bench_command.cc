
#include <memory>

#include "weft/models/program/bench/benches.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

void add_runs(OptionList& list, BenchOptions& options) {
  list.integer("--threads", options.threads, {0, 1024},
               "number of threads; 0 = all hardware threads");
  list.integer("--runs", options.runs, {0, 1'000'000},
               "number of measured runs; 0 = the benchmark's default");
  list.flag("--json", options.json, "print one JSON object instead of a table");
}

void add_common(OptionList& list, BenchOptions& options) {
  add_runs(list, options);
  list.choice(
      "--precision", {"highest", "high", "medium"},
      [&options](const std::string& name) { options.precision = parse_precision(name); },
      "precision of matrix products (default: highest)");
}

void add_batch_invariant(OptionList& list, BenchOptions& options) {
  list.flag("--batch-invariant", options.batch_invariant,
            "compute results that do not depend on the batch, on padding or on caches");
}

/// Adds --m, --n and --k. Returns a function that stores the shape in a benchmark, or throws
/// UsageError unless all or none of them are given.
template <class Bench>
auto add_shape(OptionList& list, Bench bench) {
  const auto shape = std::make_shared<GemmShape>();
  list.integer("--m", shape->m, kFromOne,
               "rows of the result; if --m, --n and --k are given, only this shape is measured");
  list.integer("--n", shape->n, kFromOne, "columns of the result");
  list.integer("--k", shape->k, kFromOne, "size of the reduced axis");
  return [shape, bench] {
    const int given = (shape->m > 0) + (shape->n > 0) + (shape->k > 0);
    if (given != 0 && given != 3) throw UsageError("--m, --n and --k must be given together");
    if (given == 3) bench->shapes = {*shape};
  };
}

void add_model(OptionList& list, ModelBench& bench, const std::string& models) {
  add_common(list, bench.common);
  list.text("--model", bench.model, models);
  list.integer("--batch", bench.batch, kFromOne, "rows per batch (default: 4)");
  list.integer("--seq", bench.seq, kFromOne, "tokens per row, for text models (default: 256)");
  list.flag("--profile", bench.profile,
            "print the time of each node to stderr (waves run serially)");
}

constexpr const char* kPreset = "a preset of weft train (default: gpt2)";

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  OptionList bench(app, "bench",
                   "Benchmark attention, matrix products, and models with random weights");
  bench.needs_command();

  OptionList gemm(bench.command(), "gemm", "Benchmark float32 matrix products");
  const auto products = std::make_shared<GemmBench>();
  add_common(gemm, products->common);
  const auto store_shape = add_shape(gemm, products);
  gemm.flag("--plain-b", products->plain_b, "store b as [k, n] instead of [n, k]");
  gemm.then([products, store_shape, &action] {
    store_shape();
    action = [products] { return bench_gemm(*products); };
  });

  OptionList integer(bench.command(), "integer",
                     "Benchmark products of rounded activations with quantised weights");
  const auto integers = std::make_shared<IntegerBench>();
  add_runs(integer, integers->common);
  const auto store_integer_shape = add_shape(integer, integers);
  integer.choice(
      "--weights", {"int8", "q8_0", "int4"},
      [integers](const std::string& name) { integers->weights = parse_weight_format(name); },
      "format of the weights (default: int8)");
  integer.then([integers, store_integer_shape, &action] {
    store_integer_shape();
    action = [integers] { return bench_integer(*integers); };
  });

  OptionList train(bench.command(), "train", "Benchmark a complete training step");
  const auto training = std::make_shared<TrainBench>();
  add_model(train, *training, kPreset);
  train.integer("--shards", training->shards, {1, 1 << 20},
                "number of shards per batch, a power of two; with mpirun, the shards are divided "
                "among the ranks (default: 1)");
  train.bytes("--bucket", training->bucket_bytes,
              "size of the buckets in which ranks send gradient sums (default: 8MiB)");
  train.flag(
      "--no-overlap", training->no_overlap,
      "do not overlap communication with computation, to measure the benefit of the overlap");
  train.bytes("--memory-budget", training->memory_budget,
              "limit on the arena size (such as 600MiB); values that do not fit are recomputed");
  train.run(action, [training](const World& world) {
    training->world = world;
    return bench_train(*training);
  });

  OptionList forward(bench.command(), "forward", "Benchmark a forward pass with all logits");
  const auto passes = std::make_shared<ModelBench>();
  add_model(
      forward, *passes,
      "a published model (gpt2, bert-base, ...; weft inspect --model) or a preset of weft train");
  add_batch_invariant(forward, passes->common);
  forward.flag("--prepack", passes->prepack,
               "keep copies of the weights in the packed layout of the kernels");
  forward.choice(
      "--weights", {"f32", "bf16", "int8", "q8_0", "int4"},
      [passes](const std::string& name) {
        if (name != "f32") passes->weights = parse_weight_format(name);
      },
      "format of the weight matrices (default: f32)");
  forward.choice(
      "--activations", {"none", "int8"},
      [passes](const std::string& name) { passes->activations = parse_activation_format(name); },
      "format to which the inputs of products with int8, q8_0 or int4 weights are rounded "
      "(default: none)");
  forward.then([passes, &action] {
    const bool quantised = passes->weights && *passes->weights != WeightFormat::bf16;
    if (passes->activations != ActivationFormat::none && !quantised)
      throw UsageError("--activations int8 requires --weights int8, q8_0 or int4");
    action = [passes] { return bench_forward(*passes); };
  });

  OptionList attention(bench.command(), "attention",
                       "Benchmark causal attention, forward and backward");
  const auto attending = std::make_shared<AttentionBench>();
  add_common(attention, attending->common);
  attention.integer("--batch", attending->batch, kFromOne, "rows per batch (default: 1)");
  attention.integer("--heads", attending->heads, kFromOne, "number of heads (default: 12)");
  attention.integer("--size", attending->size, kFromOne, "size of a head (default: 64)");
  attention.integer("--seq", attending->seq, kFromOne,
                    "number of queries and of keys (default: 8192)");
  attention.choice(
      "--caches", {"f32", "bf16", "int8"},
      [attending](const std::string& name) { attending->caches = parse_cache_format(name); },
      "instead, measure the attention of one token over --seq cached keys and values in this "
      "format");
  attention.run(action, [attending] { return bench_attention(*attending); });

  OptionList decode(bench.command(), "decode",
                    "Benchmark token-by-token decoding with a key/value cache");
  const auto decoding = std::make_shared<DecodeBench>();
  add_common(decode, decoding->common);
  add_batch_invariant(decode, decoding->common);
  decode.text("--model", decoding->model, kPreset);
  decode.integer("--batch", decoding->batch, kFromOne, "rows per batch (default: 1)");
  decode.integer("--context", decoding->context, kFromOne,
                 "tokens in the cache before the first measured token (default: 128)");
  decode.choice(
      "--weights", {"f32", "bf16", "int8", "q8_0", "int4"},
      [weights = &decoding->weights](const std::string& name) {
        if (name != "f32") *weights = parse_weight_format(name);
      },
      "format of the weight matrices (default: f32)");
  decode.choice(
      "--caches", {"f32", "bf16", "int8"},
      [caches = &decoding->caches](const std::string& name) { *caches = parse_cache_format(name); },
      "format of the key/value caches (default: bf16, or f32 with f32 weights)");
  decode.flag("--profile", decoding->profile, "print the time of each node to stderr");
  decode.run(action, [decoding] { return bench_decode(*decoding); });
}

}  // namespace weft::program
