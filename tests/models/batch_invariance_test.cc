// Models as batch-invariant programs: a text has the same bits in every batch, with padding on
// either side, in chunks, and with cached or recomputed keys and values.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <optional>

#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/families/gpt.h"
#include "weft/testing/model_checks.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/models/encoder_decoder_kinds.h"
#include "weft/tests/models/gpt_variants.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using testing::expect_same_bits;
using Ids = std::vector<std::int64_t>;
using Format = std::optional<WeightFormat>;

const std::vector<Format> kFormats = {std::nullopt, WeightFormat::bf16, WeightFormat::int8,
                                      WeightFormat::int4};

/// Programs of a model with weights in a format.
struct Model {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  std::vector<Program> programs;

  Model(std::shared_ptr<Graph> from, std::vector<Program> built, const Format& format)
      : graph(std::move(from)), programs(std::move(built)) {
    Session(*graph, store, {.seed = 4}).initialise();
    if (format) {
      QuantizedModel converted =
          quantize(programs, *store, {.weights = *format, .patterns = {"*weight"}});
      graph = converted.graph, store = converted.store, programs = converted.programs;
    }
    for (Program& p : programs) p.batch_invariant();
  }
  Tensor run(std::size_t program, const NamedTensors& feeds, int threads = 1,
             const RunOptions& options = {}) const {
    return Session(*graph, store, {.threads = threads})
        .run(programs[program], feeds, options)[std::string_view("y")];
  }
};

std::vector<Variant> decoders() {
  std::vector<Variant> result;
  for (Variant& v : variants()) {
    if (v.name != "gpt2" && v.name != "llama" && v.name != "grouped" && v.name != "window")
      continue;
    v.config.inner = 800;  // several blocks of K
    v.config.context = 64;
    result.push_back(std::move(v));
  }
  return result;
}

EncoderConfig bert() {
  EncoderConfig c;
  c.vocab = 29;
  c.layers = 2;
  c.heads = 4;
  c.width = 24;
  c.inner = 800;
  c.context = 64;
  c.initializer_range = 0.3;
  return c;
}

EncoderDecoderConfig t5() {
  EncoderDecoderConfig c = shrink(EncoderDecoderConfig::t5());
  c.encoder_inner = c.decoder_inner = 800;
  return c;
}

Tensor ids(std::int64_t rows, std::int64_t length, std::uint64_t seed = 3) {
  Tensor t = sample_indices({rows, length}, seed, 20);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.mutable_data<std::int64_t>()[i] += 2;
  return t;
}

Tensor row(const Ids& values) { return Tensor::of<std::int64_t>({1, std::ssize(values)}, values); }

Ids some_text(std::int64_t length) {
  Ids text;
  for (std::int64_t i = 0; i < length; ++i) text.push_back(2 + (i * i * 7 + 3 * i) % 20);
  return text;
}

/// Returns the values of `t` [rows, length, ...] at positions [begin, end) of a row, as [1, n].
Tensor positions(const Tensor& t, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = t.rank() < 3 ? 1 : t.size(2);
  Tensor result = Tensor::empty(t.dtype(), {1, (end - begin) * n});
  std::memcpy(
      result.mutable_raw(),
      t.raw() + static_cast<std::size_t>((row * t.size(1) + begin) * n) * dtype_size(t.dtype()),
      result.bytes());
  return result;
}

/// Checks that the rows of a program have the same bits in all batches of 1 to 33 rows.
void check_batches(const Model& model, NamedTensors feeds) {
  NamedTensors variables;
  for (const auto& [name, tensor] : model.store->snapshot()) variables.emplace_back(name, tensor);
  const testing::RunSetup setup{.feeds = std::move(feeds), .variables = variables};
  BOOST_TEST(testing::check_batch_invariance(*model.graph, model.programs[0], setup));
}

Model decoder(const GptConfig& config, const Format& format) {
  const auto g = std::make_shared<Graph>();
  const Gpt gpt(Scope(*g), config);
  const Value tokens = g->input("tokens", DType::i64, {"batch", "new"});
  const GptDecoding cached = gpt.decode(
      {.tokens = tokens, .position = g->input("position", DType::i64, {})}, g->dim("capacity"));
  return Model(g,
               {Program("full").output("y", gpt({.ids = tokens}).logits),
                Program("decode").output("y", cached.logits).update(cached.updates)},
               format);
}

/// As above, with padding, which the mask of the caches excludes.
Model padded_decoder(const GptConfig& config, const Format& format) {
  const auto g = std::make_shared<Graph>();
  const Gpt gpt(Scope(*g), config);
  const Value tokens = g->input("tokens", DType::i64, {"batch", "new"});
  const Dim capacity = g->dim("capacity");
  const GptDecoding cached =
      gpt.decode({.tokens = tokens,
                  .position = g->input("position", DType::i64, {"batch"}),
                  .position_ids = g->input("places", DType::i64, {"batch", "new"}),
                  .mask = g->input("visible", DType::boolean, {"batch", capacity}),
                  .counts = g->input("counts", DType::i64, {"batch"})},
                 capacity);
  return Model(g,
               {Program("full").output("y", gpt({.ids = tokens}).logits),
                Program("decode").output("y", cached.logits).update(cached.updates)},
               format);
}

/// Padding before and after a text. The ids of padding are arbitrary.
struct Padded {
  Ids tokens, mask, places;

  Padded(const Ids& text, std::int64_t before, std::int64_t after) {
    const auto add = [&](std::int64_t token, std::int64_t visible, std::int64_t place) {
      tokens.push_back(token), mask.push_back(visible), places.push_back(place);
    };
    for (std::int64_t i = 0; i < before; ++i) add(2 + i % 5, 0, 0);
    for (std::int64_t i = 0; i < std::ssize(text); ++i)
      add(text[static_cast<std::size_t>(i)], 1, i);
    for (std::int64_t i = 0; i < after; ++i) add(3 + i % 5, 0, 0);
  }
};

BOOST_AUTO_TEST_SUITE(batch_invariance)

BOOST_AUTO_TEST_CASE(rows_of_models_have_the_same_bits_in_batches_of_1_to_33) {
  for (const Format& format : kFormats) {
    BOOST_TEST_CONTEXT((format ? weight_format_name(*format) : "f32")) {
      for (const Variant& v : decoders()) {
        BOOST_TEST_CONTEXT(v.name)
        check_batches(decoder(v.config, format), {{"tokens", ids(33, 5)}});
      }
      {
        const auto g = std::make_shared<Graph>();
        const Encoder encoder(Scope(*g), bert());
        const Value tokens = g->input("tokens", DType::i64, {"batch", "seq"});
        BOOST_TEST_CONTEXT("bert")
        check_batches(
            Model(g, {Program("y").output("y", encoder({.ids = tokens}).last_hidden_state)},
                  format),
            {{"tokens", ids(33, 5)}});
      }
      {
        const auto g = std::make_shared<Graph>();
        const EncoderDecoder net(Scope(*g, "net").evaluation(), t5());
        const Value source = g->input("source", DType::i64, {"batch", "seq"});
        const Value target = g->input("target", DType::i64, {"batch", "new"});
        const Value y = net.logits(
            net.decode(target, {}, net.encode(source, {}).last_hidden_state, {}).last_hidden_state);
        BOOST_TEST_CONTEXT("t5")
        check_batches(Model(g, {Program("y").output("y", y)}, format),
                      {{"source", ids(33, 5)}, {"target", ids(33, 4, 5)}});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(programs_and_sessions_can_ask_for_invariance) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 1200});
  const Value w = g.input("w", DType::f32, {70, 1200});
  const Program usual = Program("p").output("y", matmul(x, w, {.transpose_b = true}));
  Program invariant = usual;
  invariant.batch_invariant();
  const Tensor rows = sample_uniform({9, 1200}, 1), weights = sample_uniform({70, 1200}, 2);
  Tensor first = Tensor::empty(DType::f32, {1, 1200});
  std::memcpy(first.mutable_raw(), rows.raw(), first.bytes());
  const auto alone_as_together = [&](const Program& program, Session& session) {
    const Tensor all = session.run(program, {{"x", rows}, {"w", weights}})["y"];
    const Tensor one = session.run(program, {{"x", first}, {"w", weights}})["y"];
    return std::memcmp(one.raw(), all.raw(), one.bytes()) == 0;
  };
  Session plain(g), by_default(g, {.batch_invariant = true});
  // The programs differ only in this property: they must not share a plan.
  BOOST_TEST(!alone_as_together(usual, plain));
  BOOST_TEST(alone_as_together(invariant, plain));
  BOOST_TEST(!alone_as_together(usual, plain));
  BOOST_TEST(alone_as_together(usual, by_default));
}

BOOST_AUTO_TEST_CASE(bodies_of_loops_are_batch_invariant) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 500});
  const Value w = g.input("w", DType::f32, {500, 500});
  const ScanBody body = [&](Graph&, const ScanElements& in) {
    return ScanStep{.carries = {matmul(in.carries[0], w, {.transpose_b = true}) * 0.1}};
  };
  const Value y = scan(g, {x}, {}, {}, body, {.length = AxisSize(2)}).carries[0];
  const testing::RunSetup setup{
      .feeds = {{"x", sample_uniform({9, 500}, 1)}, {"w", sample_uniform({500, 500}, 2)}}};
  BOOST_TEST(testing::check_batch_invariance(g, Program("p").output("y", y), setup));
}

BOOST_AUTO_TEST_CASE(shards_of_a_batch_have_the_bits_of_the_whole_batch) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 500});
  const Value w = g.input("w", DType::f32, {70, 500});
  const Program usual = Program("p")
                            .output("y", shard_concat(matmul(x, w, {.transpose_b = true})))
                            .shards({.count = 8});
  Program invariant = usual;
  invariant.batch_invariant();
  Program whole = invariant;
  whole.shards({.count = 1});
  // Ordinary products of this number of rows per shard have the bits of another engine.
  const NamedTensors feeds = {{"x", sample_uniform({160, 500}, 1)},
                              {"w", sample_uniform({70, 500}, 2)}};
  Session session(g);
  const Tensor expected = session.run(whole, feeds)["y"];
  // The programs differ only in this property: they must not share their shards.
  BOOST_TEST(!expect_same_bits(session.run(usual, feeds)["y"], expected));
  BOOST_TEST(expect_same_bits(session.run(invariant, feeds)["y"], expected));
  BOOST_TEST(!expect_same_bits(session.run(usual, feeds)["y"], expected));
}

BOOST_AUTO_TEST_CASE(prompts_in_chunks_and_cached_keys_have_the_bits_of_the_whole_text) {
  const Ids text = some_text(19);
  const auto length = std::ssize(text);
  const RunOptions capacity{.dims = {{"capacity", 40}}};
  for (const Format& format : kFormats) {
    for (const Variant& v : decoders()) {
      BOOST_TEST_CONTEXT(v.name << ", " << (format ? weight_format_name(*format) : "f32")) {
        const Model model = decoder(v.config, format);
        const Tensor whole = model.run(0, {{"tokens", row(text)}});
        // The prompt in two chunks of all sizes, then one token at a time.
        for (std::int64_t first = 1; first < length; ++first) {
          Session session(*model.graph, model.store, {.threads = first % 2 == 0 ? 2 : 1});
          std::int64_t begin = 0;
          const std::int64_t prompt = std::max<std::int64_t>(first, length - 6);
          for (std::int64_t end : {first, prompt, length - 5, length - 4, length - 3, length - 2,
                                   length - 1, length}) {
            if (end <= begin) continue;
            const Tensor logits =
                session.run(model.programs[1],
                            {{"tokens", row(Ids(text.begin() + begin, text.begin() + end))},
                             {"position", Tensor::scalar(DType::i64, static_cast<double>(begin))}},
                            capacity)["y"];
            BOOST_TEST_REQUIRE(expect_same_bits(logits, positions(whole, 0, end - 1, end)));
            begin = end;
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(padding_on_both_sides_changes_no_bits) {
  const Ids text = some_text(9);
  const auto length = std::ssize(text);
  for (const Format& format : kFormats) {
    for (const Variant& v : decoders()) {
      BOOST_TEST_CONTEXT(v.name << ", " << (format ? weight_format_name(*format) : "f32")) {
        const Model model = padded_decoder(v.config, format);
        const Tensor whole = model.run(0, {{"tokens", row(text)}});
        for (const std::int64_t before : {0, 1, 5, 20}) {
          for (const std::int64_t after : {0, 3}) {
            // The prompt with padding on both sides, then the last token with padding after it.
            const Padded padded(text, before, after);
            Session session(*model.graph, model.store, {.threads = 2});
            Tensor visible = Tensor::full(DType::boolean, {1, 40}, 1);
            std::fill_n(visible.mutable_data<bool>(), before, false);
            std::int64_t begin = 0;
            for (const std::int64_t end : {before + length - 1, before + length}) {
              const auto part = [&](const Ids& all) {
                return row(Ids(all.begin() + begin, all.begin() + end + after));
              };
              const Tensor logits =
                  session.run(model.programs[1],
                              {{"tokens", part(padded.tokens)},
                               {"position", Tensor::of<std::int64_t>({1}, {begin})},
                               {"places", part(padded.places)},
                               {"visible", visible},
                               {"counts", Tensor::of<std::int64_t>({1}, {end - begin})}},
                              {.dims = {{"capacity", 40}}})["y"];
              BOOST_TEST(
                  expect_same_bits(logits, positions(whole, 0, end - before - 1, end - before)));
              begin = end;
            }
          }
        }
      }
    }
    BOOST_TEST_CONTEXT("bert, " << (format ? weight_format_name(*format) : "f32")) {
      const auto g = std::make_shared<Graph>();
      const Encoder encoder(Scope(*g), bert());
      const Value tokens = g->input("tokens", DType::i64, {"batch", "seq"});
      const Value mask = g->input("mask", DType::i64, {"batch", "seq"});
      const Value places = g->input("places", DType::i64, {"batch", "seq"});
      const Model model(
          g,
          {Program("alone").output("y", encoder({.ids = tokens}).last_hidden_state),
           Program("padded").output(
               "y", encoder({.ids = tokens, .attention_mask = mask, .position_ids = places})
                        .last_hidden_state)},
          format);
      const Tensor whole = model.run(0, {{"tokens", row(text)}});
      for (const std::int64_t before : {0, 1, 20}) {
        const Padded padded(text, before, 4);
        const Tensor y = model.run(1, {{"tokens", row(padded.tokens)},
                                       {"mask", row(padded.mask)},
                                       {"places", row(padded.places)}});
        BOOST_TEST(expect_same_bits(positions(y, 0, before, before + length),
                                    positions(whole, 0, 0, length)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(masked_padding_changes_no_bits_of_an_encoder_decoder) {
  const Ids source = some_text(9), target = some_text(6);
  const auto written = std::ssize(target);
  for (const Format& format : kFormats) {
    const auto g = std::make_shared<Graph>();
    const EncoderDecoder net(Scope(*g, "net").evaluation(), t5());
    const auto input = [&](const char* name, const char* size) {
      return g->input(name, DType::i64, {"batch", size});
    };
    const Value ids = input("ids", "source"), mask = input("mask", "source");
    const Value tokens = input("tokens", "target"), own = input("own", "target");
    const auto logits = [&](Value source_mask, Value target_mask) {
      const Value memory = net.encode(ids, source_mask).last_hidden_state;
      return net.logits(net.decode(tokens, target_mask, memory, source_mask).last_hidden_state);
    };
    const Model model(g,
                      {Program("alone").output("y", logits({}, {})),
                       Program("source").output("y", logits(mask, {})),
                       Program("both").output("y", logits(mask, own))},
                      format);
    const Tensor whole = model.run(0, {{"ids", row(source)}, {"tokens", row(target)}});
    for (const std::int64_t before : {0, 1, 20}) {
      BOOST_TEST_CONTEXT(before << " ids of padding, "
                                << (format ? weight_format_name(*format) : "f32")) {
        // In a batch with a longer source and target: padding before and after the source, and
        // after the target.
        const Padded padded(source, before, 4), after(target, 0, 3);
        const auto batch = [](const Ids& first, std::int64_t fill) {
          Ids both = first;
          for (std::int64_t i = 0; i < std::ssize(first); ++i)
            both.push_back(fill > 0 ? fill : 2 + i % 17);
          return Tensor::of<std::int64_t>({2, std::ssize(first)}, both);
        };
        NamedTensors feeds = {{"ids", batch(padded.tokens, 0)},
                              {"mask", batch(padded.mask, 1)},
                              {"tokens", batch(after.tokens, 0)}};
        const Tensor y = model.run(1, feeds, 2);
        BOOST_TEST(expect_same_bits(positions(y, 0, 0, written), positions(whole, 0, 0, written)));
        feeds.emplace_back("own", batch(after.mask, 1));
        const Tensor masked = model.run(2, feeds, 2);
        BOOST_TEST(
            expect_same_bits(positions(masked, 0, 0, written), positions(whole, 0, 0, written)));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_encoder_decoder_with_caches_has_the_bits_of_the_recomputed_text) {
  const Ids source = some_text(7), text = some_text(6);
  for (const Format& format : kFormats) {
    const auto g = std::make_shared<Graph>();
    const EncoderDecoder net(Scope(*g, "net").evaluation(), t5());
    const Value in = g->input("ids", DType::i64, {"batch", "source"});
    const Value tokens = g->input("tokens", DType::i64, {"batch", "new"});
    const EncoderDecoderDecoding decoding =
        net.decoding({.ids = in,
                      .prompt_of_row = g->input("prompt_of_row", DType::i64, {"batch"}),
                      .tokens = tokens,
                      .position = g->input("position", DType::i64, {"batch"}),
                      .capacity = g->dim("capacity")});
    const Value full = net.logits(
        net.decode(tokens, {}, net.encode(in, {}).last_hidden_state, {}).last_hidden_state);
    const Model model(g,
                      {Program("full").output("y", full), Program("prompt").update(decoding.prompt),
                       Program("step").output("y", decoding.logits).update(decoding.step)},
                      format);
    const Tensor whole = model.run(0, {{"ids", row(source)}, {"tokens", row(text)}});
    Session session(*model.graph, model.store, {.threads = 2});
    const RunOptions capacity{.dims = {{"capacity", 12}}};
    const Tensor zero = Tensor::of<std::int64_t>({1}, {0});
    session.run(model.programs[1], {{"ids", row(source)}, {"prompt_of_row", zero}}, capacity);
    for (std::int64_t i = 0; i < std::ssize(text); ++i) {
      const Tensor logits = session.run(model.programs[2],
                                        {{"tokens", row({text[static_cast<std::size_t>(i)]})},
                                         {"position", Tensor::of<std::int64_t>({1}, {i})}},
                                        capacity)["y"];
      BOOST_TEST(expect_same_bits(logits, positions(whole, 0, i, i + 1)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
