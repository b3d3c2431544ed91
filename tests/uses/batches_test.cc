// Results for a text do not depend on the other texts in the batch, and the likelihood of a text
// equals the likelihood of its ids.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "tiny_folder.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/tests/support/messages.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(batches)
namespace {

using Texts = std::vector<std::string>;
using testing::OpenedWriter;
using testing::wide;

const Texts kTexts = {
    "the film was good",
    "bad",
    "mary saw the river",
    "she lives in new york , and it was a very long and dull film of a town .",
    "he saw bob and anna",
    "who is in town ?",
    "a",
    "the film was bad , and so was the town",
};

/// A model with its own session.
struct Opened {
  explicit Opened(const std::string& path)
      : loaded(load_any_model(path)), session(*loaded.model->graph, loaded.model->store) {}
  LoadedModel loaded;
  Session session;
};

bool near(double a, double b) { return std::abs(a - b) < 1e-5; }

BOOST_AUTO_TEST_CASE(classes_tags_and_mask_predictions_do_not_depend_on_the_batch) {
  for (const char* type : {"bert", "roberta", "deberta-v2"}) {
    BOOST_TEST_CONTEXT(type) {
      json labelled = tiny_config(type, class_prefix(type) + "ForTokenClassification");
      const Texts tags = {"B-PER", "I-PER", "O", "B-LOC"};
      for (std::size_t i = 0; i < tags.size(); ++i)
        labelled["id2label"][std::to_string(i)] = tags[i];
      const TinyFolder of_classes(type, "ForSequenceClassification"), of_tags(labelled),
          of_words(type, "ForMaskedLM");
      Opened classifier(of_classes.path()), tagger(of_tags.path()), filler(of_words.path());
      const auto classes = [&](const Texts& texts) {
        return most_likely_classes(classifier.session, *classifier.loaded.model, texts,
                                   {.most = 2});
      };
      const auto tagged = [&](const Texts& texts) {
        return tag_texts(tagger.session, *tagger.loaded.model, texts);
      };
      const auto filled = [&](Texts texts) {
        for (std::string& text : texts) text = "[MASK] " + text + " [MASK]";
        return fill(filler.session, *filler.loaded.model, texts, {.most = 3});
      };
      const auto all_classes = classes(kTexts);
      const auto all_tags = tagged(kTexts);
      const auto all_words = filled(kTexts);
      for (std::size_t i = 0; i < kTexts.size(); ++i) {
        const auto one_class = classes({kTexts[i]})[0];
        for (std::size_t c = 0; c < 2; ++c) {
          BOOST_TEST(one_class[c].name == all_classes[i][c].name);
          BOOST_TEST(near(one_class[c].probability, all_classes[i][c].probability));
        }
        const TaggedText one_tag = tagged({kTexts[i]})[0];
        BOOST_TEST_REQUIRE(one_tag.words.size() == all_tags[i].words.size());
        for (std::size_t w = 0; w < one_tag.words.size(); ++w) {
          BOOST_TEST(one_tag.words[w].tag == all_tags[i].words[w].tag);
          BOOST_TEST(near(one_tag.words[w].score, all_tags[i].words[w].score));
        }
        BOOST_TEST(one_tag.spans.size() == all_tags[i].spans.size());
        const auto one_word = filled({kTexts[i]})[0];
        BOOST_TEST_REQUIRE(one_word.size() == 2U);
        for (std::size_t p = 0; p < 2; ++p) {
          for (std::size_t g = 0; g < 3; ++g) {
            BOOST_TEST(one_word[p].guesses[g].id == all_words[i][p].guesses[g].id);
            BOOST_TEST(
                near(one_word[p].guesses[g].probability, all_words[i][p].guesses[g].probability));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(answers_do_not_depend_on_the_batch) {
  const TinyFolder folder("bert", "ForQuestionAnswering");
  Opened opened(folder.path());
  const auto answers = [&](const std::vector<Question>& questions) {
    return answer(opened.session, *opened.loaded.model, questions,
                  {.most = 3, .window = 24, .stride = 6});
  };
  std::vector<Question> questions;
  std::string context;
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    context += kTexts[(3 * i) % kTexts.size()] + " . ";
    questions.push_back({i % 2 == 0 ? "who ?" : "where is the long film ?", context});
  }
  const auto together = answers(questions);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto alone = answers({questions[i]})[0];
    BOOST_TEST_REQUIRE(alone.size() == together[i].size());
    for (std::size_t a = 0; a < alone.size(); ++a) {
      BOOST_TEST(alone[a].text == together[i][a].text);
      BOOST_TEST(near(alone[a].score, together[i][a].score));
      BOOST_TEST(near(alone[a].probability, together[i][a].probability));
    }
  }
}

/// Returns the logits that the Hugging Face class computes for one row of ids. For an
/// encoder-decoder, `outputs` are the decoder input ids.
Tensor logits_of(const std::string& path, const TokenIds& ids, const TokenIds& outputs = {}) {
  const hf::Folder folder = hf::read_folder(path);
  NamedTensors inputs = {{"input_ids", Tensor::of({1, std::ssize(ids)}, ids)}};
  if (!outputs.empty())
    inputs.emplace_back("decoder_input_ids", Tensor::of({1, std::ssize(outputs)}, outputs));
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config,
                                          hf::input_types(TensorMap(inputs.begin(), inputs.end())));
  Session session(graph, hf::load_weights(model, graph, folder));
  return session.run(Program("run").output("out", model.outputs.at("logits")), inputs)["out"];
}

/// Returns the log-probability of an id after the first `place` + 1 ids.
double log_probability(const Tensor& logits, std::int64_t place, std::int64_t id) {
  const std::int64_t vocab = logits.size(2);
  double sum = 0;
  for (std::int64_t v = 0; v < vocab; ++v) sum += std::exp(logits.at(place * vocab + v));
  return logits.at(place * vocab + id) - std::log(sum);
}

void check_scores(const ScoredText& found, const Tensor& logits, std::int64_t first,
                  const TokenIds& ids) {
  BOOST_TEST((found.ids == ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double expected = log_probability(logits, first + static_cast<std::int64_t>(i), ids[i]);
    BOOST_TEST(std::abs(found.score.log_probabilities[i] - expected) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(decoder_and_encoder_decoder_classifiers_match_the_logits) {
  using testing::Json;
  const Json labels = {{"0", "dull"}, {"1", "good"}, {"2", "long"}};
  const Json gpt2 = {{"model_type", "gpt2"},
                     {"architectures", {"GPT2ForSequenceClassification"}},
                     {"vocab_size", testing::kFolderVocab},
                     {"n_embd", 16},
                     {"n_layer", 2},
                     {"n_head", 2},
                     {"n_positions", 96},
                     {"initializer_range", 0.4},
                     {"id2label", labels}};
  Json padded = gpt2;
  padded["pad_token_id"] = 0;
  const Json bart = {{"model_type", "bart"},
                     {"architectures", {"BartForSequenceClassification"}},
                     {"vocab_size", testing::kFolderVocab},
                     {"d_model", 16},
                     {"encoder_layers", 2},
                     {"decoder_layers", 2},
                     {"encoder_attention_heads", 2},
                     {"decoder_attention_heads", 2},
                     {"encoder_ffn_dim", 32},
                     {"decoder_ffn_dim", 32},
                     {"max_position_embeddings", 96},
                     {"init_std", 0.4},
                     {"pad_token_id", 1},
                     {"eos_token_id", 2},
                     {"id2label", labels}};
  for (const Json& config : {gpt2, padded, bart}) {
    BOOST_TEST_CONTEXT(config.dump()) {
      const testing::TemporaryFolder made("classifier");
      testing::write_model(made.path(), config);
      const bool decoder = config["model_type"] == "gpt2";
      made.write("tokenizer.json", decoder
                                       ? testing::tokenizer_json({"<|endoftext|>"}, {})
                                       : testing::tokenizer_json({"<s>", "<pad>", "</s>", "<unk>"},
                                                                 {{"<s>"}, {"</s>"}}));
      const std::string file = made.path("classifier.weft");
      save_model(file, *load_any_model(made.path()).model);
      const Tokenizer tokenizer = *read_tokenizer_folder(made.path()).tokenizer;
      for (const std::string& path : {made.path(), file}) {
        Opened opened(path);
        BOOST_TEST(opened.loaded.model->layout().can(Use::classify));
        const auto classes = [&](const Texts& texts, const OnCut& on_cut = {}) {
          return most_likely_classes(opened.session, *opened.loaded.model, texts,
                                     {.on_cut = on_cut});
        };
        const auto found = classes(kTexts);
        for (std::size_t i = 0; i < kTexts.size(); ++i) {
          const Tensor logits =
              logits_of(made.path(), wide(tokenizer.encode_text(kTexts[i]).ids)).reshape({1, 1, 3});
          for (const ClassScore& score : found[i]) {
            for (std::int64_t c = 0; c < 3; ++c) {
              if (labels[std::to_string(c)] == score.name) {
                BOOST_TEST(near(std::log(score.probability), log_probability(logits, 0, c)));
              }
            }
          }
          BOOST_TEST(found[i][0].probability >= found[i][2].probability);
        }
        const std::string text = kTexts[3] + kTexts[3];
        BOOST_CHECK_EXCEPTION(classes({"a", text}), TextError, testing::says("text 2: it has "));
        std::int64_t kept = 0;
        BOOST_TEST(classes({"a", text}, [&](const CutText& c) { kept = c.kept; })[1].size() == 3U);
        BOOST_TEST(kept == 96);
      }
    }
  }
}

const Texts kRhymes = {"the grand old duke", "up we", "he marched them up to the top of the hill",
                       "down again, and so on"};

BOOST_AUTO_TEST_CASE(decoder_likelihoods_match_the_logits) {
  for (const auto write : {testing::write_gpt2, testing::write_llama}) {
    const testing::TemporaryFolder made("decoder");
    OpenedWriter opened(write(made));
    const Tokenizer& tokenizer = opened.writer->tokenizer();
    std::vector<TextToScore> texts;
    for (const std::string& text : kRhymes) {
      texts.push_back({text});
      texts.push_back({" " + text, "and when they were up, "});
    }
    const auto found = opened.writer->score_texts(texts, {.batch = 3});
    for (std::size_t i = 0; i < texts.size(); ++i) {
      TokenIds read = wide(tokenizer.encode_text(texts[i].text).ids), front = {read.front()};
      TokenIds ids(read.begin() + 1, read.end());
      if (!texts[i].prompt.empty()) {
        front = wide(tokenizer.encode_text(texts[i].prompt).ids);
        ids = wide(tokenizer.encode(texts[i].text, TextPlace::middle));
      }
      TokenIds whole = front;
      whole.insert(whole.end(), ids.begin(), ids.end());
      check_scores(found[i], logits_of(made.path(), whole), std::ssize(front) - 1, ids);
      const ScoredText alone = opened.writer->score_texts({texts[i]})[0];
      BOOST_TEST(near(alone.score.total(), found[i].score.total()));
      BOOST_TEST(alone.bytes == found[i].bytes);
      BOOST_TEST(near(alone.bits_per_byte(),
                      -alone.score.total() / std::log(2) / static_cast<double>(alone.bytes)));
    }
    BOOST_TEST(found[3].bytes == 6);  // " up we"
  }
}

BOOST_AUTO_TEST_CASE(encoder_decoder_likelihoods_match_the_logits) {
  using Write = std::string (*)(const testing::TemporaryFolder&, const testing::Json&);
  for (const Write write : {Write(testing::write_t5), Write(testing::write_bart)}) {
    const testing::TemporaryFolder made("encoder_decoder");
    OpenedWriter opened(write(made, testing::Json::object()));
    const Tokenizer& tokenizer = opened.writer->tokenizer();
    std::vector<TextToScore> texts;
    for (std::size_t i = 0; i < kRhymes.size(); ++i)
      texts.push_back({kRhymes[i], kRhymes[kRhymes.size() - 1 - i]});
    const auto found = opened.writer->score_texts(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const TokenIds ids = wide(tokenizer.encode_text(texts[i].text).ids);
      TokenIds read = opened.writer->options().start;
      read.insert(read.end(), ids.begin(), ids.end() - 1);
      const TokenIds prompt = wide(tokenizer.encode_text(texts[i].prompt).ids);
      check_scores(found[i], logits_of(made.path(), prompt, read), 0, ids);
      BOOST_TEST(
          near(opened.writer->score_texts({texts[i]})[0].score.total(), found[i].score.total()));
    }
  }
}

BOOST_AUTO_TEST_CASE(overlong_texts_are_truncated_if_a_callback_is_set) {
  const testing::TemporaryFolder made("decoder"), bart("bart");
  OpenedWriter gpt2(testing::write_gpt2(made)), summaries(testing::write_bart(bart));
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 3 == 0 ? "up " : "down and ";
  std::vector<CutText> cut;
  const OnCut on_cut = [&](const CutText& c) { cut.push_back(c); };
  const auto error_with = [](std::int64_t tokens) {
    return testing::says("text 2: it has " + std::to_string(tokens) + " tokens, but the model");
  };
  // A decoder reads the end of the text; the result is the same as without the truncated part.
  const Tokenizer& tokenizer = gpt2.writer->tokenizer();
  const TokenIds ids = wide(tokenizer.encode_text(text).ids);
  GenerationOptions options = gpt2.writer->options();
  options.max_new = 5;
  BOOST_CHECK_EXCEPTION(gpt2.writer->generate({"up", text}, options), TextError,
                        error_with(std::ssize(ids)));
  options.truncate = true;
  TextGeneration generation = gpt2.writer->generate({"up", text}, options);
  BOOST_TEST_REQUIRE(generation.truncated().size() == 1U);
  BOOST_TEST(generation.truncated()[0].text == 1U);
  BOOST_TEST(generation.truncated()[0].tokens == std::ssize(ids));
  BOOST_TEST(generation.truncated()[0].kept == 43);
  const auto written = generation.run();
  BOOST_TEST((gpt2.writer->generate_ids({{ids.end() - 43, ids.end()}}, options).run()[0].ids ==
              written[1].ids));
  // An encoder-decoder reads the beginning of the text. The special tokens before and after the
  // text are kept.
  const TokenIds read = summaries.writer->read(text);
  TokenIds kept(read.begin(), read.begin() + 63);
  kept.push_back(read.back());
  GenerationOptions usual = summaries.writer->options();
  usual.truncate = true;
  TextGeneration summarising = summaries.writer->generate({"up", text}, usual);
  BOOST_TEST(summarising.truncated()[0].kept == 64);
  const auto summary = summarising.run();
  BOOST_TEST((summaries.writer->generate_ids({kept}, usual).run()[0].ids == summary[1].ids));
  BOOST_TEST((summaries.translate({"up", text}, {.on_cut = on_cut})[1].ids == summary[1].ids));
  BOOST_TEST(cut.at(0).kept == 64);
  BOOST_CHECK_EXCEPTION(summaries.translate({"up", text}), TextError, error_with(std::ssize(read)));
  // Scoring first truncates the beginning of the prompt, and then the end of the scored text if
  // that is not enough.
  cut.clear();
  BOOST_CHECK_EXCEPTION(gpt2.writer->score_texts({{"up and"}, {text}}), TextError,
                        error_with(std::ssize(ids)));
  const auto scored = gpt2.writer->score_texts({{" down", text}, {text}}, {.on_cut = on_cut});
  BOOST_TEST(cut.size() == 2U);
  const TokenIds down = wide(tokenizer.encode(" down", TextPlace::middle));
  const std::ptrdiff_t room = 48 + 1 - std::ssize(down);
  std::vector<Continuation> expected = {{{ids.end() - room, ids.end()}, down},
                                        {{ids[0]}, {ids.begin() + 1, ids.begin() + 49}}};
  const auto scores = gpt2.writer->score_ids(expected);
  for (std::size_t i = 0; i < 2; ++i) {
    BOOST_TEST((scored[i].ids == expected[i].ids));
    BOOST_TEST(near(scored[i].score.total(), scores[i].total()));
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
