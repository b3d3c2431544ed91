// Adapters that requests choose, and the program that serves a decoder.
#include "weft/models/serve/adapters.h"

#include <boost/test/unit_test.hpp>
#include <future>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/serve/text_engine.h"
#include "weft/models/tasks/adapted_models.h"
#include "weft/models/tasks/quantize_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/lora_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(served_adapters)
namespace {

using testing::says;
using testing::TemporaryFolder;

LanguageModel tiny_model(std::uint64_t seed = 4) {
  GptConfig config = GptConfig::llama();
  const Tokenizer tokenizer = CharacterTokenizer::from_text("abcdefghijklmnopqrstuvw .");
  config.vocab = tokenizer.vocab_size();
  config.layers = 2;
  config.heads = 4;
  config.width = 32;
  config.inner = 48;
  config.context = 64;
  config.initializer_range = 0.4;
  LanguageModel model = build_language_model(config, tokenizer, {});
  Session(*model.graph, model.store, {.seed = seed}).initialise();
  return model;
}

/// Returns a copy of the model with adapters of its matrices that match the patterns.
LanguageModel adapted(const LanguageModel& model, const LoraOptions& options, std::uint64_t seed) {
  LanguageModel copy = model;
  add_adapters(copy, options);
  Session session(*copy.graph, copy.store, {.seed = seed});
  session.initialise();
  for (const Variable& variable : copy.graph->parameters()) {
    if (!variable.name().ends_with("_b")) continue;
    const Sizes sizes = variable.info().type.shape.evaluate({});
    session.set_value(variable.name(), sample_uniform(sizes, seed, -0.2, 0.2).to(DType::f32));
  }
  return copy;
}

/// A model and two adapter files.
struct Adapted {
  Adapted() {
    save_lora(folder / "wide.safetensors", lora_adapters(wide));
    save_lora(folder / "narrow.safetensors", lora_adapters(narrow));
  }
  std::vector<std::pair<std::string, std::string>> adapters() const {
    return {{"wide", folder / "wide.safetensors"}, {"narrow", folder / "narrow.safetensors"}};
  }

  TemporaryFolder folder;
  LanguageModel model = tiny_model();
  LanguageModel wide = adapted(model, {.rank = 4, .alpha = 6}, 7);
  LanguageModel narrow = adapted(model, {.rank = 2, .patterns = {"*.attn.*"}}, 8);
};

TokenIds ids_of(const TextDelta& reply) {
  TokenIds ids;
  for (const NewToken& token : reply.tokens) ids.push_back(token.token.id);
  return ids;
}

BOOST_AUTO_TEST_CASE(requests_choose_adapters_by_name) {
  const Adapted made;
  const auto share = [](const LanguageModel& model) {
    return std::make_shared<const LanguageModel>(model);
  };
  TextEngine engine(share(made.model), {.slots = 8, .threads = 2, .adapters = made.adapters()});
  BOOST_TEST((engine.adapters() == std::vector<std::string>{"wide", "narrow"}));
  std::map<std::string, TextEngine> alone;
  const auto request = [](std::int64_t i, const std::string& adapter) {
    TextRequest request{.prompt = {3, 1, i % 5, 7}, .options = {.max_new = 24}};
    if (i % 3 == 1) request.options.sampling = SamplingOptions{.seed = 5};
    request.adapter = adapter;
    request.top = 0;
    return request;
  };
  const std::vector<std::string> names = {"", "wide", "narrow"};
  std::vector<std::promise<TextDelta>> replies(18);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    engine.submit(request(static_cast<std::int64_t>(i), names[i % 3 == 0 ? i % 2 : i / 2 % 3]),
                  [&, i, sum = TextDelta()](TextDelta delta) mutable {
                    sum.tokens.insert(sum.tokens.end(), delta.tokens.begin(), delta.tokens.end());
                    if (!delta.is_last()) return;
                    delta.tokens = sum.tokens;
                    replies[i].set_value(delta);
                  });
  }
  TextEngine plain(share(made.model), {.slots = 2}), wide(share(made.wide), {.slots = 2}),
      narrow(share(made.narrow), {.slots = 2});
  std::set<TokenIds> different;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const std::string name = names[i % 3 == 0 ? i % 2 : i / 2 % 3];
    const TextDelta reply = replies[i].get_future().get();
    const auto number = static_cast<std::int64_t>(i);
    BOOST_TEST_CONTEXT("request " << i << " with " << name) {
      // The same bits alone; without an adapter, those of the model.
      const TextDelta again = engine.generate(request(number, name));
      TextEngine& own = name.empty() ? plain : name == "wide" ? wide : narrow;
      const TextDelta expected = own.generate(request(number, ""));
      BOOST_TEST((ids_of(reply) == ids_of(expected)));
      BOOST_TEST_REQUIRE(again.tokens.size() == reply.tokens.size());
      for (std::size_t t = 0; t < reply.tokens.size(); ++t) {
        const double value = reply.tokens[t].token.log_probability;
        BOOST_TEST(again.tokens[t].token.log_probability == value);
        const double other = expected.tokens[t].token.log_probability;
        BOOST_TEST(std::abs(value - other) < (name.empty() ? 1e-300 : 1e-4));
      }
      different.insert(ids_of(reply));
    }
  }
  BOOST_TEST(different.size() > 10U);
  BOOST_TEST(engine.memory().weights > plain.memory().weights);
  BOOST_CHECK_EXCEPTION(engine.submit(request(0, "tall"), [](const TextDelta&) {}), ArgumentError,
                        says("there is no adapter 'tall': use one of wide, narrow"));
}

BOOST_AUTO_TEST_CASE(texts_with_different_adapters_do_not_share_prefixes) {
  const Adapted made;
  TextEngine engine(std::make_shared<const LanguageModel>(made.model),
                    {.slots = 1, .threads = 1, .adapters = made.adapters()});
  TextRequest request{.prompt = TokenIds(40, 3), .options = {.max_new = 8}};
  const TextDelta plain = engine.generate(request);
  BOOST_TEST(plain.cached_tokens == 0);
  BOOST_TEST(engine.generate(request).cached_tokens == 32);
  request.adapter = "wide";
  const TextDelta wide = engine.generate(request);
  BOOST_TEST(wide.cached_tokens == 0);
  const TextDelta again = engine.generate(request);
  BOOST_TEST(again.cached_tokens == 32);
  BOOST_TEST((ids_of(again) == ids_of(wide)));
}

BOOST_AUTO_TEST_CASE(served_programs_keep_the_formats_of_weights_and_caches) {
  const LanguageModel model = tiny_model();
  const auto small = quantize_model(
      model, {.weights = {.weights = WeightFormat::int8, .caches = CacheFormat::int8}});
  const SlotsModel slots = slots_model(small.model->as<LanguageModel>(Use::generate));
  BOOST_TEST((cache_format(*slots.graph) == CacheFormat::int8));
  BOOST_TEST(quantized_weights(*slots.graph).size() ==
             quantized_weights(*small.model->graph).size());
  BOOST_TEST((cache_format(*slots_model(model).graph) == CacheFormat::f32));
  // A model that already has adapters is served with them.
  const Adapted made;
  BOOST_TEST(slots_model(made.wide).graph->has_variable("transformer.h.0.mlp.c_fc.weight.lora_a"));
}

BOOST_AUTO_TEST_CASE(adapters_that_cannot_be_chosen_are_rejected_by_name) {
  const Adapted made;
  const std::string file = made.folder / "wide.safetensors";
  BOOST_CHECK_EXCEPTION(slots_model(made.model, {{"", file}}), ArgumentError, says("has no name"));
  BOOST_CHECK_EXCEPTION(slots_model(made.model, {{"one", file}, {"one", file}}), ArgumentError,
                        says("there are two adapters named one"));
  BOOST_CHECK_EXCEPTION(slots_model(made.wide, {{"one", file}}), ArgumentError,
                        says("the model already has adapters"));
  BOOST_CHECK_EXCEPTION(slots_model(tiny_model(5), {{"one", file}}), ArgumentError,
                        says("adapter one: the adapters in " + file +
                             " were not trained on the weights of this "
                             "model"));
  BOOST_CHECK_EXCEPTION(slots_model(made.model, {{"one", made.folder / "none"}}), ArgumentError,
                        says("adapter one: "));
  // A folder with adapters and a whole matrix.
  LanguageModel whole = adapted(made.model, {.rank = 2, .patterns = {"*.attn.*"}}, 3);
  whole.graph->set_trainable(whole.graph->find_variable("lm_head.weight"), true);
  write_adapter_folder(made.folder / "whole", whole, *find_task("next-token"), "base", {});
  BOOST_CHECK_EXCEPTION(slots_model(made.model, {{"one", made.folder / "whole"}}), ArgumentError,
                        says("adapter one: " + (made.folder / "whole") +
                             " replaces the whole parameter lm_head.weight"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
