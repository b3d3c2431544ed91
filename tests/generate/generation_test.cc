// Generation with key/value caches: batches, sliding windows, streaming.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/generate/window_caches.h"
#include "weft/tests/models/encoder_decoder_kinds.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(generation)
namespace {

using Sequences = std::vector<TokenIds>;

using testing::says;

/// A decoder with a generator that uses caches, and a program that recomputes the complete text.
struct Decoder {
  explicit Decoder(const GptConfig& config)
      : gpt(Scope(graph), config),
        tokens(graph.input("tokens", DType::i64, {"rows", "new"})),
        decode(gpt.decode_program(tokens)),
        full(Program("full").output("logits", gpt({.ids = tokens}).logits)),
        session(graph, {.seed = 4, .threads = 2, .poison = true}),
        generator(session, decode, config) {}

  Sequences operator()(const Sequences& prompts, const GenerationOptions& options) {
    return generator.generate(prompts, options).run().sequences;
  }
  /// Returns the logits of the token after `ids`, computed without a cache.
  std::vector<float> next(const TokenIds& ids) {
    const Tensor all = session.run(full, {{"tokens", ids_tensor({ids})}})["logits"];
    const auto last = all.span<float>().last(static_cast<std::size_t>(all.size(2)));
    return {last.begin(), last.end()};
  }
  TokenIds greedy(TokenIds ids, std::size_t length) {
    while (ids.size() < length) {
      const std::vector<float> logits = next(ids);
      ids.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
    return ids;
  }

  Graph graph;
  Gpt gpt;
  Value tokens;
  Program decode, full;
  Session session;
  Generator generator;
};

const Sequences kPrompts = {{3, 1, 4, 1, 5}, {9}, {2, 6, 5}};

BOOST_AUTO_TEST_CASE(cached_decoding_of_padded_rows_matches_unpadded_recomputation) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Decoder model(variant.config);
      const Sequences texts = {{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, {8, 9, 7, 9, 3, 2, 3}};
      constexpr std::int64_t kPadding[] = {0, 4}, kColumns = 11;
      Tensor visible = Tensor::full(DType::boolean, {2, kColumns}, 1);
      std::fill_n(visible.mutable_data<bool>() + kColumns, 4, false);
      std::int64_t done = 0;
      WindowCaches caches(model.graph, variant.config);
      caches.resize(kColumns, 6);
      for (const std::int64_t count : {6, 1, 1, 2, 1}) {
        Sequences columns(2);
        std::vector<std::int64_t> positions;
        for (std::size_t r = 0; r < 2; ++r) {
          for (std::int64_t i = done; i < done + count; ++i) {
            const std::int64_t at = i - kPadding[r];
            columns[r].push_back(at < 0 ? 0 : texts[r][static_cast<std::size_t>(at)]);
            positions.push_back(std::max<std::int64_t>(at, 0));
          }
        }
        const Tensor logits =
            model.session.run(model.decode,
                              {{"tokens", ids_tensor(columns)},
                               {"position", Tensor::of<std::int64_t>({}, {done})},
                               {"positions", Tensor::of<std::int64_t>({2, count}, positions)},
                               {"visible", visible}},
                              {.dims = caches.sizes()})["logits"];
        done += count;
        for (std::size_t r = 0; r < 2; ++r) {
          const std::vector<float> expected =
              model.next({texts[r].begin(), texts[r].begin() + done - kPadding[r]});
          double most = 0, difference = 0;
          for (std::size_t v = 0; v < expected.size(); ++v) {
            most = std::max<double>(most, std::abs(expected[v]));
            difference = std::max<double>(
                difference, std::abs(expected[v] - logits.data<float>()[r * expected.size() + v]));
          }
          BOOST_TEST(difference < 1e-5 * most);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(batching_prompts_of_different_lengths_does_not_change_results) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Decoder model(variant.config);
      std::vector<GenerationOptions> ways(3);
      ways[0].max_length = 14;
      ways[0].eos_id = 7;
      ways[1].max_new = 9;
      ways[1].repetition_penalty = 1.3;
      ways[1].no_repeat_ngram = 2;
      ways[2] = {.beams = 3, .max_length = 14, .min_length = 8, .eos_id = 7, .results = 2};
      ways[2].length_penalty = 1.5;
      for (const GenerationOptions& options : ways) {
        const Sequences together = model(kPrompts, options);
        Sequences alone;
        for (const TokenIds& prompt : kPrompts) {
          for (const TokenIds& ids : model({prompt}, options)) alone.push_back(ids);
        }
        BOOST_TEST((together == alone));
      }
      const Sequences greedy = model(kPrompts, {.max_length = 14});
      for (std::size_t p = 0; p < kPrompts.size(); ++p)
        BOOST_TEST((greedy[p] == model.greedy(kPrompts[p], 14)));
    }
  }
}

BOOST_AUTO_TEST_CASE(sliding_windows_give_the_same_results_in_batches_and_single_rows) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Decoder model(variant.config);
      Sequences prompts = kPrompts;
      for (std::int64_t i = 0; i < 21; ++i) prompts[1].push_back((5 * i) % 23);
      const GenerationOptions options{.max_new = 45, .slide = true};
      const Sequences together = model(prompts, options);
      for (std::size_t p = 0; p < prompts.size(); ++p) {
        BOOST_TEST(together[p].size() == prompts[p].size() + 45);
        BOOST_TEST((together[p] == model({prompts[p]}, options).front()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(only_models_with_learned_positions_reject_texts_beyond_the_context) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Decoder model(variant.config);
      // Beyond the context, dynamic scaling rotates new keys with a different base than the cached
      // keys, in the same way as the published models. Recomputing the complete text would
      // therefore give a different result.
      const bool dynamic = variant.config.rotary_scaling == RotaryScalingKind::dynamic;
      const std::int64_t length = dynamic ? variant.config.context : 40;
      const GenerationOptions options{.max_length = length};
      if (variant.config.positions == GptPositions::learned) {
        BOOST_CHECK_EXCEPTION(model(kPrompts, options), ArgumentError,
                              says("a sequence of 40 ids exceeds the model's 16 positions"));
      } else {
        BOOST_TEST((model({kPrompts[0]}, options).front() == model.greedy(kPrompts[0], length)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(beam_search_with_sliding_windows_supports_batches) {
  Decoder model(variants().front().config);
  const GenerationOptions options{.beams = 2, .max_new = 30, .slide = true};
  const Sequences together = model(kPrompts, options);
  for (std::size_t p = 0; p < kPrompts.size(); ++p)
    BOOST_TEST((together[p] == model({kPrompts[p]}, options).front()));
}

BOOST_AUTO_TEST_CASE(sampled_batches_are_reproducible_and_streamed) {
  Decoder model(variants().front().config);
  const GenerationOptions options{
      .max_new = 6, .sampling = SamplingOptions{.temperature = 1.2, .seed = 8}, .results = 2};
  std::vector<TokenIds> streamed(6);
  Generation generation = model.generator.generate(kPrompts, options);
  while (const auto token = generation.next()) {
    streamed[static_cast<std::size_t>(token->row)].push_back(token->id);
    if (token->row == 5 && streamed[5].size() == 2) BOOST_TEST(generation.stop(5));
  }
  BOOST_TEST(!generation.stop(5));
  const Sequences drawn = generation.run().sequences;
  for (std::size_t row = 0; row < 6; ++row) {
    TokenIds expected = kPrompts[row / 2];
    expected.insert(expected.end(), streamed[row].begin(), streamed[row].end());
    BOOST_TEST((drawn[row] == expected));
    BOOST_TEST(streamed[row].size() == (row == 5 ? 2U : 6U));
  }
  Sequences again = model(kPrompts, options);
  again[5].resize(drawn[5].size());
  BOOST_TEST((again == drawn));
}

BOOST_AUTO_TEST_CASE(generators_reject_invalid_prompts_and_programs) {
  Decoder model(variants().front().config);
  const GenerationOptions options{.max_new = 2};
  BOOST_CHECK_EXCEPTION(model({}, options), ArgumentError, says("there is no prompt"));
  BOOST_CHECK_EXCEPTION(model({{1}, {}}, options), ArgumentError, says("the prompt is empty"));
  const auto rejects = [&](const Tensor& ids, const Tensor& mask, const std::string& message) {
    BOOST_CHECK_EXCEPTION(model.generator.generate(ids, mask, options), Error, says(message));
  };
  const Tensor ids = Tensor::full(DType::i64, {1, 3}, 1);
  rejects(Tensor::full(DType::i64, {3}, 1), {}, "must be non-empty i64 [prompts, length] tensors");
  rejects(ids, Tensor::full(DType::i64, {1, 2}, 1), "prompts and mask must be non-empty i64");
  rejects(ids, Tensor::full(DType::i64, {1, 3}, 0), "prompt 0 contains only padding");

  // Older files contain decoding programs without a mask input. These programs accept only prompts
  // of equal length.
  Graph graph;
  const GptConfig config = variants().front().config;
  const Gpt gpt(Scope(graph), config);
  const GptDecoding decoding =
      gpt.decode(graph.input("tokens", DType::i32, {"batch", "seq"}),
                 graph.input("position", DType::i64, {}), graph.dim("capacity"));
  const Program decode =
      Program("decode").output("logits", decoding.logits).update(decoding.updates);
  Session session(graph, {.seed = 4});
  Generator old(session, decode, config);
  BOOST_TEST((old.generate({{3, 1, 4, 1, 5}}, options).run().sequences ==
              model({{3, 1, 4, 1, 5}}, options)));
  BOOST_CHECK_EXCEPTION(old.generate(kPrompts, options).run(), ArgumentError,
                        says("too old to batch prompts with different lengths"));
  Graph empty;
  Session nothing(empty);
  BOOST_CHECK_EXCEPTION(Generator(nothing, Program("p"), config), ArgumentError,
                        says("has no input 'tokens'"));
}

BOOST_AUTO_TEST_CASE(only_sources_that_were_encoded_can_be_used_again) {
  Graph graph;
  const EncoderDecoder net(Scope(graph, "net"), kinds().front());
  const Seq2SeqPrograms programs = make_seq2seq_programs(net);
  Session session(graph, {.seed = 6});
  Seq2SeqGenerator generator(session, programs);
  const GenerationOptions options{.max_new = 2, .start = {0}};
  const auto has_no_prompts = [&] {
    const std::string message = "no prompts are encoded: call generate() first";
    BOOST_CHECK_EXCEPTION(generator.generate_again(options), ArgumentError, says(message));
    BOOST_CHECK_EXCEPTION(generator.logits_after({0}), ArgumentError, says(message));
  };
  has_no_prompts();
  generator.generate(std::vector<TokenIds>{TokenIds{3, 4}}, options).run();
  BOOST_TEST(generator.generate_again(options).run().sequences.size() == 1U);
  // The encoding of an id outside the vocabulary fails.
  BOOST_CHECK_THROW(generator.generate(std::vector<TokenIds>{TokenIds{3, 99}}, options), DataError);
  has_no_prompts();
}

BOOST_AUTO_TEST_CASE(batching_sources_of_different_lengths_does_not_change_results) {
  for (const EncoderDecoderConfig& config : kinds()) {
    Graph graph;
    const EncoderDecoder net(Scope(graph, "net"), config);
    const Seq2SeqPrograms programs = make_seq2seq_programs(net);
    Session session(graph, {.seed = 6, .threads = 2, .poison = true});
    Seq2SeqGenerator generator(session, programs);
    std::vector<GenerationOptions> ways(4);
    for (GenerationOptions& o : ways) o.pad_id = 1;
    ways[0].max_length = 12;
    ways[0].eos_id = 7;
    ways[1] = {.beams = 3, .max_length = 12, .eos_id = 7, .pad_id = 1, .results = 3};
    ways[2].max_new = 8;
    ways[2].repetition_penalty = 1.4;
    ways[2].forced = {{3, 11}};
    ways[3].max_new = 8;
    ways[3].sampling = SamplingOptions{.top_k = 1};
    for (GenerationOptions& options : ways) {
      for (const TokenIds& start : {TokenIds{0}, TokenIds{0, 5, 6}}) {
        options.start = start;
        const Sequences together = generator.generate(kPrompts, options).run().sequences;
        Sequences alone;
        for (const TokenIds& prompt : kPrompts) {
          for (const TokenIds& ids : generator.generate({prompt}, options).run().sequences)
            alone.push_back(ids);
        }
        BOOST_TEST((together == alone));
        for (const TokenIds& ids : together)
          BOOST_TEST(std::equal(start.begin(), start.end(), ids.begin()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(encoder_decoders_reject_invalid_requests) {
  Graph graph;
  const EncoderDecoder net(Scope(graph, "net"), kinds().front());
  const Seq2SeqPrograms programs = make_seq2seq_programs(net);
  Session session(graph);
  Seq2SeqGenerator generator(session, programs);
  const auto rejects = [&](const Sequences& prompts, const GenerationOptions& options,
                           const std::string& message) {
    BOOST_CHECK_EXCEPTION(generator.generate(prompts, options), ArgumentError, says(message));
  };
  rejects(kPrompts, {.slide = true, .start = {0}}, "slide is supported for decoders only");
  rejects(kPrompts, {.reuse_caches = true, .start = {0}}, "reuse_caches is supported for decoders");
  rejects({{1}, {}}, {.start = {0}}, "the prompt is empty");
  rejects({}, {.start = {0}}, "there is no prompt");
  rejects(kPrompts, {}, "the decoder needs at least one id to start from");
}

BOOST_AUTO_TEST_CASE(a_loop_receives_the_ids_of_all_rows) {
  Decoder model(variants().front().config);
  Generator& generator = model.generator;
  const Sequences& prompts = kPrompts;
  const GenerationOptions options{.max_new = 3};
  Sequences received = prompts;
  const auto use = [&](std::int64_t row, std::int64_t id) {
    received[static_cast<std::size_t>(row)].push_back(id);
  };
  for (Generation ids = generator.generate(prompts, options); const auto token = ids.next();)
    use(token->row, token->id);
  BOOST_TEST((received == model(prompts, options)));
}

BOOST_AUTO_TEST_CASE(a_generation_ends_when_another_one_starts) {
  Decoder model(variants().front().config);
  const GenerationOptions options{.max_new = 3};
  Generation first = model.generator.generate(kPrompts, options);
  BOOST_TEST(first.next().has_value());
  const Sequences expected = model(kPrompts, options);
  while (first.next()->row != 2) {
  }
  BOOST_CHECK_EXCEPTION(first.next(), ArgumentError, says("another generation was started"));
  // A session for each generation makes it possible to alternate between them.
  Decoder other(variants().front().config);
  Generation a = model.generator.generate(kPrompts, options),
             b = other.generator.generate({kPrompts[0]}, options);
  while (a.next() && b.next()) {
  }
  BOOST_TEST((a.run().sequences == expected));
  BOOST_TEST((b.run().sequences.front() == expected.front()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
