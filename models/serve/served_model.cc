#include "weft/models/serve/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <type_traits>

#include "weft/core/error.h"
#include "weft/models/generate/generator.h"
#include "weft/models/serve/batch_queue.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/tasks/text_classification/sequence_classifier.h"

namespace weft {
namespace {

// The number of tokens of a text that was read.
std::int64_t tokens_of(const TextRow& row) { return std::ssize(row.ids); }
std::int64_t tokens_of(const TextOfWords& text) { return std::ssize(text.row.ids); }
std::int64_t tokens_of(const TokenIds& ids) { return std::ssize(ids); }
std::int64_t tokens_of(const PairRows& pair) {
  std::int64_t tokens = 0;
  for (const TextRow& row : pair) tokens += tokens_of(row);
  return tokens;
}

std::int64_t time_of_file(const std::string& path) {
  const auto time = std::chrono::file_clock::to_sys(std::filesystem::last_write_time(path));
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string key_part(const std::optional<std::string>& text) {
  return text ? fmt::format("{}:{}", text->size(), *text) : "none";
}

// Requests that differ in these options do not share batches.
std::string key_of(const EmbedOptions& options) {
  return fmt::format(
      "embed {} {} {} {} {}", options.pooling ? choice_name(*options.pooling) : "default",
      options.normalise ? static_cast<int>(*options.normalise) : -1, options.dimensions.value_or(0),
      key_part(options.prompt), key_part(options.prompt_name));
}
std::string key_of(const TranslateOptions& options) {
  return fmt::format("translate {} {} {} {} {}", options.beams.value_or(0),
                     options.length_penalty.value_or(std::numeric_limits<double>::quiet_NaN()),
                     key_part(options.prefix), key_part(options.languages.source),
                     key_part(options.languages.target));
}

}  // namespace

struct ServedModel::Impl {
  Impl(std::string given_name, const ModelPath& path, const ServedModelOptions& given)
      : name(std::move(given_name)),
        model(load_any_model(path).model),
        created(time_of_file(path.path)),
        options(given),
        queue(given.queue) {
    const auto* encodes = dynamic_cast<const EncoderModel*>(model.get());
    const auto* generates = dynamic_cast<const GenerativeModel*>(model.get());
    if (encodes != nullptr) {
      encoder = encodes->text_encoder();
      start(encoder_session, *encoder);
      tokenizer = &encodes->tokenizer;
      context = encodes->reader().longest();
    }
    start(session, *model);
    if (generates != nullptr) {
      if (generates->no_tokenizer.empty()) tokenizer = &generates->tokenizer;
      context = generates->text_generator(*session)->context();
    }
    if (const auto language = std::dynamic_pointer_cast<const LanguageModel>(model)) {
      text = std::make_unique<TextEngine>(language, options.text);
      generator = language->text_generator(*session);
      uses.push_back(Use::generate);
      if (generator->chat_format() != nullptr) uses.push_back(Use::chat);
    }
    add_uses();
  }

  void start(std::optional<Session>& target, const TrainedModel& of) const {
    target.emplace(*of.graph, of.store,
                   session_options(of, {.threads = static_cast<int>(options.threads),
                                        .batch_invariant = true}));
  }

  template <class Model>
  void add_use(Use use) {
    const auto* found = dynamic_cast<const Model*>(model.get());
    if (found == nullptr || !model->layout().can(use)) return;
    uses.push_back(use);
    if constexpr (requires { found->tokenizer; }) tokenizer = &found->tokenizer;
  }
  void add_uses() {
    add_use<EncoderModel>(Use::embed);
    add_use<TextsClassifier>(Use::classify);
    add_use<TokenClassifier>(Use::tag);
    add_use<PairScorer>(Use::rerank);
    add_use<Seq2SeqModel>(Use::translate);
    if (uses.empty()) {
      throw FormatError(fmt::format(
          "the model is a {}, which is not served: models for generating, embedding, classifying, "
          "tagging, reranking and translating texts are",
          model->layout().kind));
    }
  }

  /// Adds a request with inputs that were read. `collect` makes the result from the outputs.
  template <class Result, class Input, class Output, class Collect>
  std::int64_t add(std::string key, std::vector<Input> inputs,
                   std::function<std::vector<Output>(const std::vector<const Input*>&)> run,
                   const RequestLimits& limits, OnResult<Result> on_result, Collect collect) {
    std::vector<std::int64_t> lengths;
    std::int64_t tokens = 0;
    for (const Input& input : inputs) tokens += lengths.emplace_back(tokens_of(input));
    auto finish = [tokens, collect = std::move(collect), on_result = std::move(on_result)](
                      std::vector<Output> outputs, std::exception_ptr error) {
      on_result(error != nullptr ? Result{} : Result{collect(std::move(outputs)), tokens}, error);
    };
    return queue.add(std::make_unique<RequestOf<Input, Output>>(std::move(key), std::move(lengths),
                                                                std::move(inputs), std::move(run),
                                                                std::move(finish)),
                     limits.deadline);
  }

  std::string name;
  std::shared_ptr<const TrainedModel> model;
  std::int64_t created = 0;
  ServedModelOptions options;
  std::vector<Use> uses;
  const Tokenizer* tokenizer = nullptr;
  std::int64_t context = std::numeric_limits<std::int64_t>::max();
  std::unique_ptr<TextEncoder> encoder;
  std::optional<Session> session, encoder_session;  // used by the thread of the queue
  std::unique_ptr<TextGenerator> generator;
  std::unique_ptr<TextEngine> text;
  BatchQueue queue;  // the last member: its thread uses the others
};

ServedModel::ServedModel(std::string name, const ModelPath& path, const ServedModelOptions& options)
    : impl_(std::make_unique<Impl>(std::move(name), path, options)) {}
ServedModel::~ServedModel() = default;

const std::string& ServedModel::name() const { return impl_->name; }
const TrainedModel& ServedModel::model() const { return *impl_->model; }
const std::vector<Use>& ServedModel::uses() const { return impl_->uses; }
bool ServedModel::supports(Use use) const {
  return std::find(uses().begin(), uses().end(), use) != uses().end();
}
std::int64_t ServedModel::created() const { return impl_->created; }
const Tokenizer* ServedModel::tokenizer() const { return impl_->tokenizer; }
std::int64_t ServedModel::context() const { return impl_->context; }
TextEngine* ServedModel::text() const { return impl_->text.get(); }
const TextGenerator* ServedModel::generator() const { return impl_->generator.get(); }
bool ServedModel::cancel(std::int64_t request) { return impl_->queue.cancel(request); }
BatchQueueStatus ServedModel::status() const { return impl_->queue.status(); }

std::int64_t ServedModel::embed(const std::vector<std::string>& texts, const EmbedOptions& options,
                                const RequestLimits& limits, OnResult<EmbeddingResult> on_result) {
  model().as<EncoderModel>(Use::embed);
  EmbedOptions own = options;
  own.batch_tokens = impl_->options.queue.batch_tokens;
  const auto embedder = std::make_shared<TextEmbedder>(*impl_->encoder, own);
  Session& session = *impl_->encoder_session;
  using Vector = std::vector<float>;
  const std::int64_t width = embedder->width();
  return impl_->add<EmbeddingResult, TextRow, Vector>(
      key_of(options), embedder->read(texts),
      [embedder, &session](const std::vector<const TextRow*>& rows) {
        const Tensor vectors = embedder->vectors(session, rows);
        const auto values = vectors.span<float>();
        const auto size = static_cast<std::size_t>(vectors.size(1));
        std::vector<Vector> result;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const auto row = values.subspan(i * size, size);
          result.emplace_back(row.begin(), row.end());
        }
        return result;
      },
      limits, std::move(on_result),
      [width](const std::vector<Vector>& vectors) {
        Tensor all = Tensor::empty(DType::f32, {std::ssize(vectors), width});
        auto* out = all.mutable_data<float>();
        for (const Vector& vector : vectors) out = std::copy(vector.begin(), vector.end(), out);
        return all;
      });
}

std::int64_t ServedModel::classify(const std::vector<std::string>& texts,
                                   const ClassifyOptions& options, const RequestLimits& limits,
                                   OnResult<ClassesResult> on_result) {
  const auto& classifier = model().as<TextsClassifier>(Use::classify);
  Session& session = *impl_->session;
  using Probabilities = std::vector<double>;
  return impl_->add<ClassesResult, TextRow, Probabilities>(
      "classify", classifier.read_texts(texts, options.on_cut),
      [&classifier, &session](const std::vector<const TextRow*>& rows) {
        return classifier.class_probabilities(session, rows);
      },
      limits, std::move(on_result),
      [&classifier, most = options.most](const std::vector<Probabilities>& found) {
        std::vector<std::vector<ClassScore>> classes;
        for (const Probabilities& probabilities : found)
          classes.push_back(top_classes(classifier.class_names(), probabilities, most));
        return classes;
      });
}

std::int64_t ServedModel::tag(const std::vector<std::string>& texts, const OnCut& on_cut,
                              const RequestLimits& limits, OnResult<TaggedResult> on_result) {
  const auto& tagger = model().as<TokenClassifier>(Use::tag);
  Session& session = *impl_->session;
  return impl_->add<TaggedResult, TextOfWords, TaggedText>(
      "tag", read_words(tagger, texts, on_cut),
      [&tagger, &session](const std::vector<const TextOfWords*>& read) {
        return tag_read_texts(session, tagger, read);
      },
      limits, std::move(on_result), [](std::vector<TaggedText> tagged) { return tagged; });
}

std::int64_t ServedModel::rerank(const std::string& query, const std::vector<std::string>& texts,
                                 const RerankOptions& options, const RequestLimits& limits,
                                 OnResult<RankedResult> on_result) {
  const auto& scorer = model().as<PairScorer>(Use::rerank);
  const std::size_t score = ranking_score(model(), options.label);
  std::vector<PairTexts> pairs;
  for (const std::string& text : texts) pairs.push_back({query, text});
  Session& session = *impl_->session;
  using Scores = std::vector<double>;
  return impl_->add<RankedResult, PairRows, Scores>(
      "rerank", scorer.read_pairs(pairs, options.on_cut),
      [this, &session](const std::vector<const PairRows*>& rows) {
        return pair_scores(session, model(), rows);
      },
      limits, std::move(on_result),
      [score, most = options.most](const std::vector<Scores>& found) {
        std::vector<double> scores;
        for (const Scores& all : found) scores.push_back(all[score]);
        return ranked(scores, most);
      });
}

std::int64_t ServedModel::translate(const std::vector<std::string>& texts,
                                    const TranslateOptions& options, const RequestLimits& limits,
                                    OnResult<TranslatedResult> on_result) {
  const auto translator = std::make_shared<Translator>(*impl_->session, model(), options);
  return impl_->add<TranslatedResult, TokenIds, std::string>(
      key_of(options), translator->read(texts),
      [translator](const std::vector<const TokenIds*>& read) {
        std::vector<TokenIds> prompts;
        for (const TokenIds* ids : read) prompts.push_back(*ids);
        std::vector<std::string> outputs;
        for (WrittenText& output : translator->written(std::move(prompts)))
          outputs.push_back(std::move(output.text));
        return outputs;
      },
      limits, std::move(on_result), [](std::vector<std::string> outputs) { return outputs; });
}

}  // namespace weft
