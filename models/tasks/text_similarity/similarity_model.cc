#include "weft/models/tasks/text_similarity/similarity_model.h"

#include <optional>
#include <utility>

#include "weft/graph/functions.h"
#include "weft/models/data/token_rows.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/trained/folder_encoder.h"

namespace weft {
namespace {

/// Encoders without token types, or with one as RoBERTa, part two texts by [SEP] alone.
bool reads_token_types(const SimilarityModel& model) {
  if (model.reading) return model.reading->token_types;
  return model.head.pairs && model.config.token_types >= 2;
}

/// "evaluate" and "score".
void add_inference(SimilarityModel& model, const Value& loss, const Value& scores) {
  const Precision precision = model.settings.precision;
  model.add_program("evaluate").precision(precision).output("loss", loss).output("scores", scores);
  model.add_program("score").precision(precision).output("scores", scores);
}

}  // namespace

const ModelLayout& SimilarityModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "similarity model", .programs = {"evaluate", "score"}}
          .config(&SimilarityModel::config)
          .tokenizer(&SimilarityModel::tokenizer)
          .part("model.similarity", "weft.similarity", &SimilarityModel::head)
          .part(kReadingPart, "weft.reading", &SimilarityModel::reading);
  return layout;
}

void SimilarityModel::check() const {
  check_vocabulary(config, tokenizer, reading);
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
  EncoderInputs inputs{.ids = graph.input("tokens", DType::i32, {"batch", "seq"}),
                       .attention_mask = graph.input("mask", DType::i32, {"batch", "seq"})};
  if (reads_token_types(model))
    inputs.token_type_ids = graph.input("token_types", DType::i32, {"batch", "seq"});
  const Value targets = graph.input("targets", DType::f32, {"batch"});
  const Encoder encoder(Scope(graph), config);
  std::optional<Pooler> pooler;
  if (head.pooling == Pooling::cls)
    pooler = make_pooler(Scope(graph, "pooler"), config, Activation::tanh);
  const Linear last = make_linear(Scope(graph, "score"), DType::f32, config.width, 1,
                                  {.initializer = Initializer::normal(config.initializer_range)});
  // 0 is the least score of training, 1 the greatest.
  const auto scaled = [&](bool training) {
    const Value h = encoder(inputs, training).last_hidden_state;
    Value pooled = pooler ? (*pooler)(h) : mean_of_tokens(h, inputs.attention_mask);
    if (training && config.hidden_dropout > 0)
      pooled = dropout(pooled, config.hidden_dropout, graph.key("dropout"));
    return select(last(pooled), 1, Dim(0));
  };
  const double range = head.high - head.low;
  const Value wanted = (targets - head.low) / range, found = scaled(false);
  const Value scores = found * range + head.low;
  add_inference(model, mse(found, wanted), scores);
  model.add_program("train").output("loss", mse(scaled(true), wanted));
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

PairTokens similarity_row(const SimilarityModel& model, const ScoredPair& line) {
  if (model.reading) {
    TokenizerInput texts{line.first};
    if (model.head.pairs) texts.second = line.second;
    Encoding row = TextReader(model.config, model.tokenizer, model.reading).encode(texts);
    return {std::move(row.ids), std::move(row.type_ids)};
  }
  const Tokenizer& pieces = model.tokenizer;
  const std::int64_t context = model.config.longest_row();
  if (model.head.pairs) {
    return join_pair({pieces.encode(line.first), pieces.encode(line.second)}, pieces.cls_id(),
                     pieces.sep_id(), context);
  }
  return {with_ends(pieces.encode(line.first), pieces.cls_id(), pieces.sep_id(), context), {}};
}

NamedTensors similarity_inputs(const SimilarityModel& model, std::span<const PairTokens> lines) {
  std::vector<std::vector<std::int32_t>> ids, types;
  for (const PairTokens& line : lines) {
    ids.push_back(line.ids);
    types.push_back(line.token_types);
  }
  const std::int64_t most = model.config.longest_row();
  const TokenRows rows = pad_rows(ids, padding_id(model.config, model.tokenizer), 16, most);
  NamedTensors inputs = {{"tokens", rows.ids}, {"mask", rows.mask}};
  if (reads_token_types(model))
    inputs.emplace_back("token_types", pad_rows(types, 0, 16, most).ids);
  return inputs;
}

}  // namespace weft
