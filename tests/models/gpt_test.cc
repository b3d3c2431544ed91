#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(gpt)
namespace {

GptConfig small() {
  GptConfig config;
  config.vocab = 23;
  config.layers = 2;
  config.heads = 3;
  config.width = 12;
  config.context = 16;
  config.initializer_range = 0.4;  // large enough for clearly non-uniform predictions
  return config;
}

Tensor random_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab, std::uint64_t seed) {
  Tensor ids = Tensor::empty(DType::i32, {batch, seq});
  auto* out = ids.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const std::uint32_t word = RandomStream{seed}.word(static_cast<std::uint64_t>(i));
    out[i] = static_cast<std::int32_t>(word % static_cast<std::uint64_t>(vocab));
  }
  return ids;
}

double difference(const float* a, const float* b, std::int64_t n) {
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
  return most;
}

BOOST_AUTO_TEST_CASE(gpt2_has_the_parameter_names_and_count_of_its_checkpoints) {
  Graph g;
  const Gpt model(Scope(g), GptConfig{});
  std::int64_t parameters = 0;
  for (const Variable& v : g.parameters()) parameters += v.shape().numel().constant();
  BOOST_TEST(parameters == 124439808);
  BOOST_TEST(g.parameters().size() == 148U);
  BOOST_TEST(g.find_variable("transformer.h.11.mlp.c_fc.weight").value().type().str() ==
             "f32[768, 3072]");
  BOOST_TEST((g.find_variable("lm_head.weight") == g.find_variable("transformer.wte.weight")));
  const GptOutputs outputs = model({.ids = g.input("ids", DType::i32, {"batch", "seq"})});
  BOOST_TEST(outputs.logits.type().str() == "f32[batch, seq, 50257]");
  BOOST_TEST(outputs.hidden.size() == 13U);
}

BOOST_AUTO_TEST_CASE(config_options_determine_the_parameters) {
  for (const bool bias : {false, true}) {
    for (const bool tied : {false, true}) {
      GptConfig config = small();
      config.bias = bias;
      config.tied_head = tied;
      config.inner = 20;
      Graph g;
      const Gpt model(Scope(g), config);
      std::int64_t parameters = 0;
      for (const Variable& v : g.parameters()) parameters += v.shape().numel().constant();
      BOOST_TEST(parameters == config.parameter_count());
    }
  }
  GptConfig wrong = small();
  wrong.heads = 5;
  Graph g;
  BOOST_CHECK_THROW(Gpt(Scope(g), wrong), ArgumentError);
}

BOOST_AUTO_TEST_CASE(residual_projections_are_initialised_with_a_smaller_standard_deviation) {
  GptConfig config = small();
  config.width = 48;
  config.initializer_range = 0.02;
  Graph g;
  const Gpt model(Scope(g), config);
  Session session(g, {.seed = 5, .threads = 1});
  session.initialise();
  const auto deviation = [&](const char* name) {
    const Tensor t = session.value(name);
    double squares = 0;
    for (std::int64_t i = 0; i < t.numel(); ++i) squares += t.at(i) * t.at(i);
    return std::sqrt(squares / static_cast<double>(t.numel()));
  };
  BOOST_TEST(std::abs(deviation("transformer.h.0.attn.c_attn.weight") - 0.02) < 0.001);
  BOOST_TEST(std::abs(deviation("transformer.h.0.attn.c_proj.weight") - 0.01) < 0.0006);
  BOOST_TEST(std::abs(deviation("transformer.h.1.mlp.c_proj.weight") - 0.01) < 0.0006);
}

// With a mask of ones, the masked implementation, which uses primitive operations, gives the same
// result as the attention operation.
BOOST_AUTO_TEST_CASE(a_mask_of_ones_does_not_change_the_result) {
  Graph g;
  const GptConfig config = small();
  const Gpt model(Scope(g), config);
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  const Value mask = g.input("mask", DType::i64, {"batch", "seq"});
  const Program program = Program("p")
                              .output("plain", model({.ids = ids}).logits)
                              .output("masked", model({.ids = ids, .attention_mask = mask}).logits);
  Session session(g, {.seed = 2, .threads = 2});
  const Results r = session.run(program, {{"ids", random_ids(2, 9, config.vocab, 1)},
                                          {"mask", Tensor::full(DType::i64, {2, 9}, 1)}});
  BOOST_TEST(difference(r["plain"].data<float>(), r["masked"].data<float>(), r["plain"].numel()) <
             1e-4);
}

// Padding must not change the logits of the other tokens.
BOOST_AUTO_TEST_CASE(padding_does_not_change_other_positions) {
  Graph g;
  const GptConfig config = small();
  const Gpt model(Scope(g), config);
  const Value ids = g.input("ids", DType::i32, {"batch", "seq"});
  const Value mask = g.input("mask", DType::boolean, {"batch", "seq"});
  const Value positions = g.input("positions", DType::i64, {"batch", "seq"});
  const Program program = Program("p").output(
      "logits", model({.ids = ids, .attention_mask = mask, .position_ids = positions}).logits);
  Session session(g, {.seed = 2, .threads = 1});
  const auto run = [&](std::vector<std::int32_t> tokens, std::vector<std::int64_t> at) {
    const auto n = static_cast<std::int64_t>(tokens.size());
    Tensor seen = Tensor::full(DType::boolean, {1, n}, 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) seen.mutable_data<bool>()[i] = at[i] >= 0;
    for (auto& p : at) p = std::max<std::int64_t>(p, 1);
    return session.run(program, {{"ids", Tensor::of<std::int32_t>({1, n}, tokens)},
                                 {"mask", seen},
                                 {"positions", Tensor::of<std::int64_t>({1, n}, at)}})["logits"];
  };
  // Position -1 marks padding here: two tokens on the left, and one in the middle.
  const Tensor plain = run({3, 1, 4}, {0, 1, 2});
  const Tensor padded = run({9, 9, 3, 1, 7, 4}, {-1, -1, 0, 1, -1, 2});
  const std::int64_t vocab = config.vocab;
  BOOST_TEST(difference(plain.data<float>() + vocab, padded.data<float>() + 3 * vocab, vocab) <
             1e-4);
  BOOST_TEST(difference(plain.data<float>() + 2 * vocab, padded.data<float>() + 5 * vocab, vocab) <
             1e-4);
}

BOOST_AUTO_TEST_CASE(labels_are_shifted_and_ignored_labels_do_not_affect_the_loss) {
  Graph g;
  const Value logits = g.input("logits", DType::f32, {"batch", "seq", 3});
  const Value labels = g.input("labels", DType::i64, {"batch", "seq"});
  const Program program = Program("p").output("loss", next_token_loss(logits, labels));
  Session session(g, {.threads = 1});
  // The target of position 0 is the label at position 1. The target of position 1 is -100, which is
  // ignored. Position 2 has no target.
  const Tensor x = Tensor::of<float>({1, 3, 3}, {1, 2, 3, 9, 0, 0, 0, 9, 0});
  const Tensor y = Tensor::of<std::int64_t>({1, 3}, {2, 1, -100});
  const double expected = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 2.0;
  const float loss = session.run(program, {{"logits", x}, {"labels", y}})["loss"].item<float>();
  BOOST_TEST(std::abs(loss - expected) < 1e-6);
}

BOOST_AUTO_TEST_CASE(cached_decoding_matches_recomputation) {
  for (const bool inverse : {false, true}) {
    GptConfig config = small();
    config.scale_attention_by_inverse_layer = inverse;
    Graph g;
    const Gpt model(Scope(g), config);
    const Value ids = g.input("tokens", DType::i32, {"batch", "seq"});
    const Value position = g.input("position", DType::i64, {});
    const Program full = Program("full").output("logits", model({.ids = ids}).logits);
    const GptDecoding decoding = model.decode(ids, position, g.dim("capacity"));
    const Program decode =
        Program("decode").output("logits", decoding.logits).update(decoding.updates);
    Session session(g, {.seed = 4, .threads = 2, .poison = true});
    constexpr std::int64_t kBatch = 3, kSeq = 13;
    const Tensor all = random_ids(kBatch, kSeq, config.vocab, 8);
    const Tensor reference = session.run(full, {{"tokens", all}})["logits"];
    double largest = 0;
    for (std::int64_t i = 0; i < reference.numel(); ++i)
      largest = std::max(largest, std::abs(reference.at(i)));
    // Decode a prompt in one step, then single tokens and groups of tokens. The second pass shows
    // that decoding from position 0 resets the cache.
    for (int pass = 0; pass < 2; ++pass) {
      std::int64_t done = 0;
      for (const std::int64_t count : {4, 1, 1, 3, 1, 1, 1, 1}) {
        Tensor piece = Tensor::empty(DType::i32, {kBatch, count});
        for (std::int64_t b = 0; b < kBatch; ++b) {
          std::copy_n(all.data<std::int32_t>() + b * kSeq + done, count,
                      piece.mutable_data<std::int32_t>() + b * count);
        }
        const Tensor logits = session.run(
            decode, {{"tokens", piece}, {"position", Tensor::of<std::int64_t>({}, {done})}},
            {.dims = {{"capacity", kSeq}}})["logits"];
        done += count;
        for (std::int64_t b = 0; b < kBatch; ++b) {
          BOOST_TEST(difference(logits.data<float>() + b * config.vocab,
                                reference.data<float>() + (b * kSeq + done - 1) * config.vocab,
                                config.vocab) < 1e-5 * largest);
        }
      }
      BOOST_TEST(done == kSeq);
    }
    BOOST_CHECK_THROW(session.run(decode,
                                  {{"tokens", random_ids(kBatch, 1, config.vocab, 1)},
                                   {"position", Tensor::of<std::int64_t>({}, {kSeq})}},
                                  {.dims = {{"capacity", kSeq}}}),
                      DataError);
  }
}

BOOST_AUTO_TEST_CASE(generation_matches_greedy_recomputation_and_slides_beyond_the_context) {
  const GptConfig config = small();
  Graph g;
  TrainSettings settings;
  const Programs programs = build_gpt_programs(g, config, settings);
  const Program full = Program("full").output("logits", g.find_named("logits"));
  Session session(g, {.seed = 4, .threads = 1});
  Generator generator(session, programs.at("decode"), config);
  const auto fresh = [&](const TokenIds& prompt, const GenerationOptions& options) {
    const TokenIds text = generator.generate({prompt}, options).run().sequences.front();
    return TokenIds(text.begin() + static_cast<long>(prompt.size()), text.end());
  };
  const TokenIds prompt = {5, 1, 7};
  // The expected text is computed by recomputing the complete sequence for every token.
  TokenIds expected = prompt;
  while (expected.size() < 15) {
    const auto n = static_cast<std::int64_t>(expected.size());
    const Tensor ids = Tensor::of<std::int64_t>({1, n}, expected).to(DType::i32);
    const Tensor logits = session.run(full, {{"tokens", ids}})["logits"];
    const auto last = logits.span<float>().subspan((n - 1) * config.vocab);
    expected.push_back(std::max_element(last.begin(), last.end()) - last.begin());
  }
  expected.erase(expected.begin(), expected.begin() + 3);
  BOOST_TEST(fresh(prompt, {.max_new = 12}) == expected, boost::test_tools::per_element());
  // Generate far beyond the context, from a prompt that already exceeds the context. Sampling with
  // a seed is reproducible.
  const TokenIds long_prompt(40, 3);
  GenerationOptions drawn{
      .max_new = 50, .sampling = SamplingOptions{.temperature = 0.9, .seed = 3}, .slide = true};
  const auto a = fresh(long_prompt, drawn), b = fresh(long_prompt, drawn);
  BOOST_TEST(a.size() == 50U);
  BOOST_TEST((a == b));
  drawn.sampling->seed = 4;
  BOOST_TEST((a != fresh(long_prompt, drawn)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_second_decoding_program_in_one_graph_is_rejected) {
  Graph g;
  const Gpt model(Scope(g, "net"), small());
  const Value tokens = g.input("tokens", DType::i64, {"rows", "new"});
  model.decode_program(tokens);
  const std::size_t nodes = g.node_count();
  const auto rejected =
      testing::message_contains({"already has an incremental program", "'net.cache.h.0.keys'",
                                 "build the program once", "gpt_test.cc"});
  BOOST_CHECK_EXCEPTION(model.decode_program(tokens), GraphError, rejected);
  BOOST_CHECK_EXCEPTION(model.decode(tokens, g.find_input("position")), GraphError, rejected);
  BOOST_TEST(g.node_count() == nodes);
  // Another model in the same graph has its own caches, but the inputs have fixed names.
  const Gpt other(Scope(g, "other"), small());
  other.decode(tokens, g.find_input("position"));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
