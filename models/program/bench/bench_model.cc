#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "weft/core/world/shard_tree.h"
#include "weft/core/world/timed_transport.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/bench/benches.h"
#include "weft/models/program/bench/machine.h"
#include "weft/models/program/bench/models.h"
#include "weft/models/program/bench/report.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/models/program/limits/step_memory.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

using MakeModel = FunctionRef<BenchModel()>;

constexpr const char* kSmaller = "reduce --batch or --seq, or use a smaller --model";

/// Throws UsageError if the ids of a batch would not fit into memory. To be called before they are
/// allocated.
void check_ids(std::int64_t batch, std::int64_t seq) {
  if (seq == 0) seq = kDefaultSeq;
  constexpr double kBytesEach = 8;  // inputs and targets
  check_memory("a batch", kBytesEach * static_cast<double>(batch) * static_cast<double>(seq),
               kSmaller);
}
/// Throws UsageError if the parameters of a model would not fit into memory. To be called before
/// they are allocated.
void check_parameters(const Graph& graph) {
  check_memory("the model", sizeof(float) * static_cast<double>(hf::count_parameters(graph)),
               kSmaller);
}

/// Throws UsageError if the batch cannot be divided into shards, the shards cannot be divided among
/// the ranks, or the gradient sums cannot be divided into buckets.
void check_parts(const TrainBench& bench) {
  rethrow_as_usage([&] { check_shards(bench.shards, bench.world.size()); });
  if (bench.batch % bench.shards != 0) {
    throw UsageError(
        fmt::format("--batch {} is not a multiple of {} shards", bench.batch, bench.shards));
  }
  if (bench.bucket_bytes % 64 != 0)
    throw UsageError(
        fmt::format("--bucket must be a multiple of 64 bytes, not {}", bench.bucket_bytes));
}

/// Returns the maximum of `own` over all ranks. Collective.
std::size_t largest_of_ranks(const World& world, std::size_t own) {
  std::size_t largest = own;
  for (const std::string& word : world.gather(std::to_string(own)))
    largest = std::max<std::size_t>(largest, std::stoull(word));
  return largest;
}

int bench_model(const TrainBench& bench, std::string_view kind, MakeModel make, int default_runs) {
  const World& world = bench.world;
  const auto begin = Clock::now();
  double build = 0;
  BenchModel made = on_all_ranks(world, [&] {
    check_ids(bench.batch, bench.seq);
    check_parts(bench);
    BenchModel model = make();
    build = seconds_since(begin);
    check_parameters(*model.graph);
    return model;
  });

  BenchOptions common = bench.common;
  common.threads = threads_of_rank(world, common.threads);
  SessionOptions options = common.session();
  options.memory_budget = bench.memory_budget;
  options.prepack = bench.prepack;
  options.world = world;
  options.overlap = !bench.no_overlap;
  if (bench.bucket_bytes > 0) options.bucket_bytes = bench.bucket_bytes;
  std::shared_ptr<Graph> graph = std::move(made.graph);
  auto store = std::make_shared<VariableStore>();
  if (bench.weights) {
    Session(*graph, store, common.session()).initialise();
    QuantizedModel model = quantize({made.program}, *store,
                                    {.weights = *bench.weights, .activations = bench.activations});
    graph = model.graph;
    store = model.store;
    made.program = model.programs.front();
  }
  Session session(*graph, store, options);
  NamedSizes sizes = sizes_of(made.feeds);
  for (auto& [name, of_shard] : sizes) of_shard.front() /= bench.shards;
  const auto before_plan = Clock::now();
  const auto plan = on_all_ranks(
      world, [&] { return rethrow_as_usage([&] { return session.plan(made.program, sizes); }); });
  const double planning = seconds_since(before_plan);
  const StepMemory step = step_memory(made.program, *plan, world.size(), options);
  on_all_ranks(world, [&] { check_memory("a step", step.total(), kSmaller); });
  // The variables come last: it takes much longer to initialise them than to plan a step, which
  // finds out whether the step fits into memory.
  const auto before_variables = Clock::now();
  if (!bench.weights) session.initialise();
  const double variables = seconds_since(before_variables);

  session.run(made.program, made.feeds);
  const double first = seconds_since(begin);
  session.set_profiling(bench.profile);
  const int threads = common.thread_count();
  const double peak_before = fma_peak(threads);
  Times waits;
  const Times times = measure(1, common.runs > 0 ? common.runs : default_runs, [&] {
    const double before = seconds_waited(world);
    session.run(made.program, made.feeds);
    waits.seconds.push_back(seconds_waited(world) - before);
  });
  // All ranks have the same amount of work and measure their peaks at the same time.
  const double peak = world.size() * (peak_before + fma_peak(threads)) / 2;

  const MemoryReport memory = plan->memory();
  // FLOPs for recomputation (due to the memory budget) are not counted as work.
  const double flop = (plan->cost().flops - memory.recomputed_flops) * bench.shards;
  const double seconds = times.median();
  Figures figures = {{"benchmark", kind},
                     {"model", bench.model},
                     {"batch", bench.batch},
                     {"seq", bench.seq > 0                ? bench.seq
                             : made.item_name == "images" ? 0
                                                          : kDefaultSeq},
                     {"precision", precision_name(common.precision)},
                     {"batch_invariant", common.batch_invariant},
                     {"weights", bench.weights ? weight_format_name(*bench.weights) : "f32"},
                     {"activations", activation_format_name(bench.activations)},
                     {"threads", threads},
                     {"seconds_per_step", seconds},
                     {"best_seconds_per_step", times.best()},
                     {made.item_name + "_per_second", made.items / seconds},
                     {"peak_rss_bytes", largest_of_ranks(world, peak_rss_bytes())},
                     {"planned_bytes", static_cast<std::size_t>(step.total()) + memory.packed},
                     {"arena_bytes", memory.arena},
                     {"variable_bytes", static_cast<std::size_t>(step.variables)},
                     {"packed_bytes", memory.packed},
                     {"flops", flop},
                     {"recomputed_flops", memory.recomputed_flops},
                     {"recomputed_bytes", memory.recomputed_bytes},
                     {"flops_per_second", flop / seconds},
                     {"peak_flops_per_second", peak},
                     {"fraction_of_peak", flop / seconds / peak},
                     {"build_seconds", build},
                     {"plan_seconds", planning},
                     {"initialise_seconds", variables},
                     {"first_step_seconds", first}};
  if (bench.shards > 1) {
    figures["shards"] = bench.shards;
    figures["ranks"] = world.size();
    figures["gradient_bytes"] = static_cast<std::size_t>(step.outputs);
    figures["sum_bytes"] = static_cast<std::size_t>(step.sums);
    figures["waiting_seconds"] = waits.median();
  }
  print_figures(figures, common.json);
  if (bench.profile && world.first()) write_stderr(session.profile().table());
  return 0;
}

}  // namespace

int BenchOptions::thread_count() const { return threads > 0 ? threads : hardware_threads(); }

SessionOptions BenchOptions::session() const {
  return {.threads = threads, .precision = precision, .batch_invariant = batch_invariant};
}

int bench_train(const TrainBench& bench) {
  return bench_model(
      bench, "train",
      [&] { return bench_training_step(bench.model, bench.batch, bench.seq, bench.shards); }, 5);
}

int bench_forward(const ModelBench& bench) {
  return bench_model(
      TrainBench{bench}, "forward",
      [&] { return bench_forward_pass(bench.model, bench.batch, bench.seq); }, 7);
}

int bench_decode(const DecodeBench& bench) {
  const int tokens = bench.common.runs > 0 ? bench.common.runs : 64;
  check_ids(bench.batch, bench.context + tokens + 1);
  BenchModel made = bench_decoding_step(bench.model, bench.batch, bench.context + tokens + 1);
  std::shared_ptr<Graph> graph = std::move(made.graph);
  check_parameters(*graph);
  check_memory("the key/value cache",
               cache_bytes(*graph, {.rows = static_cast<double>(bench.batch),
                                    .capacity = static_cast<double>(bench.context + tokens + 1)}),
               "reduce --batch or --context");
  auto store = std::make_shared<VariableStore>();
  const CacheFormat caches =
      bench.caches.value_or(bench.weights ? CacheFormat::bf16 : CacheFormat::f32);
  if (bench.weights) {
    Session(*graph, store, bench.common.session()).initialise();
    QuantizedModel model =
        quantize({made.program}, *store, {.weights = *bench.weights, .caches = caches});
    graph = model.graph;
    store = model.store;
    made.program = model.programs.front();
  } else if (caches != CacheFormat::f32) {
    RewrittenPrograms narrow = with_quantized({made.program}, {}, caches);
    graph = narrow.graph;
    made.program = narrow.programs.front();
  }
  Session session(*graph, store, bench.common.session());
  const RunOptions options{.dims = {{"capacity", bench.context + tokens + 1}}};
  const auto feed = [&](std::int64_t count, std::int64_t position) -> NamedTensors {
    constexpr std::int64_t kAnyVocabulary = 65;  // ids that are valid for every model
    return {{"tokens",
             bench_ids({bench.batch, count}, kAnyVocabulary, static_cast<std::uint64_t>(position))},
            {"position", Tensor::of<std::int64_t>({}, {position})}};
  };
  const auto prompt_begin = Clock::now();
  session.run(made.program, feed(bench.context, 0), options);
  const double prompt = seconds_since(prompt_begin);
  // Lower bound on the memory traffic per token: the bytes of all parameters except the position
  // embeddings, of which only single rows are read.
  std::size_t weights = 0;
  for (const VariableStore::MemoryEntry& entry : session.store()->memory()) {
    if (entry.kind == VariableKind::parameter &&
        !entry.name.starts_with("transformer.wpe.weight")) {
      weights += entry.bytes;
    }
  }
  const int threads = bench.common.thread_count();
  const ReadBandwidth memory(threads, weights);
  session.set_profiling(bench.profile);
  std::int64_t position = bench.context;
  const auto step = [&] { session.run(made.program, feed(1, position++), options); };
  // Alternate decoding and bandwidth measurements, because the memory bandwidth varies over time.
  constexpr int kRounds = 4;
  step();
  Times times, floors, fractions;
  for (int round = 0; round < kRounds; ++round) {
    const Times some = measure(0, tokens * (round + 1) / kRounds - tokens * round / kRounds, step);
    if (some.seconds.empty()) continue;
    times.seconds.insert(times.seconds.end(), some.seconds.begin(), some.seconds.end());
    floors.seconds.push_back(static_cast<double>(weights) / memory.measure());
    fractions.seconds.push_back(floors.seconds.back() / some.median());
  }
  const double seconds = times.median(), floor = floors.median();
  print_figures({{"benchmark", "decode"},
                 {"model", bench.model},
                 {"batch", bench.batch},
                 {"context", bench.context},
                 {"weights", bench.weights ? weight_format_name(*bench.weights) : "f32"},
                 {"caches", cache_format_name(caches)},
                 {"precision", precision_name(bench.common.precision)},
                 {"batch_invariant", bench.common.batch_invariant},
                 {"threads", threads},
                 {"seconds_per_token", seconds},
                 {"best_seconds_per_token", times.best()},
                 {"tokens_per_second", made.items / seconds},
                 {"prompt_seconds", prompt},
                 {"weight_bytes", weights},
                 {"read_bytes_per_second", static_cast<double>(weights) / floor},
                 {"floor_seconds_per_token", floor},
                 {"floor_fraction", fractions.median()},
                 {"peak_rss_bytes", peak_rss_bytes()}},
                bench.common.json);
  if (bench.profile) write_stderr(session.profile().table());
  return 0;
}

}  // namespace weft::program
