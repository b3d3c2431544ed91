// Pre-training of encoder-decoders: special symbols, examples for every objective, and resumed
// training runs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/tasks/seq2seq/denoising_task.h"
#include "weft/models/tasks/seq2seq/presets.h"
#include "weft/models/training/preset.h"
#include "weft/models/training/trainable.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(denoising_training)
namespace {

const DenoisingObjective kAll[] = {DenoisingObjective::span_corruption, DenoisingObjective::ul2,
                                   DenoisingObjective::denoising,
                                   DenoisingObjective::gap_sentences};

std::vector<TextDocument> documents() {
  std::vector<TextDocument> result;
  for (int i = 0; i < 12; ++i) {
    result.push_back({"first the ships sail out", "then they come home " + std::to_string(i),
                      "last the sails are taken down", "and the crew sleeps"});
  }
  return result;
}

DenoisingOptions options_for(DenoisingObjective objective) {
  return {.objective = objective, .passage = 40, .mask_rate = 0.1, .delete_rate = 0.1};
}

EncoderDecoderConfig small(DenoisingObjective objective) {
  EncoderDecoderConfig c = find_preset(denoising_presets(), default_preset(objective)).model;
  c.encoder_layers = c.decoder_layers = 1;
  c.width = 16;
  c.encoder_heads = c.decoder_heads = 2;
  c.encoder_inner = c.decoder_inner = 32;
  c.context = 96;
  return c;
}

TrainSettings settings() {
  TrainSettings s = denoising_presets().front().training;
  s.steps = 6;
  s.batch = 160;
  s.warmup = 2;
  s.eval_every = 3;
  s.save_every = 3;
  return s;
}

Tokenizer tokenizer_for(const DenoisingOptions& options) {
  // The vocabulary has 60 pieces in addition to the symbols.
  const auto vocab = 60 + static_cast<std::int64_t>(denoising_symbols(options).size());
  return SentencePieceTokenizer::train(sentences(documents()),
                                       {.vocab = vocab, .symbols = denoising_symbols(options)});
}

Seq2SeqModel new_model(DenoisingObjective objective) {
  const DenoisingOptions options = options_for(objective);
  return trainable(
      build_denoising_model(small(objective), tokenizer_for(options), settings(), options));
}

TrainOutcome run(Seq2SeqModel& model, const std::string& path, std::int64_t stop_after = 0,
                 int threads = 1) {
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  const Passages passages = make_passages(model, documents());
  Trainer trainer(session, denoising_task(session, model, passages, &passages),
                  {.settings = model.settings,
                   .history = model.history,
                   .save =
                       [&](const TrainHistory& history) {
                         model.history = history;
                         save_model(path, model);
                       },
                   .stop_after = stop_after});
  return trainer.run();
}

BOOST_AUTO_TEST_CASE(every_objective_has_the_symbols_it_needs) {
  using O = DenoisingObjective;
  const auto symbols = [](O objective, std::int64_t passage) {
    return denoising_symbols({.objective = objective, .passage = passage});
  };
  BOOST_TEST(symbols(O::span_corruption, 512).size() == 100U);
  BOOST_TEST(symbols(O::span_corruption, 512).front() == "<extra_id_99>");
  BOOST_TEST(symbols(O::span_corruption, 512).back() == "<extra_id_0>");
  BOOST_TEST(symbols(O::span_corruption, 4096).size() == 206U);  // 205 spans
  BOOST_TEST(symbols(O::ul2, 1024).size() == 172U + 3);
  BOOST_TEST(symbols(O::ul2, 128).back() == "[X]");
  BOOST_TEST((symbols(O::gap_sentences, 128) == std::vector<std::string>{"<mask>"}));
  const Tokenizer pieces = tokenizer_for(options_for(O::span_corruption));
  BOOST_TEST(pieces.find("<extra_id_0>") == pieces.find("<extra_id_99>") + 99);
  // Prompts may contain the special symbols.
  const std::vector<std::int32_t> prompt = pieces.encode("the <extra_id_0> sail");
  BOOST_TEST(std::count(prompt.begin(), prompt.end(), pieces.find("<extra_id_0>")) == 1);
}

BOOST_AUTO_TEST_CASE(every_objective_generates_reproducible_examples) {
  using O = DenoisingObjective;
  const std::vector<TokenIds> passage = {{201, 202, 203, 204}, {205, 206}, {201, 202, 205, 207}};
  const TokenIds text = {201, 202, 203, 204, 205, 206, 201, 202, 205, 207};
  for (const O objective : kAll) {
    const DenoisingOptions options{.objective = objective};
    const Tokenizer tokenizer = tokenizer_for(options);
    const Denoiser denoiser(options, tokenizer);
    const std::int64_t end = tokenizer.eos_id();
    bool differs = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const DenoisingExample example = denoiser(passage, seed), again = denoiser(passage, seed);
      BOOST_TEST((example.input == again.input && example.target == again.target));
      BOOST_TEST(example.input.back() == end);
      BOOST_TEST(example.target.back() == end);
      differs = differs || example.input != denoiser(passage, 99).input;
      if (objective == O::denoising)
        BOOST_TEST((TokenIds(example.target.begin(), example.target.end() - 1) == text));
      if (objective == O::gap_sentences) {
        const std::int64_t mask = tokenizer.find("<mask>");
        // 30% of three sentences is about one sentence. The last sentence shares the most tokens
        // with the others, so it is masked.
        BOOST_TEST((example.target == TokenIds{201, 202, 205, 207, end}));
        BOOST_TEST((example.input == TokenIds{201, 202, 203, 204, 205, 206, mask, end}));
      }
    }
    BOOST_TEST(differs == (objective != O::gap_sentences));
  }
  // Apply each type of noise alone.
  const auto noisy = [&](DenoisingOptions options) {
    options.objective = O::denoising;
    return Denoiser(options, tokenizer_for(options))(passage, 3).input;
  };
  const auto none = DenoisingOptions{.permute_sentences = false, .infill_rate = 0};
  auto rotated = none, masked = none, deleted = none, permuted = none;
  rotated.rotate = true;
  TokenIds ids = noisy(rotated);
  BOOST_TEST(ids.size() == 11U);
  BOOST_TEST(std::is_permutation(ids.begin(), ids.end() - 1, text.begin()));
  masked.mask_rate = 0.5;
  BOOST_TEST(noisy(masked).size() == 11U);
  deleted.delete_rate = 0.5;
  BOOST_TEST(noisy(deleted).size() < 11U);
  permuted.permute_sentences = true;
  ids = noisy(permuted);
  BOOST_TEST(std::is_permutation(ids.begin(), ids.end() - 1, text.begin()));
}

BOOST_AUTO_TEST_CASE(options_round_trip_through_json_and_are_validated) {
  for (const DenoisingObjective objective : kAll) {
    const DenoisingOptions options = options_for(objective);
    BOOST_TEST((DenoisingOptions::fields().from_json(DenoisingOptions::fields().to_json(options)) ==
                options));
  }
  const auto rejects = [](DenoisingOptions options, const std::string& message) {
    check_error_message<ArgumentError>([&] { options.check(); }, message);
  };
  rejects({.passage = 4}, "passage must be in [8, 1048576], not 4");
  rejects({.mean_span = 0.5}, "mean_span must be in [1, 1000], not 0.5");
  rejects({.density = 1}, "density must be in (0, 1), not 1");
  rejects({.infill_rate = -0.5}, "infill_rate must be in [0, 1), not -0.5");
  rejects({.mask_rate = 1}, "mask_rate must be in [0, 1), not 1");
  rejects({.delete_rate = 2}, "delete_rate must be in [0, 1), not 2");
  rejects({.gap_ratio = 0}, "gap_ratio must be in (0, 1), not 0");
  rejects(
      {.objective = DenoisingObjective::denoising, .permute_sentences = false, .infill_rate = 0},
      "the denoising options enable no noise");
  check_error_message<ArgumentError>(
      [] { (void)DenoisingOptions::fields().from_json(R"({"objective": "t5"})"); },
      "unknown objective 't5': expected one of span-corruption, ul2, denoising, "
      "gap-sentences");
  check_error_message<FormatError>([] { (void)DenoisingOptions::fields().from_json("{}"); },
                                   "lacks 'objective'");
}

BOOST_AUTO_TEST_CASE(a_resumed_pre_training_run_is_bit_exact) {
  const TextFiles files("denoising");
  for (const DenoisingObjective objective : kAll) {
    BOOST_TEST_CONTEXT(choice_name(objective)) {
      Seq2SeqModel straight = new_model(objective);
      const TrainOutcome whole = run(straight, files.path("a.weft"));
      BOOST_TEST(std::isfinite(whole.evaluation.loss));
      BOOST_TEST(whole.evaluation.metrics.at(0).name == "perplexity");
      Seq2SeqModel first = new_model(objective);
      BOOST_TEST(run(first, files.path("b.weft"), 2, 2).stopped);
      Seq2SeqModel second = load_model<Seq2SeqModel>(files.path("b.weft"));
      BOOST_TEST((second.denoising == first.denoising));
      const TrainOutcome resumed = run(second, files.path("b.weft"), 0, 3);
      BOOST_TEST(resumed.evaluation.loss == whole.evaluation.loss);
      BOOST_TEST((second.history.train == straight.history.train));

      Session session(*second.graph, second.store, {.seed = 1});
      const Passages passages = make_passages(second, documents());
      const std::vector<Denoised> shown = denoise(session, second, passages, 3);
      BOOST_TEST(shown.size() == 3U);
      for (const Denoised& one : shown) {
        BOOST_TEST(!one.input.empty());
        BOOST_TEST(!one.target.empty());
      }
      BOOST_TEST(denoise(session, second, passages, 3).at(1).input == shown[1].input);
    }
  }
}

BOOST_AUTO_TEST_CASE(pre_training_reduces_the_loss_on_masked_spans) {
  const DenoisingOptions options = options_for(DenoisingObjective::span_corruption);
  TrainSettings longer = settings();
  longer.steps = 80;
  longer.warmup = 40;
  Seq2SeqModel model = trainable(
      build_denoising_model(small(options.objective), tokenizer_for(options), longer, options));
  Session session(*model.graph, model.store, {.seed = 1, .threads = 2});
  const Passages passages = make_passages(model, documents());
  const TrainTask task = denoising_task(session, model, passages, &passages);
  const double before = task.evaluate(true).loss;
  for (std::int64_t step = 0; step < 80; ++step)
    session.run(model.program("train"), task.batch(step).inputs);
  const double after = task.evaluate(true).loss;
  BOOST_TEST(after < 0.7 * before);
  BOOST_TEST(task.evaluate(true).loss == after);
}

BOOST_AUTO_TEST_CASE(unsuitable_models_are_rejected) {
  const DenoisingOptions spans = options_for(DenoisingObjective::span_corruption);
  const DenoisingOptions noise = options_for(DenoisingObjective::denoising);
  const Tokenizer with_mask = tokenizer_for(noise);
  check_error_message<ArgumentError>(
      [&] {
        trainable(build_denoising_model(small(spans.objective), with_mask, settings(), spans));
      },
      "span-corruption needs the symbol <extra_id_0>, which the tokenizer does not have");
  EncoderDecoderConfig narrow = small(noise.objective);
  narrow.context = 40;
  check_error_message<ArgumentError>(
      [&] { trainable(build_denoising_model(narrow, with_mask, settings(), noise)); },
      "context must be greater than passage (40), to leave room for the end id, but is 40");
  check_error_message<ArgumentError>(
      [&] {
        trainable(build_denoising_model(small(noise.objective),
                                        Tokenizer(CharacterTokenizer::from_text("ab")), settings(),
                                        noise));
      },
      "the tokenizer has no end-of-text id");
  Seq2SeqModel pairs = trainable(build_translator(small(noise.objective), with_mask, settings()));
  check_error_message<ArgumentError>([&] { (void)make_passages(pairs, documents()); },
                                     "was trained on text pairs");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
