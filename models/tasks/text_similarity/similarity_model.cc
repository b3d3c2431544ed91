#include "weft/models/tasks/text_similarity/similarity_model.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/data/formats/sentence_pairs.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/inputs/sentences/cross_encoder.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/tasks/text_similarity/similarity_task.h"
#include "weft/models/training/pretrained.h"

namespace weft {
namespace {

/// Returns true if the programs have the input "token_types". Encoders without token types, or with
/// a single token type like RoBERTa, distinguish two texts only by [SEP].
bool reads_token_types(const SimilarityModel& model) {
  if (model.reading) return model.reading->token_types;
  return model.head.pairs && model.head.comparison == Comparison::joint &&
         model.config.token_types >= 2;
}

/// Returns a function that computes the score of two texts in one row, or of one text. Scores are
/// scaled so that training scores range from 0 to 1.
std::function<Value(Mode)> joint_score(SimilarityModel& model) {
  Graph& graph = *model.graph;
  const EncoderConfig& config = model.config;
  EncoderInputs inputs = add_text_inputs(graph, reads_token_types(model));
  inputs.global_attention_mask = first_token_attention(config, inputs.ids);
  const Encoder encoder(Scope(graph), config);
  std::optional<Pooler> pooler;
  if (model.head.pooling == Pooling::cls)
    pooler = make_pooler(Scope(graph, "pooler"), config, model.head.pooler);
  const Scope root(graph);
  const Linear last = make_head(root / "score", config, 1);
  return [=](Mode mode) {
    const Value h = encoder.in(mode)(inputs).last_hidden_state;
    const Value pooled =
        pooler ? (*pooler)(h, inputs.attention_mask) : mean_of_tokens(h, inputs.attention_mask);
    return select(last(dropout(root.in(mode), pooled, config.hidden_dropout)), 1, Dim(0));
  };
}

/// Returns a function that computes the cosine of two text vectors, which is 0 if a vector is zero.
std::function<Value(Mode)> cosine_score(SimilarityModel& model) {
  constexpr double kLeast = 1e-24;
  Graph& graph = *model.graph;
  const Value ids = graph.input("tokens", DType::i32, {"batch", 2, "seq"}),
              mask = graph.input("mask", DType::i32, {"batch", 2, "seq"});
  const Dim &pairs = ids.size(0), &seq = ids.size(2);
  const EncoderInputs inputs{.ids = reshape(ids, Shape{2 * pairs, seq}),
                             .attention_mask = reshape(mask, Shape{2 * pairs, seq})};
  const Encoder encoder(Scope(graph), model.config);
  const Pooling pooling = model.head.pooling;
  const std::int64_t width = model.config.width;
  return [=](Mode mode) {
    const Value h = encoder.in(mode)(inputs).last_hidden_state;
    const Value vectors = reshape(
        pooling == Pooling::cls ? select(h, 1, Dim(0)) : mean_of_tokens(h, inputs.attention_mask),
        Shape{pairs, 2, width});
    const Value a = select(vectors, 1, Dim(0)), b = select(vectors, 1, Dim(1));
    return sum(a * b, {-1}) * rsqrt(sum(a * a, {-1}) * sum(b * b, {-1}) + kLeast);
  };
}

/// Adds the programs "evaluate" and "score".
void add_inference(SimilarityModel& model, const Value& loss, const Value& scores) {
  const Precision precision = model.settings.precision;
  model.add_program("evaluate").precision(precision).output("loss", loss).output("scores", scores);
  model.add_program("score").precision(precision).output("scores", scores);
}

}  // namespace

const ModelLayout& SimilarityModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "similarity model",
                  .uses = {Use::embed, Use::rerank},
                  .programs = {"evaluate", "score"}}
          .config(&SimilarityModel::config)
          .tokenizer(&SimilarityModel::tokenizer)
          .part(kSimilarityPart, "weft.similarity", &SimilarityModel::head)
          .part(kReadingPart, "weft.reading", &SimilarityModel::reading);
  return layout;
}

void SimilarityModel::check() const {
  EncoderModel::check();
  head.check();
}

SimilarityModel build_similarity_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                       const SimilarityHead& head, const TrainSettings& settings) {
  SimilarityModel model;
  model.task = "text-similarity";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.head = head;
  model.check();
  Graph& graph = *model.graph;
  // Scaled scores: 0 is the lowest training score, 1 the highest.
  const auto scaled =
      head.comparison == Comparison::cosine ? cosine_score(model) : joint_score(model);
  const Value targets = graph.input("targets", DType::f32, {"batch"});
  const double range = head.high - head.low;
  const Value expected = (targets - head.low) / range, found = scaled(Mode::evaluation);
  const Value scores = found * range + head.low;
  add_inference(model, mse(found, expected), scores);
  model.add_program("train").output(
      "loss", mse(scaled(Mode::training), expected, settings.loss_reduction()));
  return model;
}

std::unique_ptr<SimilarityModel> similarity_model_of(const hf::Folder& folder,
                                                     const FolderTokenizer& text) {
  if (hf::problem_type(folder.config) != "regression") return nullptr;
  auto model = std::make_unique<SimilarityModel>();
  Graph& graph = *model->graph;
  auto found = read_folder_encoder(graph, folder, text,
                                   {.endings = {"ForSequenceClassification"}, .pairs = true});
  if (!found) return nullptr;
  const Value logits = found->output("logits");
  if (logits.size(1) != Dim(1)) return nullptr;
  const Value scores = select(logits, 1, Dim(0));
  add_inference(*model, mse(scores, graph.input("targets", DType::f32, {"batch"})), scores);
  model->task = "text-similarity";
  found->into(*model);
  return model;
}

namespace {

/// Returns the encoder of a cosine model in Hugging Face layout, including the Sentence
/// Transformers files for modules and pooling.
FolderModel vectors_folder(const SimilarityModel& model) {
  FolderModel folder = encoder_folder(model, {"Model"});
  folder.library.untrained = {"pooler."};
  // Cosines do not depend on the length of vectors, which weft embed scales to 1.
  folder.more =
      sentence_files(model.head.pooling == Pooling::cls ? TextPooling::cls : TextPooling::mean,
                     /*normalise=*/true, model.config.width);
  return folder;
}

}  // namespace

FolderModel SimilarityModel::to_folder() const {
  if (head.comparison == Comparison::cosine) return vectors_folder(*this);
  FolderModel folder = encoder_folder(*this, {"ForSequenceClassification"});
  folder.library.labels = {"LABEL_0"};
  if (reading) {
    require_origin(*this);
    folder.more = cross_encoder_files(*origin);
    return folder;
  }
  if (head.pooling != Pooling::cls) {
    throw ArgumentError(
        fmt::format("transformers regression models do not support pooling = {}: their head uses "
                    "only the first token",
                    choice_name(head.pooling)));
  }
  folder.library.problem_type = "regression";
  folder.library.pair_activation = "torch.nn.modules.linear.Identity";
  folder.library.pooler = head.pooler;
  folder.weights = [head = head](TensorMap weights) {
    // In transformers, the head output is the score itself, on the scale of the data.
    const auto range = static_cast<float>(head.high - head.low);
    const auto low = static_cast<float>(head.low);
    const auto scaled = [&](const std::string& name, float added) {
      Tensor tensor = weights.at("score." + name).clone();
      for (float& x :
           std::span(tensor.mutable_data<float>(), static_cast<std::size_t>(tensor.numel())))
        x = x * range + added;
      weights.erase("score." + name);
      weights["classifier." + name] = tensor;
    };
    scaled("weight", 0);
    scaled("bias", low);
    return weights;
  };
  return folder;
}

SimilarityRows similarity_rows(const SimilarityModel& model, const ScoredPair& line) {
  if (model.reading) {
    TokenizerInput texts{line.first};
    if (model.head.pairs) texts.second = line.second;
    Encoding row = model.reader().encode(texts);
    return {{std::move(row.ids), std::move(row.type_ids)}};
  }
  const Tokenizer& pieces = model.tokenizer;
  const std::int64_t context = model.config.max_tokens();
  if (model.head.pairs && model.head.comparison == Comparison::joint) {
    PairTokens row = join_pair({pieces.encode(line.first), pieces.encode(line.second)},
                               pieces.cls_id(), pieces.sep_id(), context);
    return {{std::move(row.ids), std::move(row.token_types)}};
  }
  const TextReader reader = model.reader();
  SimilarityRows rows = {reader.row(line.first)};
  if (model.head.pairs) rows.push_back(reader.row(line.second));
  return rows;
}

NamedTensors similarity_inputs(const SimilarityModel& model,
                               std::span<const SimilarityRows> lines) {
  std::vector<std::vector<std::int32_t>> ids, types;
  for (const SimilarityRows& line : lines) {
    for (const TextRow& row : line) {
      ids.push_back(row.ids);
      types.push_back(row.token_types);
    }
  }
  const std::int64_t most = model.config.max_tokens();
  const TokenRows rows = pad_rows(ids, padding_id(model.config, model.tokenizer), 16, most);
  if (model.head.comparison == Comparison::cosine) {
    const Sizes sizes = {std::ssize(lines), 2, rows.ids.size(1)};
    return {{"tokens", rows.ids.reshape(sizes)}, {"mask", rows.mask.reshape(sizes)}};
  }
  NamedTensors inputs = {{"tokens", rows.ids}, {"mask", rows.mask}};
  if (reads_token_types(model))
    inputs.emplace_back("token_types", pad_rows(types, 0, 16, most).ids);
  return inputs;
}

std::unique_ptr<TextEncoder> SimilarityModel::text_encoder() const {
  auto encoder = EncoderModel::text_encoder();
  if (head.comparison == Comparison::cosine && head.pooling == Pooling::cls)
    encoder->vectors.pooling = TextPooling::cls;
  return encoder;
}

std::vector<PairRows> SimilarityModel::read_pairs(std::span<const PairTexts> pairs,
                                                  const OnCut& on_cut) const {
  if (!head.pairs) {
    throw ArgumentError(
        "the similarity model was trained on single texts and does not score text pairs");
  }
  if (reading) return rows_of_pairs(*this, pairs, on_cut, 1);
  std::vector<PairRows> rows;
  for (const PairTexts& pair : pairs) {
    rows.push_back(with_number(rows.size(), [&] {
      return similarity_rows(*this, {.first = pair.first, .second = pair.second});
    }));
  }
  return rows;
}

std::vector<std::vector<double>> SimilarityModel::pair_outputs(
    Session& session, std::span<const PairRows* const> pairs) const {
  if (reading) return outputs_for_pairs(session, *this, program("score"), "scores", pairs, 1);
  std::vector<std::vector<double>> result;
  for (const double score : score_rows(session, *this, pairs)) result.push_back({score});
  return result;
}

}  // namespace weft
