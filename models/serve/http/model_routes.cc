// The endpoints of models that process texts, and of tokenizers.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/input_call.h"
#include "weft/models/serve/http/protocol/json_fields.h"
#include "weft/models/serve/http/routes.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/text/chat/encode_chat.h"

namespace weft {
namespace {

/// Submits a request and replies with the JSON that `write` makes of its result.
/// `submit(limits, on_result)` adds the request to `model` and returns its number.
template <class Result, class Submit, class Write>
void run_request(const std::shared_ptr<Exchange>& exchange, const HttpServerOptions& options,
                 const ChosenModel& model, const InputCall& call, Submit&& submit, Write write) {
  ServedModel* const served = &model.entry->model();
  const std::string name = model.name;
  const std::int64_t number = submit(
      RequestLimits{deadline_of(options, call.timeout)},
      [exchange, name, write](Result result, const std::exception_ptr& error) {
        if (error) return exchange->post([exchange, error] { exchange->fail(error, true); });
        exchange->work([exchange, name, write, result = std::move(result)] {
          Json json = write(result);
          json["model"] = name;
          json["usage"] = {{"prompt_tokens", result.tokens}, {"total_tokens", result.tokens}};
          exchange->post([exchange, name, tokens = result.tokens, text = json_text(json)] {
            exchange->entry.model = name;
            exchange->entry.prompt_tokens = tokens;
            exchange->reply({200, text});
          });
        });
      });
  exchange->post([exchange, served, number] {
    exchange->on_cancel([served, number] { served->cancel(number); });
  });
}

OnCut on_cut(const InputCall& call) { return call.truncate ? ignore_truncation() : OnCut(); }

Json vector_json(std::span<const float> vector, bool as_base64) {
  if (as_base64) {
    // Little-endian machines only, as everywhere in Weft's files.
    return base64({reinterpret_cast<const char*>(vector.data()), vector.size_bytes()});
  }
  Json numbers = Json::array();
  for (const float x : vector) numbers.push_back(x);
  return numbers;
}

}  // namespace

void Routes::embeddings(const std::shared_ptr<Exchange>& exchange) {
  const EmbeddingCall call = read_embedding_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  std::vector<std::string> texts;
  for (const auto& input : call.inputs) {
    const auto* text = std::get_if<std::string>(&input);
    texts.push_back(text != nullptr ? *text
                                    : model.entry->tokenizer().decode(std::get<TokenIds>(input)));
  }
  EmbedOptions options;
  options.dimensions = call.dimensions;
  options.on_cut = on_cut(call);
  run_request<EmbeddingResult>(
      exchange, options_, model, call,
      [&](const RequestLimits& limits, OnResult<EmbeddingResult> on_result) {
        return model.entry->model().embed(texts, options, limits, std::move(on_result));
      },
      [as_base64 = call.base64](const EmbeddingResult& result) {
        const auto width = static_cast<std::size_t>(result.vectors.size(1));
        const auto numbers = result.vectors.span<float>();
        Json data = Json::array();
        for (std::int64_t i = 0; i < result.vectors.size(0); ++i) {
          const auto vector = numbers.subspan(static_cast<std::size_t>(i) * width, width);
          data.push_back({{"object", "embedding"},
                          {"index", i},
                          {"embedding", vector_json(vector, as_base64)}});
        }
        return Json{{"object", "list"}, {"data", std::move(data)}};
      });
}

void Routes::rerank(const std::shared_ptr<Exchange>& exchange) {
  const RerankCall call = read_rerank_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  RerankOptions options;
  options.most = call.top;
  run_request<RankedResult>(
      exchange, options_, model, call,
      [&](const RequestLimits& limits, OnResult<RankedResult> on_result) {
        return model.entry->model().rerank(call.query, call.documents, options, limits,
                                           std::move(on_result));
      },
      [documents = call.return_documents ? call.documents
                                         : std::vector<std::string>()](const RankedResult& result) {
        Json results = Json::array();
        for (const RankedText& text : result.texts) {
          Json one = {{"index", text.text}, {"relevance_score", text.score}};
          if (!documents.empty()) one["document"] = {{"text", documents[text.text]}};
          results.push_back(std::move(one));
        }
        return Json{{"object", "list"}, {"results", std::move(results)}};
      });
}

void Routes::classify(const std::shared_ptr<Exchange>& exchange) {
  const TextsCall call = read_classify_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  ClassifyOptions options;
  options.most = call.top;
  options.on_cut = on_cut(call);
  run_request<ClassesResult>(
      exchange, options_, model, call,
      [&](const RequestLimits& limits, OnResult<ClassesResult> on_result) {
        return model.entry->model().classify(call.inputs, options, limits, std::move(on_result));
      },
      [](const ClassesResult& result) {
        Json data = Json::array();
        for (std::size_t i = 0; i < result.classes.size(); ++i) {
          Json classes = Json::array();
          for (const ClassScore& one : result.classes[i])
            classes.push_back({{"label", one.name}, {"score", one.probability}});
          data.push_back({{"index", i}, {"classes", std::move(classes)}});
        }
        return Json{{"object", "list"}, {"data", std::move(data)}};
      });
}

void Routes::tag(const std::shared_ptr<Exchange>& exchange) {
  const TextsCall call = read_tag_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  run_request<TaggedResult>(
      exchange, options_, model, call,
      [&](const RequestLimits& limits, OnResult<TaggedResult> on_result) {
        return model.entry->model().tag(call.inputs, on_cut(call), limits, std::move(on_result));
      },
      [inputs = call.inputs](const TaggedResult& result) {
        Json data = Json::array();
        for (std::size_t i = 0; i < result.texts.size(); ++i) {
          Json words = Json::array();
          for (const TaggedWord& word : result.texts[i].words) {
            words.push_back({{"word", inputs[i].substr(word.begin, word.end - word.begin)},
                             {"tag", word.tag},
                             {"score", word.score}});
          }
          data.push_back({{"index", i}, {"words", std::move(words)}});
        }
        return Json{{"object", "list"}, {"data", std::move(data)}};
      });
}

void Routes::translate(const std::shared_ptr<Exchange>& exchange) {
  const TextsCall call = read_translate_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  TranslateOptions options;
  options.languages = {call.source, call.target};
  options.beams = call.beams;
  options.on_cut = on_cut(call);
  run_request<TranslatedResult>(
      exchange, options_, model, call,
      [&](const RequestLimits& limits, OnResult<TranslatedResult> on_result) {
        return model.entry->model().translate(call.inputs, options, limits, std::move(on_result));
      },
      [](const TranslatedResult& result) {
        Json data = Json::array();
        for (std::size_t i = 0; i < result.texts.size(); ++i)
          data.push_back({{"index", i}, {"text", result.texts[i]}});
        return Json{{"object", "list"}, {"data", std::move(data)}};
      });
}

void Routes::tokenize(const std::shared_ptr<Exchange>& exchange) {
  const TokenizeCall call = read_tokenize_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  const Tokenizer& tokenizer = model.entry->tokenizer();
  std::vector<std::int64_t> ids;
  if (!call.messages.empty()) {
    EncodeChatOptions options;
    options.chat.add_generation_prompt = true;
    const auto encoded =
        encode_chat(tokenizer, model.entry->chat_format(), call.messages, options).ids;
    ids.assign(encoded.begin(), encoded.end());
  } else if (const TextGenerator* generator = model.entry->model().generator();
             generator != nullptr && call.add_special) {
    if (!call.text.empty()) ids = generator->read(call.text);
  } else {
    EncodeOptions options;
    options.add_special = call.add_special;
    const auto encoded = tokenizer.encode_text(call.text, options).ids;
    ids.assign(encoded.begin(), encoded.end());
  }
  Json pieces = Json::array();
  for (const std::int64_t id : ids) pieces.push_back(model.entry->token_bytes(id));
  post_json(exchange, json_text({{"model", model.name},
                                 {"count", ids.size()},
                                 {"max_model_len", json_or_null(model.entry->context())},
                                 {"tokens", ids},
                                 {"pieces", std::move(pieces)}}));
}

void Routes::detokenize(const std::shared_ptr<Exchange>& exchange) {
  const DetokenizeCall call = read_detokenize_call(exchange->request().body);
  const ChosenModel model = models_.find(call.model);
  post_json(exchange, json_text({{"model", model.name},
                                 {"prompt", model.entry->tokenizer().decode(call.tokens)}}));
}

}  // namespace weft
