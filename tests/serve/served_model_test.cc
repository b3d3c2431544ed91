// Requests to a model: results are those of the functions of the task, bit for bit, alone and in
// batches with other requests.
#include "weft/models/serve/served_model.h"

#include <boost/test/unit_test.hpp>
#include <future>

#include "weft/core/error.h"
#include "weft/models/tasks/quantize_model.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/uses/tiny_folder.h"
#include "weft/tests/uses/writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(served_model)
namespace {

using testing::says;
using testing::TemporaryFolder;
using Texts = std::vector<std::string>;

/// The texts of several requests.
const std::vector<Texts> kRequests = {
    {"the film was good"},
    {"bad", "she lives in new york , and it was long ."},
    {"mary saw the river", "he saw bob and anna", "the town is in the river of york"},
    {"who is mary brown ?"}};

/// The result of a request.
template <class Result>
struct Reply {
  std::promise<Result> promise;

  OnResult<Result> callback() {
    return [this](Result result, std::exception_ptr error) {
      error != nullptr ? promise.set_exception(error) : promise.set_value(std::move(result));
    };
  }
  Result get() { return promise.get_future().get(); }
};

/// A request whose callback blocks the queue, so that the next requests wait together.
class Gate {
 public:
  template <class Result>
  OnResult<Result> callback() {
    return [this](Result, std::exception_ptr) {
      entered_.set_value();
      open_.get_future().wait();
    };
  }
  void wait() { entered_.get_future().wait(); }
  void open() { open_.set_value(); }

 private:
  std::promise<void> entered_, open_;
};

/// Returns the results of requests that run in one batch, or of each request alone. `request` adds
/// the request for the texts.
template <class Result>
std::vector<Result> results_of(
    ServedModel& model, bool together,
    const std::function<void(const Texts& texts, OnResult<Result> on_result)>& request) {
  std::vector<Reply<Result>> replies(kRequests.size());
  std::vector<Result> results;
  if (!together) {
    for (std::size_t i = 0; i < kRequests.size(); ++i) {
      request(kRequests[i], replies[i].callback());
      results.push_back(replies[i].get());
    }
    return results;
  }
  const std::int64_t batches = model.status().batches;
  Gate gate;
  request(kRequests[0], gate.callback<Result>());
  gate.wait();
  for (std::size_t i = 0; i < kRequests.size(); ++i) request(kRequests[i], replies[i].callback());
  gate.open();
  for (Reply<Result>& reply : replies) results.push_back(reply.get());
  BOOST_TEST(model.status().batches - batches == 2);
  return results;
}

/// Checks that results equal expected ones, for each request alone and for all together.
/// `values(result)` returns everything that a client receives.
template <class Result, class Values, class Expected>
void check_results_of(
    ServedModel& model,
    const std::function<void(const Texts& texts, OnResult<Result> on_result)>& request,
    const Values& values, const Expected& expected) {
  for (const bool together : {false, true}) {
    const auto found = results_of<Result>(model, together, request);
    for (std::size_t i = 0; i < kRequests.size(); ++i) {
      BOOST_TEST_CONTEXT("request " << i << ", together: " << together) {
        BOOST_TEST((values(found[i]) == expected(kRequests[i])));
        BOOST_TEST(found[i].tokens > 0);
      }
    }
  }
}

/// A session of a model, as ServedModel uses it.
struct Opened {
  explicit Opened(const TrainedModel& model)
      : session(*model.graph, model.store, {.threads = 1, .batch_invariant = true}) {}
  Session session;
};

std::vector<float> values_of(const Tensor& tensor) {
  const auto values = tensor.span<float>();
  return {values.begin(), values.end()};
}

void check_embeddings(const std::string& path, const EmbedOptions& options) {
  ServedModel model("m", path, {.threads = 2});
  const auto encoder = text_encoder(model.model());
  Opened opened(*encoder);
  check_results_of<EmbeddingResult>(
      model,
      [&](const Texts& texts, auto on_result) { model.embed(texts, options, {}, on_result); },
      [](const EmbeddingResult& result) { return values_of(result.vectors); },
      [&](const Texts& texts) {
        return values_of(embed(opened.session, *encoder, texts, options));
      });
}

/// Writes a decoder whose last token is the vector of a text.
std::string write_embedding_decoder(const TemporaryFolder& folder) {
  testing::write_model(folder.path(), {{"model_type", "qwen3"},
                                       {"architectures", {"Qwen3ForCausalLM"}},
                                       {"vocab_size", testing::kFolderVocab},
                                       {"hidden_size", 16},
                                       {"num_hidden_layers", 2},
                                       {"num_attention_heads", 4},
                                       {"num_key_value_heads", 2},
                                       {"head_dim", 6},
                                       {"intermediate_size", 32},
                                       {"max_position_embeddings", 64},
                                       {"tie_word_embeddings", true},
                                       {"initializer_range", 0.4}});
  folder.write("tokenizer.json", testing::tokenizer_json({"<unk>", "<s>", "</s>"}, {{}, {"</s>"}}));
  folder.write("tokenizer_config.json",
               R"({"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "LlamaTokenizer"})");
  folder.write("modules.json",
               R"([{"idx": 0, "name": "0", "path": "",
                    "type": "sentence_transformers.models.Transformer"},
                   {"idx": 1, "name": "1", "path": "1_Pooling",
                    "type": "sentence_transformers.models.Pooling"}])");
  std::filesystem::create_directory(folder.path("1_Pooling"));
  folder.write("1_Pooling/config.json",
               R"({"word_embedding_dimension": 16, "pooling_mode_lasttoken": true})");
  return folder.path();
}

BOOST_AUTO_TEST_CASE(embeddings_are_the_same_alone_and_among_others) {
  for (const char* type : {"bert", "modernbert", "deberta-v2"}) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(type, "Model");
      check_embeddings(folder.path(), {});
      check_embeddings(folder.path(), {.pooling = TextPooling::max, .dimensions = 5});
    }
  }
  const TemporaryFolder folder("decoder");
  check_embeddings(write_embedding_decoder(folder), {});
}

BOOST_AUTO_TEST_CASE(embeddings_of_quantised_models_are_the_same_alone_and_among_others) {
  const TinyFolder folder("bert", "Model");
  const auto model = load_any_model(folder.path()).model;
  const std::string file = folder.beside("int8.weft");
  save_model(file,
             *quantize_model(*model, {.weights = {.activations = ActivationFormat::int8}}).model);
  check_embeddings(file, {});
}

BOOST_AUTO_TEST_CASE(requests_with_other_options_do_not_share_batches) {
  const TinyFolder folder("bert", "Model");
  ServedModel model("m", folder.path());
  const auto encoder = text_encoder(model.model());
  Opened opened(*encoder);
  const std::vector<EmbedOptions> options = {
      {},
      {.pooling = TextPooling::cls},
      {.normalise = false},
      {.dimensions = 3},
      {.prompt = "the "},
      {.prompt = ""},
  };
  Gate gate;
  model.embed({"bad"}, {}, {}, gate.callback<EmbeddingResult>());
  gate.wait();
  std::vector<Reply<EmbeddingResult>> replies(options.size());
  for (std::size_t i = 0; i < options.size(); ++i)
    model.embed({"bad"}, options[i], {}, replies[i].callback());
  gate.open();
  for (std::size_t i = 0; i < options.size(); ++i) {
    BOOST_TEST((values_of(replies[i].get().vectors) ==
                values_of(embed(opened.session, *encoder, Texts{"bad"}, options[i]))));
  }
  BOOST_TEST(model.status().batches == 1 + std::ssize(options));
}

using Classes = std::vector<std::vector<std::pair<std::string, double>>>;
Classes values_of(const std::vector<std::vector<ClassScore>>& classes) {
  Classes values;
  for (const auto& of_text : classes) {
    auto& to = values.emplace_back();
    for (const ClassScore& score : of_text) to.emplace_back(score.name, score.probability);
  }
  return values;
}

BOOST_AUTO_TEST_CASE(classes_are_the_same_alone_and_among_others) {
  const TemporaryFolder decoder("decoder");
  const TinyFolder bert("bert", "ForSequenceClassification"),
      deberta("deberta-v2", "ForSequenceClassification");
  for (const std::string& path : {bert.path(), deberta.path()}) {
    ServedModel model("m", path);
    Opened opened(model.model());
    check_results_of<ClassesResult>(
        model,
        [&](const Texts& texts, auto on_result) {
          model.classify(texts, {.most = 2}, {}, on_result);
        },
        [](const ClassesResult& result) { return values_of(result.classes); },
        [&](const Texts& texts) {
          return values_of(most_likely_classes(opened.session, model.model(), texts, {.most = 2}));
        });
  }
}

using Tags = std::vector<std::vector<std::tuple<std::size_t, std::size_t, std::string, double>>>;
Tags values_of(const std::vector<TaggedText>& texts) {
  Tags values;
  for (const TaggedText& text : texts) {
    auto& to = values.emplace_back();
    for (const TaggedWord& word : text.words)
      to.emplace_back(word.begin, word.end, word.tag, word.score);
  }
  return values;
}

BOOST_AUTO_TEST_CASE(tags_are_the_same_alone_and_among_others) {
  const TinyFolder folder("bert", "ForTokenClassification");
  ServedModel model("m", folder.path());
  Opened opened(model.model());
  check_results_of<TaggedResult>(
      model, [&](const Texts& texts, auto on_result) { model.tag(texts, {}, {}, on_result); },
      [](const TaggedResult& result) { return values_of(result.texts); },
      [&](const Texts& texts) {
        return values_of(tag_texts(opened.session, model.model(), texts));
      });
}

std::vector<std::pair<std::size_t, double>> values_of(const std::vector<RankedText>& texts) {
  std::vector<std::pair<std::size_t, double>> values;
  for (const RankedText& text : texts) values.emplace_back(text.text, text.score);
  return values;
}

BOOST_AUTO_TEST_CASE(ranks_are_the_same_alone_and_among_others) {
  json config = tiny_config("bert", "BertForSequenceClassification");
  config["id2label"] = {{"0", "LABEL_0"}};
  const TinyFolder folder(config);
  ServedModel model("m", folder.path());
  Opened opened(model.model());
  check_results_of<RankedResult>(
      model,
      [&](const Texts& texts, auto on_result) {
        model.rerank("where is mary ?", texts, {.most = 2}, {}, on_result);
      },
      [](const RankedResult& result) { return values_of(result.texts); },
      [&](const Texts& texts) {
        return values_of(
            rerank(opened.session, model.model(), "where is mary ?", texts, {.most = 2}));
      });
}

BOOST_AUTO_TEST_CASE(translations_are_the_same_alone_and_among_others) {
  const TemporaryFolder folder("marian");
  ServedModel model("m", testing::write_marian(folder));
  Opened opened(model.model());
  check_results_of<TranslatedResult>(
      model,
      [&](const Texts& texts, auto on_result) {
        model.translate(texts, {.beams = 2}, {}, on_result);
      },
      [](const TranslatedResult& result) { return result.texts; },
      [&](const Texts& texts) {
        Texts outputs;
        for (const WrittenText& output :
             translate_texts(opened.session, model.model(), texts, {.beams = 2}))
          outputs.push_back(output.text);
        return outputs;
      });
  BOOST_TEST(model.context() == 48);
  Reply<TranslatedResult> blank;
  model.translate({" ", "up"}, {}, {}, blank.callback());
  BOOST_TEST(blank.get().texts.front().empty());
}

BOOST_AUTO_TEST_CASE(uses_and_limits_of_models) {
  const TinyFolder folder("bert", "ForSequenceClassification");
  const ServedModel classifier("spam", folder.path());
  BOOST_TEST(classifier.name() == "spam");
  BOOST_TEST((classifier.uses() == std::vector<Use>{Use::embed, Use::classify, Use::rerank}));
  BOOST_TEST(classifier.supports(Use::rerank));
  BOOST_TEST(!classifier.supports(Use::tag));
  BOOST_TEST(classifier.context() == kTinyContext);
  BOOST_TEST(classifier.tokenizer()->vocab_size() == std::ssize(tiny_words()));
  BOOST_TEST(classifier.created() > 1'700'000'000);
  BOOST_TEST((classifier.text() == nullptr && classifier.generator() == nullptr));
  const TinyFolder answers("bert", "ForQuestionAnswering");
  BOOST_TEST((ServedModel("m", answers.path()).uses() == std::vector<Use>{Use::embed}));
}

BOOST_AUTO_TEST_CASE(decoders_have_an_engine) {
  const TemporaryFolder folder("decoder");
  ServedModel model("m", testing::write_chat_model(folder, 64));
  BOOST_TEST((model.uses() == std::vector<Use>{Use::generate, Use::chat}));
  BOOST_TEST(model.context() == 64);
  const TextGenerator& generator = *model.generator();
  GenerationOptions options = generator.options();
  options.max_new = 5;
  options.sampling.reset();
  const TokenIds prompt = generator.read("the grand old");
  const TextDelta reply = model.text()->generate({.prompt = prompt, .options = options});
  Opened opened(model.model());
  const auto expected =
      text_generator(opened.session, model.model())->generate_ids({prompt}, options).run();
  BOOST_TEST(reply.text == expected.front().text);
  BOOST_TEST(reply.new_tokens == std::ssize(expected.front().ids));
}

BOOST_AUTO_TEST_CASE(invalid_requests_are_errors_of_the_call) {
  const TinyFolder folder("bert", "ForTokenClassification");
  ServedModel model("m", folder.path());
  const auto unused = [](auto, std::exception_ptr) { BOOST_ERROR("the request has no result"); };
  BOOST_CHECK_EXCEPTION(model.classify({"bad"}, {}, {}, unused), FormatError,
                        says("which does not classify"));
  std::string longest;
  for (std::int64_t i = 0; i < kTinyContext; ++i) longest += "the ";
  BOOST_CHECK_EXCEPTION(model.tag({"bad", longest}, {}, {}, unused), TextError,
                        says("text 2: it has 42 tokens"));
  BOOST_CHECK_EXCEPTION(model.embed({"\xff"}, {}, {}, unused), TextError, says("text 1: "));
  BOOST_CHECK_EXCEPTION(model.embed({"bad"}, {.dimensions = 17}, {}, unused), ArgumentError,
                        says("17 dimensions were requested, but the vectors have 16"));
  Reply<EmbeddingResult> reply;
  model.embed({longest}, {.on_cut = ignore_truncation()}, {}, reply.callback());
  BOOST_TEST(reply.get().tokens == kTinyContext);
  BOOST_TEST(model.status().requests == 1);
}

BOOST_AUTO_TEST_CASE(late_and_cancelled_requests_end_with_errors) {
  const TinyFolder folder("bert", "Model");
  ServedModel model("m", folder.path(), {.queue = {.requests = 1}});
  Reply<EmbeddingResult> late;
  model.embed({"bad"}, {}, {.deadline = std::chrono::steady_clock::now()}, late.callback());
  BOOST_CHECK_THROW(late.get(), DeadlineError);
  BOOST_TEST(!model.cancel(0));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
