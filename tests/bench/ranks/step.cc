// Seconds of a GPT's training step in shards, as one process or on the ranks that a launcher of MPI
// started: for measure.sh. Prints "STEP WAITING MEGABYTES": the median seconds of a step, those of
// them in which rank 0 waits for the others, and the megabytes of gradients.
//   weft_ranks_step SIZE BATCH TOKENS SHARDS STEPS THREADS BUCKET_BYTES
// SIZE is "gpt2" (124M parameters), or small: for trying this out. A bucket that holds all
// gradients is sent when the last of them is there: nothing is sent while a shard is computed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "weft/autodiff/optimizer.h"
#include "weft/core/error.h"
#include "weft/core/mpi/mpi_transport.h"
#include "weft/core/world/timed_transport.h"
#include "weft/graph/functions/loss.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/fields/numbers.h"
#include "weft/testing/random_tensors.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

GptConfig config_of(std::string_view size) {
  if (size == "gpt2") return {};
  if (size == "small") return {.vocab = 4096, .layers = 4, .heads = 4, .width = 256};
  throw ArgumentError(fmt::format("size '{}' is neither gpt2 nor small", size));
}

void measure(const World& world, const std::vector<std::string>& arguments) {
  const GptConfig config = config_of(arguments.at(0));
  const auto number = [&](std::size_t i) {
    return parse_integer("argument", arguments.at(i), {.low = 1, .high = std::int64_t{1} << 40});
  };
  const std::int64_t batch = number(1), tokens = number(2), steps = number(4);
  const auto shards = static_cast<int>(number(3));
  Graph g;
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  const Value targets = g.input("targets", DType::i32, {"batch", "seq"});
  const Gpt model(Scope(g), config);
  const Value loss = cross_entropy(model({.ids = ids}).logits, targets,
                                   {.class_axis = -1, .reduction = Reduction::shard_mean});
  const Program train =
      Program("train")
          .output("loss", loss)
          .shards({.count = shards})
          .update(adamw(loss, g.parameters(), {.lr = 1e-4, .step = {.clip_norm = 1}}));
  Session session(g, {.seed = 1,
                      .threads = static_cast<int>(number(5)),
                      .world = world,
                      .bucket_bytes = static_cast<std::size_t>(number(6))});
  const auto feeds = [&](int shard) -> NamedTensors {
    const auto drawn = [&](std::uint64_t seed) {
      return testing::integer_tensor({batch / shards, tokens}, seed, 0, config.vocab, DType::i32);
    };
    const auto seed = static_cast<std::uint64_t>(2 * shard);
    return {{"ids", drawn(seed)}, {"targets", drawn(seed + 1)}};
  };
  std::vector<double> seconds, waiting;
  for (std::int64_t i = 0; i < steps + 2; ++i) {
    world.barrier();
    const double waited = seconds_waited(world);
    const Clock::time_point start = Clock::now();
    session.run_shards(train, feeds);
    if (i < 2) continue;  // these plan, and touch memory
    seconds.push_back(seconds_since(start));
    waiting.push_back(seconds_waited(world) - waited);
  }
  double elements = 0;
  for (const Variable& v : g.parameters()) {
    double size = 1;
    for (const std::int64_t n : v.shape().constant()) size *= static_cast<double>(n);
    elements += size;
  }
  if (world.first())
    fmt::print("{:.4f} {:.4f} {:.1f}\n", median(seconds), median(waiting), 4e-6 * elements);
}

World connect() {
  if (!started_by_mpi()) return World();
  return World(std::make_shared<TimedTransport>(connect_mpi()));
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  try {
    weft::measure(weft::connect(), {argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "weft_ranks_step: {}\n", e.what());
    return 1;
  }
  return 0;
}
