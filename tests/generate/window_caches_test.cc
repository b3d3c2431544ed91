// Generation with caches in which layers with a window keep only the newest tokens, compared with
// caches that keep all tokens.
#include <boost/test/unit_test.hpp>
#include <memory>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/tests/models/gpt_variants.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(window_caches)
namespace {

/// A decoder with caches of all tokens, or only of windows.
struct Decoder {
  Decoder(const GptConfig& config, bool all_tokens, CacheFormat caches = CacheFormat::f32)
      : gpt(Scope(graph), config),
        tokens(graph.input("tokens", DType::i64, {"rows", "new"})),
        decode(all_tokens ? whole_caches() : gpt.decode_program(tokens)),
        store(std::make_shared<VariableStore>()),
        session(std::make_unique<Session>(graph, store, SessionOptions{.seed = 4, .threads = 2})) {
    if (caches != CacheFormat::f32) {
      session->initialise();
      quantized = quantize({decode}, *store, {.weights = WeightFormat::bf16, .caches = caches});
      decode = quantized.programs[0];
      session = std::make_unique<Session>(*quantized.graph, quantized.store);
    }
    generator = std::make_unique<Generator>(*session, decode, config);
  }

  /// Returns the program of files that were written before there were ring buffers.
  Program whole_caches() {
    const Dim capacity = graph.dim("capacity");
    const Shape added = tokens.shape(), columns{tokens.size(0), capacity};
    const GptDecoding decoding =
        gpt.decode({.tokens = tokens,
                    .position = graph.input("position", DType::i64, {}),
                    .position_ids = graph.input("positions", ValueType{DType::i64, added}),
                    .mask = graph.input("visible", ValueType{DType::boolean, columns})},
                   capacity);
    return Program("decode").output("logits", decoding.logits).update(decoding.updates);
  }
  std::vector<TokenIds> generate(const std::vector<TokenIds>& prompts,
                                 const GenerationOptions& options) {
    return generator->generate(prompts, options).run().sequences;
  }
  std::int64_t kept(const std::string& cache) const { return session->value(cache).size(2); }

  Graph graph;
  Gpt gpt;
  Value tokens;
  Program decode;
  std::shared_ptr<VariableStore> store;
  QuantizedModel quantized;
  std::unique_ptr<Session> session;
  std::unique_ptr<Generator> generator;
};

GptConfig windowed(std::int64_t window, const std::string& layers = {}) {
  GptConfig config = variants()[1].config;  // LLaMA
  config.context = 620;
  config.kv_heads = 2;
  config.window = window;
  config.window_layers = layers;
  return config;
}

TokenIds text(std::int64_t length, std::int64_t seed = 7) {
  TokenIds ids;
  for (std::int64_t i = 0; i < length; ++i) ids.push_back((i * seed + i * i % 11) % 23);
  return ids;
}

BOOST_AUTO_TEST_CASE(generation_equals_that_with_caches_of_all_tokens) {
  std::vector<std::pair<std::string, GptConfig>> cases = {
      {"window 1", windowed(1)},       {"all layers", windowed(6)},
      {"pattern", windowed(40, "10")}, {"larger than the text", windowed(900)},
      {"chunks", windowed(7, "01")},   {"alibi", windowed(9, "10")}};
  cases[4].second.window_chunks = true;
  cases[5].second.positions = GptPositions::linear_bias;
  const std::vector<TokenIds> one = {text(600)}, rows = {text(3), text(590, 5), text(530)};
  for (const auto& [name, config] : cases) {
    for (const CacheFormat caches : {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8}) {
      BOOST_TEST_CONTEXT(name << ", " << cache_format_name(caches)) {
        Decoder all(config, true, caches), windows(config, false, caches);
        const auto compare = [&](const std::vector<TokenIds>& prompts, GenerationOptions options) {
          options.max_new = 12;
          BOOST_TEST((windows.generate(prompts, options) == all.generate(prompts, options)));
        };
        compare(one, {});
        const std::int64_t most =
            std::min<std::int64_t>(612, config.window - 1 + Generator::kPiece);
        const std::size_t layer = config.window_layers == "01" ? 1 : 0;
        BOOST_TEST(windows.kept("cache.h." + std::to_string(layer) + ".keys") == most);
        if (!config.window_layers.empty())
          BOOST_TEST(windows.kept("cache.h." + std::to_string(1 - layer) + ".values") == 612);
        compare(rows, {});
        compare(rows, {.beams = 3});
        compare({text(550)}, {.sampling = SamplingOptions{}, .results = 2});
        compare({text(615)}, {.slide = true});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_growing_text_reuses_the_window_and_an_earlier_change_recomputes_it) {
  const GptConfig config = windowed(6, "10");
  Decoder all(config, true), windows(config, false);
  const GenerationOptions options{.max_new = 4, .reuse_caches = true};
  const auto compare = [&](const TokenIds& prompt) {
    const TokenIds ids = windows.generate({prompt}, options).front();
    BOOST_TEST((ids == all.generate({prompt}, options).front()));
    return ids;
  };
  TokenIds growing = compare(text(700));
  for (int turn = 0; turn < 4; ++turn) {
    growing.insert(growing.end(), {1, 2, 3});
    growing = compare(growing);
    BOOST_TEST(windows.generator->reused() == all.generator->reused());
    BOOST_TEST((turn == 0 || windows.generator->reused() > 700));
  }
  TokenIds changed = growing;
  changed[600] = (changed[600] + 1) % 23;
  compare(changed);
  BOOST_TEST(windows.generator->reused() == 600);  // the window before it is still there
  changed[20] = (changed[20] + 1) % 23;
  compare(changed);
  BOOST_TEST(windows.generator->reused() == 0);
  compare(TokenIds(changed.begin(), changed.begin() + 300));
  BOOST_TEST(windows.generator->reused() == 299);
  compare(TokenIds(changed.begin(), changed.begin() + 200));
  BOOST_TEST(windows.generator->reused() == 0);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
