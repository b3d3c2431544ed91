// Translators: character and subword tokenizers, resumed training runs, files, translation,
// cross-attention maps.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/formats/reversal.h"
#include "weft/models/tasks/seq2seq/presets.h"
#include "weft/models/tasks/seq2seq/translator_task.h"
#include "weft/models/training/trainable.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(translator)
namespace {

using testing::says;

class Files {
 public:
  Files()
      : folder_(std::filesystem::temp_directory_path() /
                ("weft_translator_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

Tokenizer letters() { return Tokenizer(CharacterTokenizer::from_text("abcd")).with_ends(); }

TextPairSplit data() {
  return split_by_source(
      reversal_pairs(120, 1, {.alphabet = "abcd", .min_length = 1, .max_length = 6}), 0.15, 1);
}

EncoderDecoderConfig small() {
  EncoderDecoderConfig c = find_preset(translator_presets(), "reversal").model;
  c.encoder_layers = c.decoder_layers = 1;
  c.width = 16;
  c.encoder_heads = c.decoder_heads = 2;
  c.encoder_inner = c.decoder_inner = 32;
  c.dropout = 0.1;
  c.label_smoothing = 0.1;
  return c;
}

TrainSettings settings() {
  TrainSettings s = find_preset(translator_presets(), "reversal").training;
  s.steps = 10;
  s.batch = 64;
  s.warmup = 2;
  s.eval_every = 4;
  s.save_every = 3;
  return s;
}

TrainOutcome run(Seq2SeqModel& model, const std::string& path, std::int64_t stop_after = 0,
                 int threads = 1) {
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  TranslatorData pairs(data(), model, exact_match_metric);
  Trainer trainer(session, translator_task(session, model, pairs),
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

BOOST_AUTO_TEST_CASE(character_tokenizers_append_the_end_id) {
  const Tokenizer tokenizer = letters();
  BOOST_TEST(tokenizer.vocab_size() == 6);
  BOOST_TEST(tokenizer.reads_characters());
  const std::vector<std::int32_t> ids = tokenizer.encode_to_end("bad");
  BOOST_TEST((ids == std::vector<std::int32_t>{3, 2, 5, 1}));
  BOOST_TEST(tokenizer.decode_to_end(std::vector<std::int64_t>{3, 0, 2, 1, 5}) == "ba");
  BOOST_TEST(tokenizer.piece(3) == "b");
  BOOST_TEST(tokenizer.piece(0) == "<pad>");
  BOOST_TEST(tokenizer.piece(1) == "</s>");
  const auto again = Tokenizer::from_bytes(tokenizer.type(), tokenizer.bytes());
  BOOST_TEST((again.encode_to_end("bad") == ids));
  BOOST_CHECK_EXCEPTION(tokenizer.encode("x"), DataError, says("'x'"));
  BOOST_CHECK_EXCEPTION(Tokenizer::from_bytes("weft.tokenizer.words", ""), FormatError,
                        says("unknown tokenizer type 'weft.tokenizer.words'; known types are"));
}

BOOST_AUTO_TEST_CASE(subword_tokenizers_append_the_end_id) {
  const std::vector<std::string> texts = {"the dog and the cat", "the cat and the dog",
                                          "hunden och katten"};
  const Tokenizer tokenizer(SentencePieceTokenizer::train(texts, {.vocab = 30}));
  BOOST_TEST(!tokenizer.reads_characters());
  const std::vector<std::int32_t> ids = tokenizer.encode_to_end("the cat och hunden");
  BOOST_TEST(ids.back() == tokenizer.eos_id());
  BOOST_TEST(tokenizer.decode_to_end(std::vector<std::int64_t>(ids.begin(), ids.end())) ==
             "the cat och hunden");
  BOOST_TEST(tokenizer.piece(ids.front()).starts_with("\u2581"));
  const auto again = Tokenizer::from_bytes(tokenizer.type(), tokenizer.bytes());
  BOOST_TEST((again.encode_to_end("the cat och hunden") == ids));
}

BOOST_AUTO_TEST_CASE(a_resumed_translator_run_is_bit_exact) {
  const Files files;
  Seq2SeqModel straight = trainable(build_translator(small(), letters(), settings()));
  const TrainOutcome whole = run(straight, files.path("a.weft"));
  BOOST_TEST(whole.step == 10);
  BOOST_TEST(std::isfinite(whole.evaluation.loss));
  BOOST_TEST(whole.evaluation.metrics.size() == 2U);
  BOOST_TEST(whole.evaluation.metrics[0].name == "perplexity");
  BOOST_TEST(std::abs(whole.evaluation.metrics[0].value - std::exp(whole.evaluation.loss)) < 1e-9);
  BOOST_TEST(whole.evaluation.metrics[1].name == "exact match");
  BOOST_TEST(straight.history.metrics.at("perplexity").size() == 3U);  // steps 4, 8, 10

  Seq2SeqModel first = trainable(build_translator(small(), letters(), settings()));
  BOOST_TEST(run(first, files.path("b.weft"), 5, 2).stopped);
  Seq2SeqModel second = load_model<Seq2SeqModel>(files.path("b.weft"));
  BOOST_TEST((second.config == first.config));
  BOOST_TEST((second.settings == first.settings));
  const TrainOutcome resumed = run(second, files.path("b.weft"), 0, 3);
  BOOST_TEST(resumed.step == 10);
  BOOST_TEST(resumed.evaluation.loss == whole.evaluation.loss);
  BOOST_TEST((second.history.train == straight.history.train));
  int compared = 0;
  for (const std::string& name : straight.store->names()) {
    if (straight.store->kind(name) == VariableKind::cache) continue;
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(bitwise_equal(straight.store->tensor(name), second.store->tensor(name)));
    }
    ++compared;
  }
  BOOST_TEST(compared > 60);
}

BOOST_AUTO_TEST_CASE(padding_does_not_change_the_loss) {
  Seq2SeqModel model = trainable(build_translator(small(), letters(), settings()));
  Session session(*model.graph, model.store, {.seed = 4, .threads = 1});
  const auto loss = [&](std::int64_t length) {
    Tensor source = Tensor::full(DType::i32, {1, length}, 0);
    Tensor labels = Tensor::full(DType::i32, {1, length}, -100);
    for (int i = 0; i < 4; ++i) {
      source.mutable_data<std::int32_t>()[i] = i < 3 ? 2 + i : 1;
      labels.mutable_data<std::int32_t>()[i] = i < 3 ? 4 - i : 1;
    }
    return session.run(model.program("evaluate"), {{"source", source}, {"labels", labels}})["loss"]
        .item<float>();
  };
  BOOST_TEST(std::abs(loss(4) - loss(9)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(translations_do_not_depend_on_the_rest_of_the_batch) {
  const Files files;
  Seq2SeqModel model = trainable(build_translator(small(), letters(), settings()));
  run(model, files.path("m.weft"));
  Session session(*model.graph, model.store, session_options(model));
  const std::vector<std::string> texts = {"abcd", "d", "", "bbbbbbbbbbbb", "cab", "dcba"};
  const std::vector<std::string> all = translate(session, model, texts, {.batch = 2});
  BOOST_TEST(all.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    BOOST_TEST(translate(session, model, {texts[i]}).front() == all[i]);
  BOOST_TEST(translate(session, model, texts, {.beams = 3}).size() == texts.size());
  BOOST_TEST(translate(session, model, {}).empty());
  const Seq2SeqModel loaded = load_model<Seq2SeqModel>(files.path("m.weft"));
  Session other(*loaded.graph, loaded.store);
  BOOST_TEST(translate(other, loaded, texts) == all, boost::test_tools::per_element());
  BOOST_CHECK_EXCEPTION(translate(session, model, texts, {.batch = 0}), ArgumentError,
                        says("batch must be at least 1, not 0"));
  BOOST_CHECK_EXCEPTION(translate(session, model, {"xyz"}), DataError, says("'x'"));
}

BOOST_AUTO_TEST_CASE(cross_attention_map_rows_are_probability_distributions) {
  const Files files;
  Seq2SeqModel model = trainable(build_translator(small(), letters(), settings()));
  run(model, files.path("m.weft"));
  const Seq2SeqModel loaded = load_model<Seq2SeqModel>(files.path("m.weft"));
  for (const Seq2SeqModel* one : {&std::as_const(model), &loaded}) {
    Session session(*one->graph, one->store);
    const CrossAttention found = cross_attention(session, *one, "abc", "cb");
    BOOST_TEST((found.source == std::vector<std::string>{"a", "b", "c", "</s>"}));
    BOOST_TEST((found.target == std::vector<std::string>{"c", "b", "</s>"}));
    BOOST_TEST(found.layers.size() == 1U);
    BOOST_TEST((found.layers[0].sizes() == Sizes{2, 3, 4}));
    for (int row = 0; row < 6; ++row) {
      double sum = 0;
      for (int i = 0; i < 4; ++i)
        sum += static_cast<double>(found.layers[0].data<float>()[row * 4 + i]);
      BOOST_TEST(std::abs(sum - 1) < 1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(texts_longer_than_the_learned_positions_are_truncated) {
  const Files files;
  EncoderDecoderConfig config = small();
  config.positions = Seq2SeqPositions::learned;
  config.context = 5;
  Seq2SeqModel model = trainable(build_translator(config, letters(), settings()));
  const EncodedPairs pairs =
      encode_pairs({{"abcd", "dcba"}, {"abcdab", "ba"}, {"ab", "badcbadc"}}, model);
  BOOST_TEST(pairs.cut_sources == 1);
  BOOST_TEST(pairs.cut_targets == 1);
  const auto text = [&](const std::vector<std::int32_t>& ids) {
    std::string pieces;
    for (const std::int32_t id : ids) pieces += model.tokenizer.piece(id);
    return pieces;
  };
  BOOST_TEST(text(pairs.ids[0].source) == "abcd</s>");
  BOOST_TEST(text(pairs.ids[1].source) == "abcd</s>");
  BOOST_TEST(text(pairs.ids[1].target) == "ba</s>");
  BOOST_TEST(text(pairs.ids[2].target) == "badcb");
  BOOST_TEST(std::isfinite(run(model, files.path("m.weft")).evaluation.loss));
  Session session(*model.graph, model.store);
  const CrossAttention found = cross_attention(session, model, "abcdabc", "abcdabc");
  BOOST_TEST((found.layers[0].sizes() == Sizes{2, 5, 5}));
  BOOST_CHECK_EXCEPTION(translate(session, model, {"abcdab"}), TextError, says("7 tokens"));
}

BOOST_AUTO_TEST_CASE(missing_files_are_rejected) {
  const Files files;
  BOOST_CHECK_EXCEPTION(load_model<Seq2SeqModel>(files.path("none.weft")), IoError,
                        says("none.weft"));
}

// This test runs only if WEFT_DATA is set to a folder that contains translation/eng-swe.tsv.
BOOST_AUTO_TEST_CASE(real_pairs_are_split_and_used_for_training) {
  const char* folder = std::getenv("WEFT_DATA");
  if (folder == nullptr) {
    BOOST_TEST_MESSAGE("skipped: WEFT_DATA is not set");
    return;
  }
  const auto pairs = read_text_pairs(std::string(folder) + "/translation/eng-swe.tsv");
  BOOST_TEST(pairs.size() > 25000U);
  const TextPairSplit split = split_by_source(pairs, 0.04, 1337);
  std::vector<std::string> texts;
  for (const TextPair& pair : split.train) texts.push_back(pair.target);
  const Tokenizer tokenizer(SentencePieceTokenizer::train(texts, {.vocab = 500}));
  TrainSettings few = settings();
  few.batch = 512;
  few.steps = 20;
  few.eval_every = few.save_every = 0;
  Seq2SeqModel model = trainable(build_translator(small(), tokenizer, few));
  Session session(*model.graph, model.store, session_options(model, {.seed = 1}));
  PairBatches batches = make_pair_batches(encode_pairs(split.train, model), model);
  double first = 0, last = 0;
  for (std::int64_t step = 0; step < few.steps; ++step) {
    const PairBatch batch = batches.batch(1, step);
    last = session
               .run(model.program("train"),
                    {{"source", batch.source}, {"labels", batch.labels}})["loss"]
               .item<float>();
    if (step == 0) first = last;
  }
  BOOST_TEST(last < first);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
