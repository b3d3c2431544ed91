// weft_serving_bench [--int8 | --speculate] [ROUNDS]: throughput of a BatchGenerator on one thread
// with eight requests at once, relative to one request. The two alternate. With --speculate: the
// throughput of one, four and eight requests with prompt lookup or a draft model, relative to none.
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

/// The last ten of the twelve layers of the model pass their input on, and the draft model consists
/// of the other two layers, so that all its proposals are accepted. With random weights,
/// texts repeat their last ids, which prompt lookup finds.
void compare_proposals(int rounds) {
  GptConfig config, small;
  small.layers = 2;
  Graph graph, drafts;
  const Gpt gpt(Scope(graph), config), draft(Scope(drafts), small);
  const Program program = gpt.slots_program(graph.input("tokens", DType::i64, {"rows", "new"})),
                draft_program =
                    draft.slots_program(drafts.input("tokens", DType::i64, {"rows", "new"}));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 1}).initialise();
  for (std::int64_t layer = small.layers; layer < config.layers; ++layer) {
    for (const Variable& parameter : (Scope(graph) / "transformer" / "h" / layer).parameters())
      store->set(parameter.name(),
                 Tensor::zeros(DType::f32, parameter.info().type.shape.evaluate({})));
  }
  const DecodeSlotsOptions options{.slots = 8, .capacity = 256};
  const SessionOptions settings{.threads = 1, .plan_cache = 64, .prepack = true};
  Session plain(graph, store, settings), looking(graph, store, settings),
      drafting(graph, store, settings), own(drafts, store, settings);
  BatchGenerator none(plain, program, config, options), lookup(looking, program, config, options),
      drafted(drafting, program, config, options);
  lookup.speculate(std::make_unique<PromptLookup>(), Speculation::kRows);
  drafted.speculate(std::make_unique<DraftModel>(own, draft_program, small, config.vocab, options),
                    Speculation::kRows);
  for (const std::int64_t texts : {1, 4, 8}) {
    std::vector<double> rates[3];
    for (int round = -1; round < rounds; ++round) {
      const double now[] = {measure(none, texts, config.vocab),
                            measure(lookup, texts, config.vocab),
                            measure(drafted, texts, config.vocab)};
      for (int i = 0; i < 3 && round >= 0; ++i) rates[i].push_back(now[i]);
    }
    fmt::print(
        "{} requests: {:.1f} ids/s, with lookup {:.1f} ({:.2f}), with a draft model {:.1f} "
        "({:.2f})\n",
        texts, median(rates[0]), median(rates[1]), median(rates[1]) / median(rates[0]),
        median(rates[2]), median(rates[2]) / median(rates[0]));
    std::fflush(stdout);
  }
  for (const BatchGenerator* one : {&lookup, &drafted}) {
    fmt::print("accepted {} of {} proposals\n", one->speculation()->accepted(),
               one->speculation()->proposed());
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool int8 = false, speculate = false;
  int rounds = 5;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--int8")
      int8 = true;
    else if (std::string_view(argv[i]) == "--speculate")
      speculate = true;
    else
      rounds = std::max(1, std::atoi(argv[i]));
  }
  if (speculate) {
    compare_proposals(rounds);
    return 0;
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
