// weft_serving_bench [--int8] [ROUNDS]: throughput of a BatchGenerator on one thread with eight
// requests at once, relative to one request. The two alternate.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kNew = 32;

/// Generates `count` texts of different lengths at once and returns the number of new ids per
/// second, with the time for the prompts.
double measure(BatchGenerator& batch, std::int64_t count, std::int64_t vocab) {
  for (std::int64_t r = 0; r < count; ++r) {
    TokenIds prompt;
    for (std::int64_t i = 0; i < 8 + 3 * r; ++i) prompt.push_back((r * 31 + i * 17) % vocab);
    batch.add(prompt, {.max_new = kNew});
  }
  const Clock::time_point begin = Clock::now();
  std::int64_t ids = 0;
  while (batch.next()) ++ids;
  return static_cast<double>(ids) / std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char* name, const GptConfig& config, bool int8, int rounds) {
  Graph graph;
  const Gpt gpt(Scope(graph), config);
  Program program = gpt.slots_program(graph.input("tokens", DType::i64, {"rows", "new"}));
  auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 1}).initialise();
  Graph* used = &graph;
  QuantizedModel quantized;
  if (int8) {
    quantized =
        quantize({program}, *store, {.weights = WeightFormat::int8, .caches = CacheFormat::bf16});
    program = quantized.programs[0];
    store = quantized.store;
    used = quantized.graph.get();
  }
  Session session(*used, store, {.threads = 1, .plan_cache = 32, .prepack = true});
  BatchGenerator batch(session, program, config, {.slots = 8, .capacity = 256});
  std::vector<double> one, eight, ratios;
  for (int round = -1; round < rounds; ++round) {  // the first round makes the plans
    const double a = measure(batch, 1, config.vocab), b = measure(batch, 8, config.vocab);
    if (round < 0) continue;
    one.push_back(a);
    eight.push_back(b);
    ratios.push_back(b / a);
  }
  fmt::print("{:8} one request {:8.1f} ids/s  eight requests {:8.1f} ids/s  ratio {:.2f}\n", name,
             median(one), median(eight), median(ratios));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool int8 = false;
  int rounds = 5;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--int8")
      int8 = true;
    else
      rounds = std::max(1, std::atoi(argv[i]));
  }
  GptConfig small = GptConfig::llama();
  small.vocab = 8000;
  small.layers = 6;
  small.heads = 6;
  small.width = 384;
  small.context = 1024;
  compare("small", small, int8, rounds);
  compare("gpt2", GptConfig(), int8, rounds);
}
