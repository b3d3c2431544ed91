// Similarity scores for text pairs: reading files, correlations compared with known values, and
// training.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>

#include "small_encoder.h"
#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/data/formats/scored_pairs.h"
#include "weft/models/metrics/correlation.h"
#include "weft/models/tasks/text_similarity/similarity_task.h"
#include "weft/models/training/trainable.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(text_similarity)
namespace {

using Numbers = std::vector<double>;

/// Returns pairs of texts about the weather. The score is 4 if the temperatures are equal, and 0 if
/// one is the lowest and the other the highest.
ScoredPairs weather() {
  const Texts words = {"icy", "cold", "mild", "warm", "hot"};
  ScoredPairs all;
  for (int i = 0; i < 100; ++i) {
    const int a = i % 5, b = i / 5 % 5;
    all.lines.push_back({"day " + std::to_string(i % 7) + " was " + words[std::size_t(a)],
                         "it is " + words[std::size_t(b)], 4.0 - std::abs(a - b)});
  }
  return all;
}

/// Returns single texts about the weather. The score is the temperature.
ScoredPairs single_texts() {
  ScoredPairs all = weather();
  all.pairs = false;
  for (std::size_t i = 0; i < all.lines.size(); ++i) {
    all.lines[i].second.clear();
    all.lines[i].score = -10.0 + 10.0 * static_cast<double>(i % 5);
  }
  return all;
}

EncoderConfig weather_encoder(const SentencePieceTokenizer& pieces, std::int64_t token_types) {
  EncoderConfig config = small();
  config.vocab = pieces.vocab_size();
  config.context = 24;
  config.token_types = token_types;
  config.width = 32;
  config.inner = 64;
  config.hidden_dropout = 0;
  return config;
}

SimilarityModel new_model(const ScoredPairs& data, SimilarityHead head, std::int64_t steps,
                          std::int64_t token_types = 2) {
  const auto pieces =
      SentencePieceTokenizer::train(data.texts(), {.vocab = 50, .character_coverage = 1});
  TrainSettings training = settings(steps);
  training.batch = 20;
  training.eval_every = 0;
  head.pairs = data.pairs;
  SimilarityModel model =
      build_similarity_model(weather_encoder(pieces, token_types), pieces, head, training);
  make_trainable(model);
  return model;
}

TrainOutcome run(SimilarityModel& model, const ScoredPairs& data, std::int64_t stop_after = 0,
                 int threads = 1) {
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, similarity_task(session, model, data, &data),
                  {.settings = model.settings,
                   .history = model.history,
                   .save = [&](const TrainHistory& history) { model.history = history; },
                   .stop_after = stop_after});
  return trainer.run();
}

double metric(const Evaluation& found, std::string_view name) {
  for (const Metric& m : found.metrics) {
    if (m.name == name) return m.value;
  }
  return NAN;
}

BOOST_AUTO_TEST_CASE(scored_lines_contain_one_or_two_texts) {
  const TextFiles files("scored");
  const std::string two = files.write("two", "3.5\ta cat \tthe cat\r\n\n -1e1\tx\ty"),
                    more = files.write("more", "0\tm\tn\n"),
                    one = files.write("one", "4\tgood\n0\tbad\n");
  const ScoredPairs pairs = read_scored_pairs(Texts{two, more});
  BOOST_TEST(pairs.pairs);
  BOOST_TEST((pairs.lines ==
              std::vector<ScoredPair>{{"a cat", "the cat", 3.5}, {"x", "y", -10}, {"m", "n", 0}}));
  BOOST_TEST(pairs.texts() == (Texts{"a cat", "x", "m", "the cat", "y", "n"}),
             boost::test_tools::per_element());
  BOOST_TEST(pairs.scores() == (Numbers{3.5, -10, 0}), boost::test_tools::per_element());
  const ScoredPairs single = read_scored_pairs(Texts{one});
  BOOST_TEST(!single.pairs);
  BOOST_TEST(single.texts() == (Texts{"good", "bad"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(invalid_scored_lines_are_rejected) {
  const TextFiles files("unscored");
  const auto read = [&](const std::string& text) {
    return [&files, text] { read_scored_pairs(Texts{files.write("f", text)}); };
  };
  check_error_message<FormatError>(read("1\ta\tb\n2\n"),
                                   "f:2: expected a score and two texts separated by tabs, as in "
                                   "the previous lines, not a line with 1 columns");
  check_error_message<FormatError>(
      read("1\ta\n\n2\tb\tc\n"),
      "f:3: expected a score and a text separated by a tab, as in the previous lines");
  check_error_message<FormatError>(
      read("1\ta\tb\tc\n"),
      "f:1: expected a score and one or two texts separated by tabs, not a line with 4 columns");
  check_error_message<FormatError>(read("score\ta\tb\n"), "f:1: the score must be a finite number");
  check_error_message<FormatError>(read("nan\ta\tb\n"), "f:1: the score must be a finite number");
  check_error_message<FormatError>(read("1e31\ta\tb\n"), "f:1: the score must be a finite number");
  check_error_message<FormatError>(read("\ta\tb\n"), "f:1: the score must be a finite number");
  check_error_message<FormatError>(read("1\ta\tb\n1\ta\t \n"), "f:2: a text is empty");
  check_error_message<FormatError>(read("1\t\tb\n"), "f:1: a text is empty");
  check_error_message<FormatError>(read("\n \n"), "f: there is no line with a score");
  check_error_message<FormatError>(read("1\t\xff\tb\n"), "f");
  check_error_message<IoError>([] { read_scored_pairs(Texts{"/nowhere/f"}); }, "/nowhere/f");
}

BOOST_AUTO_TEST_CASE(held_out_lines_are_chosen_at_random_by_seed) {
  const ScoredPairs all = weather();
  const ScoredSplit split = hold_out(all, 0.25, 3);
  BOOST_TEST(split.held_out.size() == 25);
  BOOST_TEST(split.train.size() == 75);
  // Every line is in exactly one of the two parts, in the original order.
  std::size_t train = 0, held_out = 0;
  for (const ScoredPair& line : all.lines) {
    if (train < 75 && split.train.lines[train] == line) {
      ++train;
    } else {
      BOOST_TEST((split.held_out.lines[held_out++] == line));
    }
  }
  BOOST_TEST((hold_out(all, 0.25, 3).held_out.lines == split.held_out.lines));
  BOOST_TEST((hold_out(all, 0.25, 4).held_out.lines != split.held_out.lines));
  BOOST_TEST(hold_out(all, 0, 3).held_out.size() == 0);
  BOOST_TEST(hold_out(all, 1e-9, 3).held_out.size() == 1);
  BOOST_TEST(hold_out(all, 0.999, 3).train.size() == 1);
  check_error_message<ArgumentError>([&] { hold_out(all, 1, 3); }, "must be in [0, 1), not 1");
  check_error_message<DataError>([&] { hold_out({{all.lines[0]}}, 0.1, 3); },
                                 "none of 1 lines can be held out");
}

BOOST_AUTO_TEST_CASE(correlations_have_known_values) {
  const auto close = boost::test_tools::tolerance(1e-12);
  const Numbers x = {1, 2, 3, 4, 5}, y = {2, 1, 4, 3, 5};
  BOOST_TEST(pearson(x, y) == 0.8, close);
  BOOST_TEST(spearman(x, y) == 0.8, close);
  // The data are the first set of Anscombe's quartet (1973).
  const Numbers a = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5},
                b = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
  BOOST_TEST(pearson(a, b) == 0.81642051634484, close);
  BOOST_TEST(spearman(a, b) == 0.8181818181818182, close);
  // Spearman's correlation depends only on the order of the values.
  const Numbers cubes = {1, 8, 27};
  BOOST_TEST(pearson(Numbers{1, 2, 3}, cubes) == 26 / std::sqrt(724.0), close);
  BOOST_TEST(spearman(Numbers{1, 2, 3}, cubes) == 1, close);
  BOOST_TEST(pearson(x, Numbers{5, 4, 3, 2, 1}) == -1, close);
}

BOOST_AUTO_TEST_CASE(ties_share_the_mean_of_their_ranks) {
  const auto close = boost::test_tools::tolerance(1e-12);
  // The ranks are 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
  BOOST_TEST(spearman(Numbers{1, 2, 2, 3}, Numbers{1, 2, 3, 4}) == 4.5 / std::sqrt(22.5), close);
  // The ranks are 2, 2, 2, 4 and 3.5, 3.5, 1.5, 1.5.
  BOOST_TEST(spearman(Numbers{7, 7, 7, 9}, Numbers{5, 5, 0, 0}) == -1 / std::sqrt(3.0), close);
}

BOOST_AUTO_TEST_CASE(correlations_handle_extreme_magnitudes_and_degenerate_input) {
  const auto close = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(pearson(Numbers{1e300, 2e300, 3e300}, Numbers{1e-300, 2e-300, 3e-300}) == 1, close);
  BOOST_TEST(pearson(Numbers{1e9 + 1, 1e9 + 2, 1e9 + 4}, Numbers{1, 2, 4}) == 1, close);
  BOOST_TEST(std::isnan(pearson(Numbers{0.1, 0.1, 0.1}, Numbers{1, 2, 3})));
  BOOST_TEST(std::isnan(spearman(Numbers{1, 2, 3}, Numbers{2, 2, 2})));
  BOOST_TEST(std::isnan(pearson(Numbers{}, Numbers{})));
  BOOST_TEST(std::isnan(pearson(Numbers{1}, Numbers{2})));
  check_error_message<ArgumentError>(
      [] {
        pearson(Numbers{1, 2}, Numbers{1});
      },
      "cannot correlate 2 numbers with 1");
  check_error_message<ArgumentError>(
      [] {
        spearman(Numbers{1, NAN}, Numbers{1, 2});
      },
      "number 1 is nan, which is not finite");

  // The correlation of constant predictions is 0. If all scores in the data are equal, there is no
  // correlation.
  const std::vector<Metric> flat = correlations(Numbers{1, 1}, Numbers{1, 2});
  BOOST_TEST(flat.size() == 2U);
  BOOST_TEST(flat[0].value == 0);
  BOOST_TEST(correlations(Numbers{1, 2}, Numbers{3, 3}).empty());
}

BOOST_AUTO_TEST_CASE(a_small_model_learns_similarity_and_a_resumed_run_is_bit_exact) {
  const TextFiles files("similarity");
  const ScoredPairs data = weather();
  const SimilarityHead head{.low = 0, .high = 4};
  SimilarityModel straight = new_model(data, head, 400);
  const TrainOutcome whole = run(straight, data);
  BOOST_TEST(metric(whole.evaluation, "pearson") > 0.95);
  BOOST_TEST(metric(whole.evaluation, "spearman") > 0.9);

  SimilarityModel first = new_model(data, head, 400);
  run(first, data, 137, 2);
  save_model(files.path("a.weft"), first);
  auto second = load_model<SimilarityModel>(files.path("a.weft"));
  BOOST_TEST((second.head == first.head));
  run(second, data, 0, 3);
  check_same_weights(straight, second);

  // Scores are on the scale of the data; the loss is on the model's scale, [0, 1].
  Session session(*second.graph, second.store);
  const Numbers scores = score_pairs(session, second, data.lines);
  double squares = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    squares += std::pow((scores[i] - data.lines[i].score) / 4, 2);
  BOOST_TEST(squares / 100 == whole.evaluation.loss, boost::test_tools::tolerance(1e-3));
  // The score of a pair depends neither on padding nor on the other pairs in the batch.
  const std::vector<ScoredPair> alone = {data.lines[7]};
  BOOST_TEST(score_pairs(session, second, alone)[0] == scores[7],
             boost::test_tools::tolerance(1e-3));

  std::vector<Program> programs = {second.program("evaluate"), second.program("score")};
  const QuantizedModel made = quantize(programs, *second.store, {.weights = WeightFormat::int8});
  SimilarityModel small = second;
  small.programs = {{"evaluate", made.programs[0]}, {"score", made.programs[1]}};
  small.graph = made.graph;
  small.store = made.store;
  save_model(files.path("int8.weft"), small);
  const auto loaded = load_model<SimilarityModel>(files.path("int8.weft"));
  Session other(*loaded.graph, loaded.store);
  BOOST_TEST(metric(evaluate(other, loaded, data), "pearson") > 0.95);
}

BOOST_AUTO_TEST_CASE(mean_pooling_single_texts_and_encoders_without_token_types_are_supported) {
  const ScoredPairs pairs = weather(), texts = single_texts();
  SimilarityModel mean = new_model(pairs, {.pooling = Pooling::mean, .low = 0, .high = 4}, 300);
  BOOST_TEST(metric(run(mean, pairs).evaluation, "pearson") > 0.95);
  BOOST_TEST(!mean.graph->has_variable("pooler.weight"));

  for (const std::int64_t token_types : {0, 1}) {
    SimilarityModel without = new_model(pairs, {.low = 0, .high = 4}, 4, token_types);
    BOOST_TEST(similarity_inputs(
                   without, std::vector<SimilarityRows>{similarity_rows(without, pairs.lines[0])})
                   .size() == 2U);
    BOOST_TEST(std::isfinite(run(without, pairs).evaluation.loss));
  }
  SimilarityModel single = new_model(texts, {.low = -10, .high = 30}, 60);
  BOOST_TEST(metric(run(single, texts).evaluation, "pearson") > 0.95);
  // With eval_batches, periodic evaluations use only some of the texts, which are evenly spaced.
  single.settings.eval_batches = 1;
  Session session(*single.graph, single.store);
  const TrainTask task = similarity_task(session, single, texts, &texts);
  BOOST_TEST(task.evaluate(false).loss != task.evaluate(true).loss);
  BOOST_TEST(task.unit == "texts");
}

BOOST_AUTO_TEST_CASE(cosine_models_score_pairs_by_the_cosine_of_their_embeddings) {
  const TextFiles files("cosine");
  const ScoredPairs data = weather();
  Texts first, second;
  for (const ScoredPair& line : data.lines) {
    first.push_back(line.first);
    second.push_back(line.second);
  }
  for (const Pooling pooling : {Pooling::mean, Pooling::cls}) {
    BOOST_TEST_CONTEXT(choice_name(pooling)) {
      SimilarityModel model = new_model(
          data, {.comparison = Comparison::cosine, .pooling = pooling, .low = 0, .high = 4}, 200);
      const TrainOutcome whole = run(model, data);
      BOOST_TEST(metric(whole.evaluation, "pearson") > 0.95);
      BOOST_TEST(!model.graph->has_variable("score.weight"));
      BOOST_TEST(!model.graph->has_variable("pooler.weight"));
      save_model(files.path("m.weft"), model);
      const auto loaded = load_model<SimilarityModel>(files.path("m.weft"));
      BOOST_TEST((loaded.head == model.head));

      // The cosines between embeddings match the scores. Embedding needs no pooling option.
      const std::unique_ptr<TextEncoder> encoder = loaded.text_encoder();
      Session session(*loaded.graph, loaded.store), vectors(*encoder->graph, encoder->store);
      const Tensor a = embed(vectors, *encoder, first), b = embed(vectors, *encoder, second);
      const Numbers scores = score_pairs(session, loaded, data.lines);
      Numbers cosines;
      double worst = 0;
      for (std::size_t i = 0; i < scores.size(); ++i) {
        double cosine = 0;
        for (std::int64_t j = 0; j < 32; ++j) {
          const auto at = static_cast<std::int64_t>(i) * 32 + j;
          cosine += a.at(at) * b.at(at);
        }
        cosines.push_back(cosine);
        worst = std::max(worst, std::abs(4 * cosine - scores[i]));
      }
      BOOST_TEST(worst < 1e-5);
      const std::vector<Metric> found = correlations(cosines, data.scores());
      BOOST_TEST(std::abs(found[0].value - metric(whole.evaluation, "pearson")) < 1e-6);
      BOOST_TEST(std::abs(found[1].value - metric(whole.evaluation, "spearman")) < 1e-3);
      // The score depends neither on the order of the two texts nor on the other pairs in the
      // batch.
      const std::vector<ScoredPair> turned = {{second[7], first[7], 0}};
      BOOST_TEST(std::abs(score_pairs(session, loaded, turned)[0] - scores[7]) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_similarity_head_requires_different_lowest_and_highest_scores) {
  SimilarityHead head{.low = 2, .high = 2};
  check_error_message<ArgumentError>(
      [&] { head.check(); },
      "the highest score must be greater than the lowest score in float32, but they are 2 and 2");
  head = {.pooling = Pooling::mean, .pairs = false, .low = -0.1, .high = 1e30};
  BOOST_TEST((SimilarityHead::fields().from_json(SimilarityHead::fields().to_json(head)) == head));
  check_error_message<ArgumentError>([] { parse_choice<Pooling>("max"); },
                                     "expected one of cls, mean");
  check_error_message<ArgumentError>([] { parse_choice<Comparison>("dot"); },
                                     "expected one of joint, cosine");
  head.comparison = Comparison::cosine;
  check_error_message<ArgumentError>([&] { head.check(); },
                                     "comparison 'cosine' requires text pairs");
  // In files from the first versions, models always read both texts jointly.
  BOOST_TEST((SimilarityHead::fields()
                  .from_json(R"({"pooling": "mean", "pairs": true, "low": 0, "high": 1})")
                  .comparison == Comparison::joint));
}

BOOST_AUTO_TEST_CASE(weft_trains_and_evaluates_similarity_models) {
  const Shell weft;
  std::string lines, few;
  for (const ScoredPair& line : weather().lines) {
    lines += std::to_string(line.score) + "\t" + line.first + "\t" + line.second + "\n";
    if (few.size() < 500) few = lines;
  }
  const std::string data = " --data " + weft.write("pairs", lines),
                    validation = " --validation " + weft.write("validation", few),
                    test = " --test " + weft.write("test", few), model = weft.path("m.weft"),
                    single = weft.write("single", "1\ta\n2\tb\n"),
                    equal = weft.write("equal", "1\ta\tb\n1\tb\ta\n1\ta\tc\n");
  const std::string start =
      "train encoder --task similarity --vocab 50 --layers 1 --heads 2 "
      "--width 16 --inner 32 --context 24 --steps 4 --batch 4 --threads 1 "
      "--out " +
      model;
  const Outcome made = weft(start + data + validation + test);
  BOOST_TEST(made.code == 0, made.err);
  BOOST_TEST(contains(made.out, "100 pairs for training, "));
  BOOST_TEST(contains(made.out, "scores from 0 to 4\nhead      comparison cosine, pooling mean\n"));
  BOOST_TEST(contains(made.out, "\ntest      loss "));
  BOOST_TEST(contains(made.out, "\nbaseline  pearson "));
  BOOST_TEST(contains(made.out, " pairs: the model before training\n"));
  BOOST_TEST(contains(made.out, " pairs: cosine of TF-IDF vectors\n"));
  // Evaluating the model on the test set prints the same result as the training run.
  const Outcome measured = weft("evaluate " + model + test);
  BOOST_TEST(measured.code == 0, measured.err);
  BOOST_TEST(contains(made.out, measured.out));
  BOOST_TEST(contains(weft("evaluate " + model + validation).out, "validation loss "));
  // Fine-tuning keeps the comparison mode of the given model, unless options select another mode.
  const std::string tuned =
      "train encoder --task similarity --steps 2 --batch 4 --warmup 1 --threads 1 --from " + model +
      data + " --out " + weft.path("tuned.weft");
  BOOST_TEST(contains(weft(tuned).out, "\nhead      comparison cosine, pooling mean\n"));
  BOOST_TEST(contains(weft(tuned + " --comparison joint --pooling cls").out,
                      "\nhead      comparison joint, pooling cls\n"));
  // A resumed run cannot report the quality of the model before training.
  const std::string half = weft.path("half.weft"), rest = data + validation + test;
  const std::string fresh = start.substr(0, start.rfind("--out"));
  BOOST_TEST(weft(fresh + rest + " --stop-after 2 --out " + half).code == 0);
  const Outcome more = weft("train encoder --task similarity --threads 1 --resume " + half + rest);
  BOOST_TEST(more.code == 0, more.err);
  BOOST_TEST(contains(more.out, "\nbaseline  pearson "));
  BOOST_TEST(!contains(more.out, "before training"));
  // With --validation, all of --data was used for training.
  check_error(weft("evaluate " + model + data), 1, "no line was held out in training");

  check_error(weft(start), 2, "--data is required");
  check_error(weft(start + data + validation + " --validation-fraction 0.2"), 2,
              "--validation-fraction applies only without --validation");
  check_error(weft(start + data + " --test " + single), 1,
              "--test has lines with one text, but expected lines with two texts");
  check_error(weft("evaluate " + model + " --data " + single), 1, "--data has lines with one text");
  check_error(weft(start + " --data " + equal), 1, "training lines have the score 1");
  check_error(weft(start + data + " --pooling max"), 2, "--pooling");
  const std::string alone = weft.write("alone", "1\ta\n2\tb\n3\tc\n4\td\n");
  check_error(weft(start + " --data " + alone + " --comparison cosine"), 2,
              "comparison 'cosine' requires text pairs");
  check_error(weft("train encoder --task similarity --resume " + model + data + " --pooling cls"),
              2, "--pooling cannot be given with --resume");
  check_error(weft("train encoder --task similarity --resume " + model + test), 2,
              "--data is required: files to train on");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
