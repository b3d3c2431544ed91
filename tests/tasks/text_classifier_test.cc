// Fine-tuning of encoders as text classifiers: bit-exact resumed runs, loading and freezing of
// weights, layer-wise learning rates, and classification with the trained model.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "small_encoder.h"
#include "weft/core/error.h"
#include "weft/models/families/encoder.h"
#include "weft/models/tasks/common/encoder_presets.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tasks/text_classification/presets.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/training/fine_tune.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(text_classifier)
namespace {

TrainOutcome run(TextClassifier& model, std::int64_t stop_after = 0, int threads = 1) {
  const LabelledText texts = data();
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, text_classifier_task(session, model, texts, &texts),
                  {.settings = model.settings,
                   .history = model.history,
                   .save = [&](const TrainHistory& history) { model.history = history; },
                   .stop_after = stop_after});
  return trainer.run();
}

BOOST_AUTO_TEST_CASE(classifiers_learn_and_resumed_runs_are_bit_exact) {
  const TextFiles files("classifier");
  const auto fresh = [] {
    return trainable(build_text_classifier(small(), tokenizer(), {"ham", "spam"}, settings(40)));
  };
  TextClassifier straight = fresh();
  const TrainOutcome whole = run(straight);
  BOOST_TEST(whole.evaluation.metrics[0].value == 1);  // accuracy
  BOOST_TEST(whole.evaluation.metrics[1].value == 1);  // F1 for spam

  TextClassifier first = fresh();
  run(first, 17, 2);
  save_model(files.path("c.weft"), first);
  TextClassifier second = load_model<TextClassifier>(files.path("c.weft"));
  run(second, 0, 3);
  check_same_weights(straight, second);

  save_model(files.path("d.weft"), second);
  const TextClassifier loaded = load_model<TextClassifier>(files.path("d.weft"));
  BOOST_TEST(loaded.classes == (Texts{"ham", "spam"}), boost::test_tools::per_element());
  const Texts texts = {"free prize, call now", "see you at home", ""};
  const std::vector<Classified> found = classify(loaded, texts, 1);
  BOOST_TEST(found[0].label == 1);
  BOOST_TEST(found[1].label == 0);
  BOOST_TEST(found[0].probabilities[0] + found[0].probabilities[1] == 1,
             boost::test_tools::tolerance(1e-5));
  // The result for a text depends neither on padding nor on the other texts in the batch.
  const Texts alone = {texts[1]};
  BOOST_TEST(classify(loaded, alone, 1)[0].probabilities[1] == found[1].probabilities[1],
             boost::test_tools::tolerance(1e-4));
  const std::string svg = attention_svg(loaded, texts[0]);
  BOOST_TEST(svg.find("layers.1.attention, head 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_head_determines_how_texts_are_read_and_is_saved) {
  const TextFiles files("head");
  for (const Summary summary : {Summary::mean, Summary::max}) {
    EncoderConfig config = small();
    config.norm_first = true;
    const ClassifierHead head{.summary = summary, .lower_case = true, .word_dropout = 0.3};
    TextClassifier model =
        trainable(build_text_classifier(config, tokenizer(), {"ham", "spam"}, settings(40), head));
    BOOST_TEST(run(model).evaluation.metrics[0].value == 1);
    BOOST_TEST(!model.store->contains("pooler.weight"));
    save_model(files.path("h.weft"), model);
    const TextClassifier loaded = load_model<TextClassifier>(files.path("h.weft"));
    BOOST_TEST((loaded.head == head));
    const Texts texts = {"free prize, call now", "FREE Prize, cAlL now",
                         "see you at home then see you at home"};
    const std::vector<Classified> found = classify(loaded, texts, 1);
    BOOST_TEST(found[0].label == 1);
    BOOST_TEST(found[2].label == 0);
    BOOST_TEST(found[0].log_probabilities == found[1].log_probabilities,
               boost::test_tools::per_element());
    // The result for a text depends neither on padding nor on the other texts in the batch.
    const Texts alone = {texts[0]};
    BOOST_TEST(classify(loaded, alone, 1)[0].probabilities[1] == found[0].probabilities[1],
               boost::test_tools::tolerance(1e-4));
  }
  check_error_message<ArgumentError>(
      [] {
        trainable(build_text_classifier(small(), tokenizer(), {"a", "b"}, settings(),
                                        {.word_dropout = 1}));
      },
      "word_dropout must be in [0, 1)");
}

BOOST_AUTO_TEST_CASE(words_are_masked_only_in_training_and_differently_in_every_step) {
  const LabelledText texts = data();
  TextClassifier model = trainable(build_text_classifier(small(), tokenizer(), {"ham", "spam"},
                                                         settings(), {.word_dropout = 0.5}));
  Session session(*model.graph, model.store, {.seed = 1});
  const TrainTask task = text_classifier_task(session, model, texts, &texts);
  const auto tokens = [&](std::int64_t step, double rate) {
    model.head.word_dropout = rate;
    return task.batch(step).inputs.front().second;
  };
  std::int64_t hidden = 0, shown = 0;
  for (std::int64_t step = 0; step < 16; ++step) {
    const Tensor all = tokens(step, 0), some = tokens(step, 0.5);
    BOOST_TEST(bitwise_equal(some, tokens(step, 0.5)));  // the batch depends only on the step
    for (std::int64_t i = 0; i < all.numel(); ++i) {
      const auto id = static_cast<std::int32_t>(all.at(i));
      if (some.at(i) == all.at(i)) {
        shown += model.tokenizer.is_special(id) ? 0 : 1;
      } else {
        BOOST_TEST(some.at(i) == model.tokenizer.unk_id());
        BOOST_TEST(!model.tokenizer.is_special(id));
        ++hidden;
      }
    }
  }
  const double share = static_cast<double>(hidden) / static_cast<double>(hidden + shown);
  BOOST_TEST(std::abs(share - 0.5) < 0.1);
}

/// Returns the slice of `tensor` that belongs to the ensemble member `member`. The slice has the
/// given `sizes`, which are smaller along one axis.
Tensor part_of_member(const Tensor& tensor, const Sizes& sizes, std::int64_t member) {
  if (tensor.sizes() == sizes) return tensor;
  std::vector<float> values;
  const std::int64_t columns = sizes.back(), all_columns = tensor.size(-1);
  const bool rows = columns == all_columns;
  const std::int64_t count = num_elements(sizes);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = i / columns, column = i % columns;
    values.push_back(static_cast<float>(
        tensor.at(rows ? member * count + i : row * all_columns + member * columns + column)));
  }
  return Tensor::of(sizes, values);
}

BOOST_AUTO_TEST_CASE(ensemble_members_train_independently_and_their_logits_are_averaged) {
  EncoderConfig config = small();
  config.layers = 0;
  config.norm_first = true;
  config.positions = EncoderPositions::none;
  config.conv_kernel = 3;
  config.hidden_dropout = 0;
  EncoderConfig all_config = config;
  all_config.width = 3 * config.width;
  all_config.conv_groups = 3;
  TrainSettings one_settings = settings(12);
  one_settings.optimizer = Optimizer::sgd;
  one_settings.beta1 = 0;
  one_settings.weight_decay = 0;
  one_settings.clip = 0;
  one_settings.lr = 0.5;
  TrainSettings all_settings = one_settings;
  all_settings.lr *= 3;  // the loss is the mean over the members
  // The bias is shared by all members, so it must be frozen for this comparison.
  const FineTuneOptions options{.freeze = {"classifier.bias"}};
  const std::vector<std::string> classes = {"ham", "spam"};
  TextClassifier all =
      trainable(build_text_classifier(all_config, tokenizer(), classes, all_settings,
                                      {.summary = Summary::max, .members = 3}),
                options);
  Session(*all.graph, all.store, {.seed = 5}).initialise();
  std::vector<TextClassifier> alone;
  for (std::int64_t member = 0; member < 3; ++member) {
    alone.push_back(trainable(build_text_classifier(config, tokenizer(), classes, one_settings,
                                                    {.summary = Summary::max}),
                              options));
    Session session(*alone.back().graph, alone.back().store);
    session.initialise();
    for (const Variable& parameter : alone.back().graph->parameters()) {
      const std::string name(parameter.name());
      session.set_value(
          name, part_of_member(all.store->tensor(name), session.value(name).sizes(), member));
    }
  }
  run(all);
  for (TextClassifier& model : alone) run(model);

  const auto loss = [](const TextClassifier& model, std::size_t step) {
    return model.history.train.at(step).second;
  };
  for (const std::size_t step : {0u, 11u}) {
    BOOST_TEST(
        loss(all, step) == (loss(alone[0], step) + loss(alone[1], step) + loss(alone[2], step)) / 3,
        boost::test_tools::tolerance(1e-4));
  }
  BOOST_TEST(loss(all, 11) < loss(all, 0) - 0.1);
  const Texts text = {"free prize, call now"};
  double logit = 0;
  for (std::int64_t member = 0; member < 3; ++member) {
    const TextClassifier& model = alone[static_cast<std::size_t>(member)];
    for (const Variable& parameter : model.graph->parameters()) {
      const std::string name(parameter.name());
      const Tensor own = model.store->tensor(name);
      const Tensor part = part_of_member(all.store->tensor(name), own.sizes(), member);
      BOOST_TEST_CONTEXT(name << " of member " << member) {
        for (std::int64_t i = 0; i < own.numel(); ++i)
          BOOST_TEST(std::abs(own.at(i) - part.at(i)) < 1e-4);
      }
    }
    const auto logs = classify(model, text, 1)[0].log_probabilities;
    logit += (logs[1] - logs[0]) / 3;
  }
  const auto logs = classify(all, text, 1)[0].log_probabilities;
  BOOST_TEST(logs[1] - logs[0] == logit, boost::test_tools::tolerance(1e-3));

  BOOST_TEST(
      ClassifierHead::fields()
          .from_json(
              R"({"summary": "max", "lower_case": true, "word_dropout": 0, "by_length": true})")
          .members == 1);  // the default for files from earlier versions
  check_error_message<ArgumentError>(
      [&] {
        trainable(build_text_classifier(config, tokenizer(), classes, settings(), {.members = 3}));
      },
      "members must be a divisor of width (16), not 3");
  check_error_message<ArgumentError>(
      [&] {
        trainable(build_text_classifier(config, tokenizer(), classes, settings(), {.members = 0}));
      },
      "members must be at least 1");
}

BOOST_AUTO_TEST_CASE(batches_contain_texts_of_similar_length_and_omit_none) {
  LabelledText texts{{}, {}, {"ham", "spam"}};
  for (int i = 0; i < 64; ++i) {  // one epoch has 16 batches
    texts.texts.push_back(std::string("see you at home then see").substr(0, 1 + i % 24));
    texts.labels.push_back(i % 2);
  }
  TextClassifier model = trainable(build_text_classifier(small(), tokenizer(), {"ham", "spam"},
                                                         settings(), {.by_length = true}));
  Session session(*model.graph, model.store, {.seed = 1});
  const TrainTask task = text_classifier_task(session, model, texts, &texts);
  const auto tokens = [&](std::int64_t first) {  // statistics over 16 batches
    std::vector<double> all, spread;
    for (std::int64_t step = first; step < first + 16; ++step) {
      const Tensor mask = task.batch(step).inputs[1].second;
      std::vector<double> lengths;
      for (std::int64_t r = 0; r < mask.size(0); ++r) {
        double length = 0;
        for (std::int64_t t = 0; t < mask.size(1); ++t) length += mask.at(r * mask.size(1) + t);
        lengths.push_back(length);
      }
      const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
      spread.push_back(*most - *least);
      all.insert(all.end(), lengths.begin(), lengths.end());
    }
    std::sort(all.begin(), all.end());
    return std::pair{all, *std::max_element(spread.begin(), spread.end())};
  };
  const auto [by_length, spread] = tokens(0);
  BOOST_TEST(tokens(16).first == by_length, boost::test_tools::per_element());
  model.head.by_length = false;
  const auto [drawn, wide] = tokens(0);
  BOOST_TEST(drawn == by_length, boost::test_tools::per_element());  // the same set of texts
  BOOST_TEST(spread < wide);
}

BOOST_AUTO_TEST_CASE(steps_depend_on_the_number_of_texts_unless_a_preset_fixes_them) {
  const auto& presets = text_classifier_presets();
  const auto steps = [&](std::int64_t texts, std::int64_t batch) {
    const TrainSettings found = presets.front().training_for(texts, batch);
    found.check();
    BOOST_TEST(found.eval_every == found.steps / 10);
    return found.steps;
  };
  BOOST_TEST(steps(10, 32) == 400);            // few texts, many passes
  BOOST_TEST(steps(2400, 32) == 1050);         // 14 passes
  BOOST_TEST(steps(2400, 16) == 2100);         // 14 passes with smaller batches
  BOOST_TEST(steps(100'000, 32) == 12'800);    // 4 passes
  BOOST_TEST(steps(1'000'000, 32) == 93'750);  // 3 passes
  BOOST_TEST(find_preset(presets, "bert-mini").training_for(10, 32).steps == 220);
  BOOST_TEST(default_encoder_preset(false) == presets.front().name);
  BOOST_TEST((find_preset(presets, "bert-mini").head == ClassifierHead()));
  // Ensemble members are independent models, so no member reads the features of another one.
  BOOST_TEST(presets.front().head.members == presets.front().model.conv_groups);
}

BOOST_AUTO_TEST_CASE(long_texts_are_truncated_and_periodic_evaluations_are_limited) {
  EncoderConfig config = small();
  config.context = 19;  // not a multiple of the padding granularity
  TextClassifier model =
      trainable(build_text_classifier(config, tokenizer(), {"ham", "spam"}, settings()));
  const LabelledText texts = data();
  Session session(*model.graph, model.store, {.seed = 1});
  session.initialise();
  const Texts shown = {"win a free prize now call see you at home then win a free prize now call"};
  BOOST_TEST(classify(session, model, shown, ignore_truncation()).size() == 1u);
  BOOST_CHECK_THROW(classify(session, model, shown), TextError);
  // A periodic evaluation over two batches differs from a full evaluation. If more batches are
  // requested than exist, all batches are evaluated.
  model.settings.eval_batches = 2;
  const TrainTask task = text_classifier_task(session, model, texts, &texts);
  const double whole = task.evaluate(true).loss;
  BOOST_TEST(task.evaluate(false).loss != whole);
  model.settings.eval_batches = 100;
  BOOST_TEST(task.evaluate(false).loss == whole);
  model.settings.eval_batches = 0;
  BOOST_TEST(task.evaluate(false).loss == whole);
}

BOOST_AUTO_TEST_CASE(a_classifier_is_initialised_from_a_pretrained_encoder) {
  const TextFiles files("start");
  const PretrainingModel base =
      trainable(build_pretraining_model(small(), tokenizer(), settings(3)));
  Session(*base.graph, base.store, {.seed = 1}).initialise();
  save_model(files.path("base.weft"), base);
  const Pretrained loaded = load_pretrained(files.path("base.weft"));
  BOOST_TEST((loaded.config_of<EncoderConfig>() == base.config));

  TextClassifier model =
      trainable(build_text_classifier(small(), tokenizer(), {"a", "b"}, settings()));
  const LoadReport report = load_weights(*model.store, *model.graph, loaded.weights, "base.weft");
  BOOST_TEST(report.missing ==
                 (Texts{"pooler.weight", "pooler.bias", "classifier.weight", "classifier.bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(report.loaded.size() > 30u);
  BOOST_TEST(std::count(report.unexpected.begin(), report.unexpected.end(), "masked_lm.bias") == 1);
  BOOST_TEST(report.str().find("4 new: pooler.weight, pooler.bias, classifier.weight") !=
             std::string::npos);
  Session session(*model.graph, model.store);
  session.initialise();
  BOOST_TEST(bitwise_equal(session.value("layers.1.attention.query.weight"),
                           base.store->tensor("layers.1.attention.query.weight")));

  // Reinitialise some parameters although the file contains them.
  TextClassifier newly_initialised =
      trainable(build_text_classifier(small(), tokenizer(), {"a", "b"}, settings()));
  const LoadReport partly = load_weights(*newly_initialised.store, *newly_initialised.graph,
                                         loaded.weights, "base.weft", {"layers.1.*"});
  BOOST_TEST(partly.missing == report.missing, boost::test_tools::per_element());
  BOOST_TEST(partly.reinitialised.size() == 16u);
  BOOST_TEST(partly.newly_initialised().size() == report.missing.size() + 16);
  BOOST_TEST(partly.unexpected == report.unexpected, boost::test_tools::per_element());

  EncoderConfig other = small();
  other.context = 32;
  TextClassifier misfit =
      trainable(build_text_classifier(other, tokenizer(), {"a", "b"}, settings()));
  check_error_message<FormatError>(
      [&] { load_weights(*misfit.store, *misfit.graph, loaded.weights, "base.weft"); },
      "the tensors of base.weft do not match the model:\n  mismatched: "
      "'embeddings.positions.weight' is f32[16, 16], but the variable is f32[32, 16]");
  check_error_message<FormatError>(
      [&] {
        load_weights(*misfit.store, *misfit.graph, {{"x", Tensor::scalar(DType::f32, 1)}},
                     "f.weft");
      },
      "f.weft has no tensor for the model; it contains x");
}

BOOST_AUTO_TEST_CASE(frozen_parameters_do_not_change_and_lower_layers_learn_more_slowly) {
  TextClassifier model =
      trainable(build_text_classifier(small(), tokenizer(), {"ham", "spam"}, settings(4)),
                {.freeze = {"embeddings.*", "layers.0.*"}, .layer_lr_decay = 0.5});
  {
    Session session(*model.graph, model.store, {.seed = model.settings.seed});
    session.initialise();
  }
  const Tensor tokens = model.store->tensor("embeddings.tokens.weight").clone();
  const Tensor lower = model.store->tensor("layers.0.feed_forward.up.weight").clone();
  const Tensor upper = model.store->tensor("layers.1.feed_forward.up.weight").clone();
  run(model);
  BOOST_TEST(bitwise_equal(model.store->tensor("embeddings.tokens.weight"), tokens));
  BOOST_TEST(bitwise_equal(model.store->tensor("layers.0.feed_forward.up.weight"), lower));
  BOOST_TEST(!bitwise_equal(model.store->tensor("layers.1.feed_forward.up.weight"), upper));
  BOOST_TEST(!model.store->contains("optimizer.m.layers.0.feed_forward.up.weight"));

  Graph graph;
  const Encoder encoder(Scope(graph), small());
  graph.variable("classifier.weight", DType::f32, {2, 16});
  const std::vector<ParameterGroup> groups = learning_rate_groups(graph, 0.5);
  BOOST_TEST(groups.size() == 4u);
  BOOST_TEST(groups[0].learning_rate_scale == 0.125);
  BOOST_TEST(groups[0].parameters.front().name() == "embeddings.tokens.weight");
  BOOST_TEST(groups[1].learning_rate_scale == 0.25);
  BOOST_TEST(groups[2].parameters.front().name() == "layers.1.attention.query.weight");
  BOOST_TEST(groups[3].learning_rate_scale == 1);
  BOOST_TEST(groups[3].parameters.back().name() == "classifier.weight");
  check_error_message<ArgumentError>([&] { learning_rate_groups(graph, 0); },
                                     "layer_lr_decay must be in (0, 1]");
  check_error_message<ArgumentError>(
      [&] { freeze(graph, {"decoder.*"}); },
      "no parameter matches 'decoder.*'; existing parameters: embeddings.tokens");
}

BOOST_AUTO_TEST_CASE(mismatched_arguments_are_rejected) {
  const TextFiles files("refused");
  EncoderConfig config = small();
  config.vocab = 59;
  check_error_message<ArgumentError>(
      [&] { trainable(build_pretraining_model(config, tokenizer(), settings())); },
      "the model has 59 vocabulary entries and padding id 0, but the tokenizer has");
  check_error_message<ArgumentError>(
      [&] { trainable(build_text_classifier(small(), tokenizer(), {"one"}, settings())); },
      "a classifier needs at least two classes, not 1");
  const PretrainingModel model =
      trainable(build_pretraining_model(small(), tokenizer(), settings(3)));
  Session(*model.graph, model.store, {.seed = 1}).initialise();
  save_model(files.path("m.weft"), model);
  check_error_message<FormatError>([&] { load_model<TextClassifier>(files.path("m.weft")); },
                                   "holds no text classifier: the program 'classify' is missing");
  check_error_message<FormatError>([&] { load_model<LanguageModel>(files.path("m.weft")); },
                                   "the configuration type is 'weft.config.encoder'");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
