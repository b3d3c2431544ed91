// Pre-training of encoders: losses match the papers, resumed runs are bit-exact, small texts are
// learned, and invalid input is rejected.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "small_encoder.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/metrics/roc_auc.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/masked_tokens/pretraining_task.h"
#include "weft/models/tasks/masked_tokens/replaced_tokens.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(pretraining)
namespace {

using Objective = PretrainingObjective;
constexpr std::array kObjectives = {Objective::mlm, Objective::mlm_nsp, Objective::mlm_sop,
                                    Objective::rtd};

constexpr std::int64_t kVocab = 48;

/// Returns documents in which every sentence states its position.
std::vector<Texts> documents() {
  std::vector<Texts> result;
  for (int d = 0; d < 40; ++d) {
    const std::string about = d % 2 == 0 ? "ships sail" : "birds fly";
    result.push_back({"first " + about, "then " + about, "last " + about});
  }
  return result;
}

Texts lines() {
  Texts all;
  for (const Texts& document : documents()) all.insert(all.end(), document.begin(), document.end());
  return all;
}

SentencePieceTokenizer document_tokenizer() {
  return SentencePieceTokenizer::train(lines(), {.vocab = kVocab, .character_coverage = 1});
}

PretrainingModel fresh(Objective objective, const TrainSettings& s = settings(),
                       double replaced_weight = 50, double dropout = 0.1) {
  EncoderConfig config = small();
  config.vocab = kVocab;
  config.token_types = 2;
  config.hidden_dropout = dropout;
  return trainable(build_pretraining_model(config, document_tokenizer(), s,
                                           {.objective = objective,
                                            .whole_words = true,
                                            .generator_share = 0.5,
                                            .replaced_weight = replaced_weight}));
}

/// Trains on the documents or on their lines, and evaluates on the same data.
TrainOutcome run(PretrainingModel& model, std::int64_t stop_after = 0, int threads = 1) {
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  const auto train = [&](const TrainTask& task) {
    Trainer trainer(session, task,
                    {.settings = model.settings,
                     .history = model.history,
                     .save = [&](const TrainHistory& history) { model.history = history; },
                     .stop_after = stop_after});
    return trainer.run();
  };
  if (reads_pairs(model.options.objective)) {
    const SentencePairs pairs = sentence_pairs(model, documents());
    return train(pretraining_task(session, model, pairs, &pairs));
  }
  const PackedTexts texts(model.tokenizer, lines(), model.config.max_tokens());
  return train(pretraining_task(session, model, texts, &texts));
}

NamedTensors first_batch(const PretrainingModel& model) {
  Session session(*model.graph, model.store);
  if (reads_pairs(model.options.objective)) {
    const SentencePairs pairs = sentence_pairs(model, documents());
    return pretraining_task(session, model, pairs, nullptr).batch(0).inputs;
  }
  const PackedTexts texts(model.tokenizer, lines(), model.config.max_tokens());
  return pretraining_task(session, model, texts, nullptr).batch(0).inputs;
}

Tensor input(const NamedTensors& inputs, std::string_view name) {
  return std::find_if(inputs.begin(), inputs.end(), [&](auto& i) { return i.first == name; })
      ->second;
}

Tensor key(std::int64_t runs) { return Tensor::of<std::int64_t>({2}, {7, runs}); }

BOOST_AUTO_TEST_CASE(resumed_runs_of_every_objective_are_bit_exact) {
  for (const Objective objective : kObjectives) {
    BOOST_TEST_CONTEXT(choice_name(objective)) {
      const TextFiles files("pretraining");
      PretrainingModel straight = fresh(objective);
      const TrainOutcome whole = run(straight);
      BOOST_TEST(std::isfinite(whole.evaluation.loss));

      PretrainingModel first = fresh(objective);
      BOOST_TEST(run(first, 5, 2).stopped);
      save_model(files.path("m.weft"), first);
      PretrainingModel second = load_model<PretrainingModel>(files.path("m.weft"));
      BOOST_TEST((second.config == first.config));
      BOOST_TEST((second.options == first.options));
      run(second, 0, 3);
      check_same_weights(straight, second);

      // Evaluation on held-out data does not advance the random keys used for training.
      TrainSettings rarely = settings();
      rarely.eval_every = 0;
      PretrainingModel unseen = fresh(objective, rarely);
      run(unseen);
      BOOST_TEST((unseen.history.train == straight.history.train));
    }
  }
}

BOOST_AUTO_TEST_CASE(models_from_the_first_file_version_mask_single_tokens) {
  const TextFiles files("first_version");
  const PretrainingModel model = fresh(Objective::mlm);
  Session(*model.graph, model.store, {.seed = 1}).initialise();
  save_model(files.path("new.weft"), model);
  const Checkpoint file = load_checkpoint(files.path("new.weft"));
  std::vector<Attachment> attachments = file.attachments();
  std::erase_if(attachments, [](const Attachment& a) { return a.name == "train.pretraining"; });
  save_checkpoint(files.path("old.weft"), *file.store(), file.programs(),
                  {.attachments = attachments});
  BOOST_TEST(
      (load_model<PretrainingModel>(files.path("old.weft")).options == PretrainingOptions()));
  PretrainingModel again = load_model<PretrainingModel>(files.path("old.weft"));
  BOOST_TEST(std::isfinite(run(again).evaluation.loss));
}

BOOST_AUTO_TEST_CASE(rows_fit_position_tables_that_skip_padding) {
  // RoBERTa's positions begin after the padding position, so rows must be shorter than the position
  // table.
  EncoderConfig config = small();
  config.vocab = kVocab;
  config.positions_skip_padding = true;
  BOOST_TEST(config.max_tokens() == 15);
  TrainSettings few = settings(2);
  few.warmup = 1;
  PretrainingModel model = trainable(build_pretraining_model(config, document_tokenizer(), few));
  BOOST_TEST(std::isfinite(run(model).evaluation.loss));
  BOOST_TEST((input(first_batch(model), "tokens").sizes() == Sizes{4, 15}));
}

BOOST_AUTO_TEST_CASE(labels_are_the_masked_tokens) {
  const PretrainingModel model = fresh(Objective::mlm);
  const PackedTexts packed(model.tokenizer, lines(), 16);
  const std::vector<PretrainingRow> rows = {{packed.row(0)}, {packed.row(63)}};
  BOOST_TEST(rows[1].ids.size() == 16u);
  BOOST_TEST(rows[1].ids[0] == model.tokenizer.cls_id());
  const NamedTensors inputs = pretraining_inputs(model, rows, 1, 0);
  const auto picks = input(inputs, "picks").to_vector<std::int32_t>();
  const auto labels = input(inputs, "labels").to_vector<std::int32_t>();
  BOOST_TEST(picks.size() == 32u);
  const auto labelled = std::count_if(labels.begin(), labels.end(), [](int l) { return l >= 0; });
  BOOST_TEST(labelled >= 3);
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (labels[i] < 0) continue;
    const auto at = static_cast<std::size_t>(picks[i]);
    BOOST_TEST(labels[i] == rows[at / 16].ids[at % 16]);
  }
  check_error_message<DataError>([&] { PackedTexts(model.tokenizer, Texts{" "}, 16); },
                                 "there is no text");
  check_error_message<ArgumentError>([&] { PackedTexts(model.tokenizer, lines(), 2); },
                                     "a row needs at least 3 tokens, not 2");
}

BOOST_AUTO_TEST_CASE(pairs_are_padded_up_to_the_context) {
  EncoderConfig config = small();
  config.vocab = kVocab;
  config.token_types = 2;
  config.context = 21;  // not a multiple of the padding granularity
  const PretrainingModel model = trainable(build_pretraining_model(
      config, document_tokenizer(), settings(), {.objective = Objective::mlm_sop}));
  const NamedTensors inputs = first_batch(model);
  const Tensor tokens = input(inputs, "tokens"), mask = input(inputs, "mask");
  BOOST_TEST((tokens.sizes() == Sizes{4, 21} || tokens.sizes() == Sizes{4, 16}));
  const Tensor types = input(inputs, "token_types");
  BOOST_TEST((types.sizes() == tokens.sizes()));
  for (std::int64_t i = 0; i < tokens.numel(); ++i)
    BOOST_TEST((mask.at(i) == 1) == (tokens.at(i) != model.tokenizer.pad_id()));
  Session session(*model.graph, model.store, {.seed = 1});
  BOOST_TEST(std::isfinite(session.run(model.program("train"), inputs)["loss"].item<float>()));
}

BOOST_AUTO_TEST_CASE(losses_match_the_sums_in_the_papers) {
  for (const Objective objective : {Objective::mlm_nsp, Objective::mlm_sop}) {
    const PretrainingModel model = fresh(objective, settings(), 50, 0);
    const NamedTensors inputs = first_batch(model);
    Session session(*model.graph, model.store, {.seed = 1});
    const Results found = session.run(model.program("evaluate"), inputs);
    const float parts = found["loss"].item<float>() + found["pair_loss"].item<float>();
    BOOST_TEST(session.run(model.program("train"), inputs)["loss"].item<float>() == parts,
               boost::test_tools::tolerance(1e-6F));
  }
  // Two runs with the same random numbers but different loss weights determine the two terms of the
  // sum.
  const auto loss = [](double weight) {
    const PretrainingModel model = fresh(Objective::rtd, settings(), weight, 0);
    Session session(*model.graph, model.store, {.seed = 1});
    return session.run(model.program("train"), first_batch(model))["loss"].item<float>();
  };
  const float light = loss(50), heavy = loss(100);
  const float replaced = (heavy - light) / 50, generator = light - 50 * replaced;
  const PretrainingModel model = fresh(Objective::rtd, settings(), 50, 0);
  NamedTensors inputs = first_batch(model);
  inputs.emplace_back("key", key(0));
  Session session(*model.graph, model.store, {.seed = 1});
  const Results found = session.run(model.program("evaluate"), inputs);
  BOOST_TEST(generator == found["loss"].item<float>(), boost::test_tools::tolerance(1e-4F));
  // Evaluation samples different tokens, but before training all replacements are equally hard to
  // detect.
  BOOST_TEST(replaced == found["replaced_loss"].item<float>(), boost::test_tools::tolerance(0.3F));
}

BOOST_AUTO_TEST_CASE(the_discriminator_input_contains_the_tokens_sampled_by_the_generator) {
  const PretrainingModel model = fresh(Objective::rtd);
  NamedTensors inputs = first_batch(model);
  const auto tokens = input(inputs, "tokens").to_vector<std::int32_t>();
  const auto picks = input(inputs, "picks").to_vector<std::int32_t>();
  const auto labels = input(inputs, "labels").to_vector<std::int32_t>();
  std::map<std::size_t, std::int32_t> originals;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (labels[i] >= 0) originals[static_cast<std::size_t>(picks[i])] = labels[i];
  }
  BOOST_TEST(originals.size() >= 6u);
  // All masked tokens are replaced by [MASK], as in the paper.
  for (const auto& [place, label] : originals)
    BOOST_TEST(tokens[place] == model.tokenizer.mask_id());

  Session session(*model.graph, model.store, {.seed = 1});
  std::int64_t right = 0, wrong = 0;
  for (std::int64_t runs = 0; runs < 50; ++runs) {
    NamedTensors fed = inputs;
    fed.emplace_back("key", key(runs));
    const Results found = session.run(model.program("evaluate"), fed);
    const auto seen = found["corrupted"].to_vector<std::int32_t>();
    const auto replaced = found["replaced"].to_vector<std::int32_t>();
    const auto scores = found["scores"].to_vector<float>();
    double loss = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto hidden = originals.find(i);
      const std::int32_t original = hidden == originals.end() ? tokens[i] : hidden->second;
      BOOST_TEST(replaced[i] == (seen[i] == original ? 0 : 1));
      if (hidden == originals.end()) BOOST_TEST(seen[i] == tokens[i]);
      if (hidden != originals.end()) ++(replaced[i] == 1 ? wrong : right);
      const double s = static_cast<double>(scores[i]);
      loss += std::log1p(std::exp(replaced[i] == 1 ? -s : s));
    }
    BOOST_TEST(found["replaced_loss"].item<float>() == loss / static_cast<double>(tokens.size()),
               boost::test_tools::tolerance(1e-5));
  }
  BOOST_TEST(wrong > 0);
  BOOST_TEST(right > 0);  // the generator sometimes samples the original token
}

BOOST_AUTO_TEST_CASE(samples_follow_their_probabilities) {
  Graph graph;
  const Value logits = graph.input("logits", DType::f32, {"rows", 4});
  const Value given = graph.input("key", DType::i64, {2});
  Program draw("draw");
  draw.output("ids", sample_ids(logits, given));
  const std::array<double, 4> shares = {0.5, 0.3, 0.2, 0};
  std::vector<float> values;
  constexpr std::int64_t kRows = 20000;
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (const double share : shares) values.push_back(static_cast<float>(3 + std::log(share)));
  }
  Session session(graph);
  const Tensor rows = Tensor::of({kRows, 4}, values);
  const Tensor ids = session.run(draw, {{"logits", rows}, {"key", key(0)}})["ids"];
  std::array<std::int64_t, 4> counts{};
  for (std::int64_t r = 0; r < kRows; ++r) ++counts.at(static_cast<std::size_t>(ids.at(r)));
  for (std::size_t c = 0; c < 4; ++c) {
    const double expected = shares[c] * kRows;
    BOOST_TEST(std::abs(static_cast<double>(counts[c]) - expected) <=
               4 * std::sqrt(expected * (1 - shares[c])));
  }
  BOOST_TEST(bitwise_equal(session.run(draw, {{"logits", rows}, {"key", key(0)}})["ids"], ids));
  BOOST_TEST(!bitwise_equal(session.run(draw, {{"logits", rows}, {"key", key(1)}})["ids"], ids));
}

BOOST_AUTO_TEST_CASE(sampling_blocks_gradients_and_embeddings_are_shared) {
  EncoderConfig config = small();
  config.vocab = kVocab;
  Graph graph;
  const ReplacedTokenModel model = make_replaced_token_model(Scope(graph), config, 0.5);
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"});
  const MaskedTargets hidden{graph.input("picks", DType::i32, {"picks"}),
                             graph.input("labels", DType::i32, {"picks"})};
  const ReplacedTokens found =
      detect_replaced_tokens(model, {.ids = tokens}, hidden, graph.key("sampling"), Mode::training);
  BOOST_TEST(model.generator.token_table().name() == "embeddings.tokens.weight");
  BOOST_TEST(graph.find_variable("generator.masked_lm.decoder.weight").name() ==
             "embeddings.tokens.weight");
  BOOST_TEST(!graph.has_variable("generator.embeddings.positions.weight"));

  const Value loss = replaced_token_loss(found.logits, found.replaced, {});
  BOOST_CHECK_EXCEPTION(
      replaced_token_loss(found.logits, found.replaced, tokens, Reduction::sum), ArgumentError,
      testing::message_contains({"the reduction of a loss with weighted elements must be "
                                 "Reduction::mean or Reduction::shard_mean"}));
  std::vector<Variable> generator;
  for (const Variable& v : graph.parameters()) {
    if (v.name().starts_with("generator.")) generator.push_back(v);
  }
  BOOST_TEST(generator.size() > 30u);
  for (const Value& gradient : gradients(loss, generator, {.unreachable = Unreachable::zeros})) {
    Program p("p");
    p.output("g", sum(abs(gradient)));
    Session session(graph, {.seed = 1});
    BOOST_TEST(session.run(p, {})["g"].item<float>() == 0);
  }
}

BOOST_AUTO_TEST_CASE(generators_keep_the_number_of_layers_and_scale_the_width) {
  EncoderConfig base;  // ELECTRA-base: the generator has a third of its width
  const EncoderConfig third = generator_config(base, 1.0 / 3);
  BOOST_TEST(third.width == 256);
  BOOST_TEST(third.heads == 4);
  BOOST_TEST(third.inner == 1024);
  BOOST_TEST(third.layers == 12);
  BOOST_TEST(third.embedding_width == 768);
  BOOST_TEST((third.embedding_projection == EmbeddingProjection::after_norm));
  EncoderConfig narrow = base;  // ELECTRA-small: 128-wide embeddings, a quarter of its width
  narrow.width = 256;
  narrow.heads = 4;
  narrow.inner = 1024;
  narrow.embedding_width = 128;
  narrow.embedding_projection = EmbeddingProjection::after_norm;
  BOOST_TEST(generator_config(narrow, 0.25).width == 64);
  BOOST_TEST((generator_config(narrow, 0.5).embedding_projection == EmbeddingProjection::none));
  BOOST_TEST(generator_config(narrow, 1e-3).heads == 1);
  check_error_message<ArgumentError>([&] { generator_config(base, 0); },
                                     "generator_share must be in (0, 1], not 0");
  base.embedding_projection = EmbeddingProjection::before_norm;
  check_error_message<ArgumentError>([&] { generator_config(base, 0.5); },
                                     "embedding_projection must be none or after_norm");
  narrow.conv_kernel = 3;
  narrow.conv_groups = 48;
  check_error_message<ArgumentError>([&] { generator_config(narrow, 0.25); },
                                     "a generator with width 64 cannot have conv_groups 48");
  EncoderConfig other = narrow;
  other.context = 100;
  Graph graph;
  const Encoder first(Scope(graph, "a"), narrow);
  check_error_message<ArgumentError>([&] { Encoder(Scope(graph, "b"), other, first); },
                                     "encoders can share embeddings only if");
}

double metric(const TrainOutcome& outcome, std::string_view name) {
  for (const Metric& m : outcome.evaluation.metrics) {
    if (m.name == name) return m.value;
  }
  BOOST_FAIL(name << " was not measured");
  return 0;
}

BOOST_AUTO_TEST_CASE(every_objective_is_learned_on_a_small_text) {
  TrainSettings s = settings(400);
  s.batch = 16;
  s.lr = 3e-3;
  s.warmup = 20;
  s.eval_every = 100;
  EncoderConfig config = small();
  config.vocab = kVocab;
  config.token_types = 2;
  config.hidden_dropout = 0;
  // Only the discriminator has 4 heads; the generator has one. If the generator were as good as the
  // discriminator, there would be no replaced tokens left to detect.
  config.heads = 4;
  config.width = 32;
  for (const Objective objective : kObjectives) {
    BOOST_TEST_CONTEXT(choice_name(objective)) {
      PretrainingModel model = trainable(
          build_pretraining_model(config, document_tokenizer(), s, {.objective = objective}));
      const TrainOutcome outcome = run(model, 0, 2);
      BOOST_TEST(outcome.evaluation.loss < model.history.validation.front().second);
      if (objective != Objective::rtd) BOOST_TEST(metric(outcome, "masked_accuracy") > 0.5);
      // The words of two sentences determine whether the sentences are adjacent, and in which
      // order.
      if (reads_pairs(objective)) BOOST_TEST(metric(outcome, "pair_accuracy") > 0.85);
      if (objective == Objective::rtd) {
        BOOST_TEST(metric(outcome, "replaced_auc") > 0.85);
        BOOST_TEST(metric(outcome, "replaced_accuracy") > 0.9);
      }
      for (const Metric& m : outcome.evaluation.metrics)
        BOOST_TEST(model.history.metrics.at(m.name).size() == 4u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_classifier_can_be_initialised_from_any_objective) {
  const TextFiles files("objectives");
  for (const Objective objective : kObjectives) {
    const PretrainingModel model = fresh(objective);
    Session(*model.graph, model.store, {.seed = 1}).initialise();
    save_model(files.path("m.weft"), model);
    const Pretrained base = load_pretrained(files.path("m.weft"));
    BOOST_TEST(base.classes.empty());
    const TextClassifier classifier = trainable(build_text_classifier(
        base.config_of<EncoderConfig>(), encoder_tokenizer(base), {"a", "b"}, settings()));
    const LoadReport report =
        load_weights(*classifier.store, *classifier.graph, base.weights, "m.weft");
    // The objectives of BERT and ALBERT also train the pooler.
    BOOST_TEST(report.missing.size() == (reads_pairs(objective) ? 2u : 4u));
    BOOST_TEST(report.loaded.size() == (reads_pairs(objective) ? 39u : 37u));
  }
}

BOOST_AUTO_TEST_CASE(roc_auc_is_the_fraction_of_correctly_ordered_pairs) {
  const std::vector<std::int32_t> labels = {0, 1, 0, 1, 1};
  BOOST_TEST(roc_auc(std::vector<float>{1, 2, 1.5F, 3, 4}, labels) == 1);
  BOOST_TEST(roc_auc(std::vector<float>{1, 1, 1, 1, 1}, labels) == 0.5);
  // Of 6 pairs, 4 are in order: (0.1, 0.4), (0.1, 0.35), (0.1, 0.8), (0.4, 0.8). The tie (0.4, 0.4)
  // counts as half a pair.
  BOOST_TEST(roc_auc(std::vector<float>{0.1F, 0.4F, 0.4F, 0.35F, 0.8F}, labels) == 4.5 / 6,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(std::isnan(roc_auc(std::vector<float>{1}, std::vector<std::int32_t>{1})));
  check_error_message<ArgumentError>([&] { roc_auc(std::vector<float>{1}, labels); },
                                     "there are 1 scores, but 5 labels");
  check_error_message<ArgumentError>(
      [&] { roc_auc(std::vector<float>{1}, std::vector<std::int32_t>{2}); },
      "a label must be 0 or 1, not 2");
  check_error_message<ArgumentError>(
      [&] { roc_auc(std::vector<float>{NAN}, std::vector<std::int32_t>{1}); }, "score 0 is NaN");
}

BOOST_AUTO_TEST_CASE(the_mask_rate_determines_the_number_of_predicted_tokens) {
  EncoderConfig config = small();
  config.vocab = kVocab;
  const auto predicted = [&](double rate) {
    const PretrainingModel model = trainable(
        build_pretraining_model(config, document_tokenizer(), settings(), {.mask_rate = rate}));
    const Tensor labels = input(first_batch(model), "labels");
    const auto all = labels.span<std::int32_t>();
    return std::count_if(all.begin(), all.end(), [](std::int32_t label) { return label >= 0; });
  };
  const std::int64_t few = predicted(0.15), many = predicted(0.6);
  BOOST_TEST(many > 3 * few);
  BOOST_TEST(many < 5 * few);
}

BOOST_AUTO_TEST_CASE(errors_explain_unsupported_objective_settings) {
  EncoderConfig config = small();
  config.vocab = kVocab;
  const auto make = [&](const PretrainingOptions& options) {
    return trainable(build_pretraining_model(config, document_tokenizer(), settings(), options));
  };
  check_error_message<ArgumentError>(
      [&] { make({.objective = Objective::mlm_nsp}); },
      "mlm+nsp distinguishes two segments by their token types: token_types "
      "must be at least 2, not 0");
  check_error_message<ArgumentError>([&] { make({.mask_rate = 0}); },
                                     "mask_rate must be in (0, 1], not 0");
  check_error_message<ArgumentError>([&] { make({.generator_share = 2}); },
                                     "generator_share must be in (0, 1], not 2");
  check_error_message<ArgumentError>([&] { make({.replaced_weight = -1}); },
                                     "replaced_weight must be in (0, 1000000], not -1");
  check_error_message<ArgumentError>(
      [&] { parse_choice<PretrainingObjective>("nsp"); },
      "unknown objective 'nsp': expected one of mlm, mlm+nsp, mlm+sop, rtd");
  check_error_message<FormatError>([] { PretrainingOptions::fields().from_json("{}"); },
                                   "the pre-training options lacks 'objective'");

  const PretrainingModel alone = fresh(Objective::rtd), sop = fresh(Objective::mlm_sop);
  const PretrainingModel nsp = fresh(Objective::mlm_nsp);
  Session session(*alone.graph, alone.store);
  const SentencePairs pairs = sentence_pairs(nsp, documents());
  const PackedTexts texts(alone.tokenizer, lines(), 16);
  check_error_message<ArgumentError>([&] { sentence_pairs(alone, documents()); },
                                     "the objective rtd cannot be trained on pairs of sentences");
  check_error_message<ArgumentError>(
      [&] { pretraining_task(session, alone, pairs, nullptr); },
      "the objective rtd cannot be trained on pairs for next-sentence");
  check_error_message<ArgumentError>(
      [&] { pretraining_task(session, sop, pairs, nullptr); },
      "mlm+sop cannot be trained on pairs for next-sentence prediction");
  check_error_message<ArgumentError>([&] { pretraining_task(session, nsp, texts, nullptr); },
                                     "mlm+nsp cannot be trained on texts without pairs");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
