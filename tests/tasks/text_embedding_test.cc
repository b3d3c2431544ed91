// Training text encoders on queries and passages: the loss against plain loops, a model that learns
// synonyms which BM25 cannot match, prompts, and the folder that is written.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_embedding/embedding_task.h"
#include "weft/models/tasks/text_embedding/presets.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(text_embedding)
namespace {

using nlohmann::json;

/// Returns queries and passages about two of twelve things each. Queries and passages have
/// different words for the same thing, and share only words that carry no meaning.
RetrievalPairs synonyms() {
  RetrievalPairs all;
  const auto word = [](char first, int i) {
    return std::string(1, first) + static_cast<char>('a' + i) + static_cast<char>('a' + i) + "o";
  };
  for (int i = 0; i < 12; ++i) {
    for (int j = i + 1; j < 12; ++j) {
      all.lines.push_back({"find " + word('k', i) + " and " + word('k', j),
                           "a " + word('z', j) + " and a " + word('z', i),
                           {}});
    }
  }
  return all;
}

TrainSettings embedding_settings(std::int64_t steps) {
  TrainSettings settings = text_embedding_presets().front().training;
  settings.steps = steps;
  settings.warmup = steps / 10;
  settings.batch = 16;
  settings.lr = 5e-3;
  return settings;
}

EncoderConfig embedding_config(const Tokenizer& pieces) {
  EncoderConfig config = text_embedding_presets().front().model;
  config.vocab = pieces.vocab_size();
  config.padding_id = pieces.pad_id();
  config.width = 32;
  config.context = 24;
  return config;
}

Tokenizer pieces_of(const RetrievalPairs& pairs) {
  return SentencePieceTokenizer::train(pairs.texts(), {.vocab = 60, .character_coverage = 1});
}

double metric(const Evaluation& found, std::string_view name) {
  for (const Metric& m : found.metrics) {
    if (m.name == name) return m.value;
  }
  return NAN;
}

// This example is on the page docs/embeddings.md.
TextEncoder train_on_pairs(const RetrievalPairs& pairs) {
  const Tokenizer pieces = pieces_of(pairs);
  TextEncoder encoder = trainable(build_text_encoder(
      embedding_config(pieces), pieces, {.temperature = 0.1}, embedding_settings(200)));
  Session session(*encoder.graph, encoder.store, {.seed = encoder.settings.seed});
  Trainer trainer(session, embedding_task(session, encoder, pairs, nullptr),
                  {.settings = encoder.settings});
  trainer.run();
  return encoder;
}

BOOST_AUTO_TEST_CASE(a_trained_encoder_ranks_held_out_passages_higher_than_bm25) {
  const RetrievalSplit parts = hold_out(synonyms(), 0.2, 1);
  const TextEncoder model = train_on_pairs(parts.train);
  Session session(*model.graph, model.store);
  const RetrievalSet test(parts.held_out);
  const double found = metric(evaluate(session, model, parts.held_out), "ndcg@10"),
               bm25 = ranking_metrics(bm25_baseline(test).rankings, test).front().value;
  BOOST_TEST(found > 0.9);
  BOOST_TEST(found > bm25 + 0.2);
  // The same metrics result from the rankings.
  const Rankings rankings = rank_passages(session, model, test);
  BOOST_TEST(ranking_metrics(rankings, test).front().value == found);
  const std::vector<double> curve = recall_curve(rankings, test);
  BOOST_TEST(curve.size() == kRankedPassages);
  BOOST_TEST(curve[0] == metric(evaluate(session, model, parts.held_out), "recall@1"));
  BOOST_TEST(curve[9] == metric(evaluate(session, model, parts.held_out), "recall@10"));
  BOOST_TEST(curve[99] == 1);
}

double cosine_of(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j,
                 std::int64_t size, bool normalise) {
  const std::int64_t da = a.size(a.rank() - 1), db = b.size(b.rank() - 1);
  double dot = 0, aa = 0, bb = 0;
  for (std::int64_t k = 0; k < size; ++k) {
    const double x = a.at(i * da + k), y = b.at(j * db + k);
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return normalise ? dot / std::sqrt(aa * bb) : dot;
}

BOOST_AUTO_TEST_CASE(the_loss_matches_loops_over_all_passages_of_the_batch) {
  constexpr std::int64_t kRows = 5, kWidth = 6;
  for (const std::int64_t more : {0, 2}) {
    for (const bool symmetric : {false, true}) {
      for (const bool cosine : {false, true}) {
        const std::int64_t texts = 1 + more;
        const Tensor q = testing::normal_tensor({kRows, kWidth}, 1),
                     p = testing::normal_tensor({kRows, texts, kWidth}, 2);
        // Rows 0 and 3 have the same positive, and rows 1 and 4 the same query. The first negative
        // of row 2 is the positive of row 0, and the second one is missing. The second negative of
        // row 0 is the positive of row 4.
        const std::vector<std::int64_t> query_ids = {0, 1, 2, 3, 1};
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < kRows; ++i) {
          ids.push_back(i == 3 ? 0 : i);
          for (std::int64_t m = 0; m < more; ++m)
            ids.push_back(i == 2 ? (m == 0 ? 0 : -1) : i == 0 && m == 1 ? 4 : 10 * i + 50 + m);
        }
        ContrastiveOptions options{.temperature = 0.3,
                                   .symmetric = symmetric,
                                   .dimensions = {2, 6},
                                   .dimension_weights = {0.5, 2}};
        Graph g;
        const Value loss =
            embedding_loss(g.constant(q), g.constant(p), g.constant(Tensor::of({kRows}, query_ids)),
                           g.constant(Tensor::of({kRows, texts}, ids)), options, cosine);
        Session session(g);
        const double found = session.run(Program("p").output("l", loss), {})["l"].item<float>();

        double expected = 0;
        const auto positive = [&](std::int64_t i) { return ids[std::size_t(i * texts)]; };
        const auto same = [&](std::int64_t i, std::int64_t j) {
          return positive(i) == positive(j) ||
                 query_ids[std::size_t(i)] == query_ids[std::size_t(j)];
        };
        const auto relevant = [&](std::int64_t i, std::int64_t id) {
          for (std::int64_t j = 0; j < kRows; ++j) {
            if (query_ids[std::size_t(i)] == query_ids[std::size_t(j)] && id == positive(j))
              return true;
          }
          return false;
        };
        for (const auto& [size, weight] : {std::pair{2, 0.5}, {6, 2.0}}) {
          for (std::int64_t i = 0; i < kRows; ++i) {
            const auto score = [&, &size = size](std::int64_t row, std::int64_t passage) {
              return std::exp(cosine_of(q, row, p, passage, size, cosine) / 0.3);
            };
            double of_query = 0, of_passage = 0;
            for (std::int64_t j = 0; j < kRows; ++j) {
              if (j == i || !same(i, j)) {
                of_query += score(i, j * texts);
                of_passage += score(j, i * texts);
              }
              for (std::int64_t m = 1; m < texts; ++m) {
                const std::int64_t id = ids[std::size_t(j * texts + m)];
                if (id >= 0 && !relevant(i, id)) of_query += score(i, j * texts + m);
              }
            }
            double part = -std::log(score(i, i * texts) / of_query);
            if (symmetric) part = (part - std::log(score(i, i * texts) / of_passage)) / 2;
            expected += weight * part / kRows;
          }
        }
        BOOST_TEST(found == expected, boost::test_tools::tolerance(1e-5));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(whole_vectors_are_trained_in_addition_to_the_given_sizes) {
  const Tensor q = testing::normal_tensor({4, 6}, 1), p = testing::normal_tensor({4, 1, 6}, 2);
  Graph g;
  const Value query_ids = g.constant(Tensor::of<std::int64_t>({4}, {0, 1, 2, 3})),
              ids = g.constant(Tensor::of<std::int64_t>({4, 1}, {0, 1, 2, 3}));
  const auto loss = [&](std::vector<double> sizes, std::vector<double> weights = {}) {
    return embedding_loss(
        g.constant(q), g.constant(p), query_ids, ids,
        {.dimensions = std::move(sizes), .dimension_weights = std::move(weights)});
  };
  const Program program = Program("p")
                              .output("none", loss({}))
                              .output("two", loss({2}))
                              .output("all", loss({6, 2}))
                              .output("more", loss({6}, {3}));
  Session session(g);
  const Results r = session.run(program, {});
  BOOST_TEST(r["two"].item<float>() == r["all"].item<float>());
  BOOST_TEST(r["two"].item<float>() > r["none"].item<float>());
  BOOST_TEST(r["more"].item<float>() == 3 * r["none"].item<float>(),
             boost::test_tools::tolerance(1e-6F));
}

BOOST_AUTO_TEST_CASE(a_resumed_run_is_bit_exact_and_batches_list_missing_negatives) {
  const TextFiles files("embedding");
  RetrievalPairs data = synonyms();
  data.lines[0].negatives = {"a zaao", "nothing"};
  data.lines[1].negatives = {"a zbbo"};
  const Tokenizer pieces = pieces_of(data);
  const auto new_model = [&] {
    return trainable(build_text_encoder(embedding_config(pieces), pieces,
                                        {.symmetric = true,
                                         .negatives = 2,
                                         .dimensions = {8, 16},
                                         .query_prompt = "find: ",
                                         .passage_prompt = "a "},
                                        embedding_settings(20)));
  };
  const auto run = [&](TextEncoder& model, std::int64_t stop_after) {
    Session session(*model.graph, model.store, {.seed = 7});
    Trainer trainer(session, embedding_task(session, model, data, &data),
                    {.settings = model.settings,
                     .history = model.history,
                     .save = [&](const TrainHistory& history) { model.history = history; },
                     .stop_after = stop_after});
    trainer.run();
  };
  TextEncoder whole = new_model(), first = new_model();
  run(whole, 0);
  run(first, 7);
  save_model(files.path("a.weft"), first);
  auto second = load_model<TextEncoder>(files.path("a.weft"));
  BOOST_TEST((second.contrastive == first.contrastive));
  run(second, 0);
  for (const std::string& name : whole.store->names())
    BOOST_TEST(bitwise_equal(whole.store->tensor(name), second.store->tensor(name)), name);
  BOOST_TEST((whole.history.metrics == second.history.metrics));

  Session session(*whole.graph, whole.store);
  const TrainTask task = embedding_task(session, whole, data, nullptr);
  int missing = 0, given = 0;
  for (int step = 0; step < 5; ++step) {
    for (const auto& [name, tensor] : task.batch(step).inputs) {
      if (name != "passage_ids") continue;
      BOOST_TEST(tensor.sizes() == (Sizes{16, 3}));
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        (tensor.at(i) < 0 ? missing : given) += i % 3 > 0 ? 1 : 0;
    }
  }
  BOOST_TEST(given >= 3);
  BOOST_TEST(missing >= 100);
}

BOOST_AUTO_TEST_CASE(a_new_encoder_is_written_as_a_sentence_transformers_folder) {
  const TextFiles files("embedding");
  const RetrievalPairs data = synonyms();
  const Tokenizer pieces = pieces_of(data);
  for (const TextPooling pooling : {TextPooling::mean, TextPooling::cls, TextPooling::lasttoken}) {
    const std::string path = files.path("folder_" + std::string(choice_name(pooling)));
    TextEncoder model = trainable(build_text_encoder(
        [&] {
          EncoderConfig config = embedding_config(pieces);
          config.layers = 1;
          config.norm_first = false;
          config.conv_kernel = 0;
          config.positions = EncoderPositions::absolute;
          return config;
        }(),
        pieces, {.pooling = pooling, .query_prompt = "find ", .passage_prompt = ""},
        embedding_settings(4)));
    Session session(*model.graph, model.store);
    Trainer(session, embedding_task(session, model, data, nullptr), {.settings = model.settings})
        .run();
    const std::vector<std::string> texts = {"find kaao", "a zbbo and a zcco"};
    const EmbedOptions query{.prompt_name = "query"};
    const Tensor before = embed(session, model, texts, query);
    save_folder(path, model);
    const auto modules = json::parse(read_whole_file(path + "/modules.json"));
    BOOST_TEST(modules.size() == 3U);
    BOOST_TEST(modules[2]["type"] == "sentence_transformers.models.Normalize");
    const auto config = json::parse(read_whole_file(path + "/config_sentence_transformers.json"));
    BOOST_TEST(config["prompts"]["query"] == "find ");
    BOOST_TEST(config["prompts"]["document"] == "");
    BOOST_TEST(config["similarity_fn_name"] == "cosine");
    BOOST_TEST(
        json::parse(read_whole_file(path + "/sentence_bert_config.json"))["max_seq_length"] == 24);
    const auto loaded = text_encoder(*load_any_model(path).model);
    Session again(*loaded->graph, loaded->store);
    const Tensor after = embed(again, *loaded, texts, query);
    BOOST_REQUIRE(after.sizes() == before.sizes());
    for (std::int64_t i = 0; i < after.numel(); ++i)
      BOOST_TEST(std::abs(after.at(i) - before.at(i)) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(options_that_do_not_apply_are_errors) {
  const RetrievalPairs data = synonyms();
  const Tokenizer pieces = pieces_of(data);
  const auto error = [&](const ContrastiveOptions& options, const std::string& message) {
    check_error_message<ArgumentError>(
        [&] { build_text_encoder(embedding_config(pieces), pieces, options, {}); }, message);
  };
  error({.temperature = 0}, "temperature");
  error({.negatives = -1}, "negatives");
  error({.dimensions = {0}}, "dimensions must be positive integers, not 0");
  error({.dimensions = {2.5}}, "dimensions must be positive integers, not 2.5");
  error({.dimensions = {8, 8}}, "dimensions contains 8 twice");
  error({.dimensions = {8, 33}},
        "dimensions contains 33, but the vectors of the model have 32 values");
  error({.dimensions = {8}, .dimension_weights = {1, 2}},
        "dimension_weights must have one weight for each of the 1 dimensions, not 2");
  error({.dimensions = {8}, .dimension_weights = {0}}, "dimension_weights");
  error({.max_tokens = -1}, "max_tokens");
  error({.max_tokens = 8}, "max_tokens applies to encoders from Hugging Face folders");
  const ContrastiveOptions all{.symmetric = true, .dimensions = {4, 8}, .query_prompt = "q: "};
  BOOST_TEST(
      (ContrastiveOptions::fields().from_json(ContrastiveOptions::fields().to_json(all)) == all));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
