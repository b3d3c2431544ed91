#include "weft/models/tasks/text_classification/sequence_classifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/generate/generator.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/tasks/common/folder_settings.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/tasks/common/truncate_ids.h"
#include "weft/models/training/folder_weights.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

/// Number of tokens per batch.
constexpr std::int64_t kClassificationBatchTokens = 4096;

template <class Config>
constexpr bool kDecoder = std::is_same_v<Config, GptConfig>;

std::int64_t max_tokens(const GptConfig& config) { return trained_context(config); }
std::int64_t max_tokens(const EncoderDecoderConfig& config) {
  return config.positions == Seq2SeqPositions::relative_bias
             ? std::numeric_limits<std::int64_t>::max()
             : config.context;
}

/// Returns the config of a model, or nullopt if the model belongs to another family.
template <class Config>
std::optional<Config> config_of(const hf::Model& model) {
  const auto* config = model.family ? std::get_if<Config>(&*model.family) : nullptr;
  return config == nullptr ? std::nullopt : std::optional(*config);
}

/// Returns the program inputs for a batch of rows.
template <class Config>
NamedTensors inputs_of(const SequenceClassifier<Config>& model,
                       const std::vector<std::vector<std::int32_t>>& rows) {
  const TokenRows padded =
      pad_rows(rows, static_cast<std::int32_t>(model.generation.options.pad_id), 1);
  NamedTensors inputs = {{"tokens", padded.ids}};
  if (!kDecoder<Config>) inputs.emplace_back("mask", padded.mask);
  return inputs;
}

}  // namespace

template <class Config>
const ModelLayout& SequenceClassifier<Config>::file_layout() {
  using Self = SequenceClassifier<Config>;
  static const ModelLayout layout =
      ModelLayout{.kind = kDecoder<Config> ? "text classifier with a decoder"
                                           : "text classifier with an encoder-decoder",
                  .uses = {Use::classify},
                  .programs = {"classify"},
                  .plan_cache = 64}
          .config(&Self::config)
          .tokenizer(&Self::tokenizer)
          .part(kClassesPart, "weft.classes", &Self::classes)
          .part(kGenerationPart, "weft.generation", &Self::generation);
  return layout;
}

template <class Config>
void SequenceClassifier<Config>::check() const {
  if (classes.empty()) throw ArgumentError("a classifier needs at least one class");
  if (tokenizer.vocab_size() > config.vocab)
    throw ArgumentError(ids_without_rows(tokenizer.vocab_size(), config.vocab));
}

template <class Config>
std::unique_ptr<SequenceClassifier<Config>> sequence_classifier_of(const hf::Folder& folder,
                                                                   const FolderTokenizer& text) {
  const std::string problem = hf::problem_type(folder.config);
  if (!hf::architecture_of(folder.config).ends_with("ForSequenceClassification") ||
      problem == "regression" || hf::is_gpt(folder.config) != kDecoder<Config>)
    return nullptr;
  Graph scratch;
  const auto config = config_of<Config>(
      hf::build_model(scratch, folder.config, {{"input_ids", {DType::i64, {1, 1}}}}));
  if (!config) return nullptr;
  auto model = std::make_unique<SequenceClassifier<Config>>();
  model->config = *config;
  model->tokenizer = require_tokenizer(text);
  require_ids_fit(folder.path, model->tokenizer, config->vocab);
  model->generation = folder_settings(folder, text);
  std::int64_t padding = -1;
  hf::ConfigReader(folder.config).optional_id("pad_token_id", padding);
  model->generation.options.pad_id = std::max<std::int64_t>(padding, 0);
  Graph& graph = *model->graph;
  const bool alone = kDecoder<Config> && padding < 0;
  hf::InputValues inputs;
  inputs["input_ids"] = alone ? graph.input("tokens", DType::i32, {1, "seq"})
                              : graph.input("tokens", DType::i32, {"batch", "seq"});
  if (!kDecoder<Config>)
    inputs["attention_mask"] = graph.input("mask", DType::i32, {"batch", "seq"});
  const hf::Model built = hf::build_model_over(graph, folder.config, inputs);
  const Value logits = built.outputs.at("logits");
  const std::int64_t classes = logits.size(1).constant();
  const bool exclusive = problem != "multi_label_classification" && classes > 1;
  model->add_program("classify")
      .precision(model->settings.precision)
      .output("log_probabilities", exclusive ? log_softmax(logits, -1) : -softplus(-logits));
  model->task = kDecoder<Config> ? "decoder-classification" : "encoder-decoder-classification";
  model->classes = label_names(folder.config, classes);
  load_folder_weights(*model, built, folder);
  return model;
}

template <class Config>
FolderModel SequenceClassifier<Config>::to_folder() const {
  require_origin(*this);
  FolderModel folder;
  folder.library.family = config;
  folder.library.endings = {"ForSequenceClassification"};
  folder.library.labels = classes;
  folder.tokenizer = tokenizer;
  folder.longest = config.context;
  folder.writing = FolderModel::Writing{.settings = generation};
  return folder;
}

template <class Config>
std::vector<TextRow> SequenceClassifier<Config>::read_texts(const std::vector<std::string>& texts,
                                                            const OnCut& on_cut) const {
  const std::int64_t longest = max_tokens(config);
  std::vector<TextRow> rows;
  for (const std::string& text : texts) {
    TokenIds ids =
        with_number(rows.size(), [&] { return read_prompt(tokenizer, generation, text); });
    if (ids.empty()) throw TextError(rows.size(), "it is empty: there is nothing to classify");
    if (std::ssize(ids) > longest) {
      report_truncation({rows.size(), std::ssize(ids), longest}, on_cut);
      ids = truncate_ids(ids, longest, &tokenizer, TextEnd::right);
    }
    rows.push_back({{ids.begin(), ids.end()}});
  }
  return rows;
}

template <class Config>
std::vector<std::vector<double>> SequenceClassifier<Config>::class_probabilities(
    Session& session, std::span<const TextRow* const> rows) const {
  std::vector<std::size_t> lengths;
  for (const TextRow* row : rows) lengths.push_back(row->ids.size());
  const Value tokens = session.graph().find_input("tokens");
  const bool alone = tokens.size(0).is_constant();
  std::vector<std::vector<double>> result(rows.size());
  const auto batches = batches_by_tokens(lengths, alone ? 1 : kClassificationBatchTokens);
  run_distributed(
      session, this->program("classify"), std::ssize(batches),
      [&](std::int64_t b) {
        std::vector<std::vector<std::int32_t>> together;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)])
          together.push_back(rows[i]->ids);
        return inputs_of(*this, together);
      },
      [&](std::int64_t b, const Results& results) {
        check_results(results);
        auto logs = results["log_probabilities"].span<float>();
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) {
          for (const float log : logs.first(classes.size()))
            result[i].push_back(std::exp(static_cast<double>(log)));
          logs = logs.subspan(classes.size());
        }
      });
  return result;
}

template struct SequenceClassifier<GptConfig>;
template struct SequenceClassifier<EncoderDecoderConfig>;
template std::unique_ptr<DecoderClassifier> sequence_classifier_of(const hf::Folder&,
                                                                   const FolderTokenizer&);
template std::unique_ptr<EncoderDecoderClassifier> sequence_classifier_of(const hf::Folder&,
                                                                          const FolderTokenizer&);

}  // namespace weft
