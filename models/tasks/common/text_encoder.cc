#include "weft/models/tasks/common/text_encoder.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/inputs/sentences/torch_activation.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/pretrained.h"

namespace weft {
namespace {

constexpr const char* kPooledInput = "pooled";
constexpr const char* kUnpaddedPooledInput = "unpadded_pooled";

}  // namespace

const FieldList<TextVectors>& TextVectors::fields() {
  static const auto list = FieldList<TextVectors>("the text vectors of an encoder")
                               .add("pooling", &TextVectors::pooling,
                                    "how token vectors are pooled into one vector per text, for "
                                    "models without settings of Sentence Transformers");
  return list;
}

const ModelLayout& TextEncoder::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "text encoder",
                  .uses = {Use::embed},
                  .programs = {"mean", "cls", "pooler", "max", "mean_sqrt_len_tokens",
                               "weightedmean", "lasttoken", kVectorsProgram, kUnpaddedProgram},
                  .added_programs = {"pooler", "max", "mean_sqrt_len_tokens", "weightedmean",
                                     "lasttoken", kVectorsProgram, kUnpaddedProgram},
                  .plan_cache = 128}
          .config(&TextEncoder::config)
          .tokenizer(&TextEncoder::tokenizer)
          .part("model.vectors", "weft.vectors", &TextEncoder::vectors)
          .part(kReadingPart, "weft.reading", &TextEncoder::reading)
          .part(kDecoderPart, kConfigType<GptConfig>, &TextEncoder::decoder)
          .part("model.contrastive", "weft.contrastive", &TextEncoder::contrastive);
  return layout;
}

std::unique_ptr<TextEncoder> TextEncoder::text_encoder() const {
  return std::make_unique<TextEncoder>(*this);
}

namespace {

/// Applies a module to vectors [texts, width].
Value apply_layer(const VectorLayer& layer, const Scope& root, Value x) {
  const Scope scope = root / "modules" / std::to_string(layer.index);
  if (layer.kind == VectorLayer::Kind::layer_norm) return layer_norm(scope / "norm", x);
  if (layer.kind == VectorLayer::Kind::normalise) {
    constexpr double kLeast = 1e-12;  // as in torch.nn.functional.normalize
    return x / maximum(norm(x, {1}, true), kLeast);
  }
  const Value y = apply_torch_activation(
      layer.activation, linear(scope / "linear", x, layer.out, {.bias = layer.bias}));
  if (!layer.residual) return y;
  return y +
         (layer.in == layer.out ? x : linear(scope / "residual", x, layer.out, {.bias = false}));
}

}  // namespace

Value apply_modules(const SentenceSettings& settings, const Scope& root,
                    const std::function<Value(TextPooling)>& pool) {
  std::vector<Value> parts;
  for (const TextPooling pooling : settings.poolings) parts.push_back(pool(pooling));
  Value x = parts.size() == 1 ? parts.front() : concat(parts, 1);
  for (const VectorLayer& layer : settings.layers) x = apply_layer(layer, root, x);
  return x;
}

void add_text_vectors(TextEncoder& encoder, const Value& h, const Value& mask,
                      const SentenceSettings* settings) {
  const Precision precision = encoder.settings.precision;
  const bool all = settings == nullptr || settings->include_prompt;
  const Value pooled =
      all ? mask : encoder.graph->input(kPooledInput, DType::i32, {"batch", "seq"});
  for (const std::string_view name : choice_names(TextPooling{}).names) {
    encoder.add_program(std::string(name))
        .precision(precision)
        .output("vectors", pool_tokens(parse_choice<TextPooling>(name), h, pooled, all));
  }
  if (settings == nullptr) return;
  const Value x =
      apply_modules(*settings, Scope(*encoder.graph).evaluation(),
                    [&](TextPooling pooling) { return pool_tokens(pooling, h, pooled, all); });
  encoder.add_program(kVectorsProgram).precision(precision).output("vectors", x);
}

void add_unpadded_vectors(TextEncoder& encoder, const EncoderConfig& config,
                          const SentenceSettings* settings) {
  if (!supports_offsets(config)) return;
  Graph& graph = *encoder.graph;
  const Scope root = Scope(graph).evaluation();
  const EncoderInputs inputs = add_unpadded_inputs(graph);
  const Value h = Encoder(root, config)(inputs).last_hidden_state;
  Value pooled;
  if (settings != nullptr && !settings->include_prompt)
    pooled = graph.input(kUnpaddedPooledInput, DType::i32, {1, "total"});
  const auto pool = [&](TextPooling pooling) {
    return pool_texts(pooling, h, inputs.offsets, pooled);
  };
  Program& program = encoder.add_program(kUnpaddedProgram);
  program.precision(encoder.settings.precision);
  for (const std::string_view name : choice_names(TextPooling{}).names)
    program.output(name, pool(parse_choice<TextPooling>(name)));
  if (settings != nullptr) program.output(kVectorsProgram, apply_modules(*settings, root, pool));
}

std::optional<SentenceSettings> TextEncoder::sentences() const {
  // Files of earlier versions have no such program: their vectors are pooled only.
  if (!origin || !has_program(kVectorsProgram)) return std::nullopt;
  return sentence_settings(*origin, config.width);
}

FolderModel TextEncoder::to_folder() const {
  FolderModel folder = encoder_folder(
      *this, {"Model", "ForPreTraining", "ForNextSentencePrediction", "ForMaskedLM",
              "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"});
  folder.library.untrained = {"pooler."};
  if (decoder) {
    folder.library.family = *decoder;
    folder.library.endings = {"Model", "ForCausalLM", "LMHeadModel"};
  }
  if (contrastive) folder.library.endings = {"Model"};  // training drops the head
  const hf::FolderOrigin kept = origin.value_or(hf::FolderOrigin());
  for (const auto& [name, text] : kept.files) {
    const bool module = name.ends_with("/config.json");
    if (module || name == "modules.json" || name == "sentence_bert_config.json" ||
        name == "config_sentence_transformers.json")
      folder.more[name] = text;
  }
  if (const auto settings = sentences()) {
    for (const VectorLayer& layer : settings->layers) {
      if (layer.has_weights())
        folder.weight_files[layer.scope() + "."] = layer.path + "/model.safetensors";
    }
  }
  return folder;
}

EncoderInputs add_text_inputs(Graph& graph, bool token_types) {
  const auto add = [&](const char* name) {
    return graph.input(name, DType::i32, {"batch", "seq"});
  };
  EncoderInputs inputs{.ids = add("tokens"), .attention_mask = add("mask")};
  if (token_types) inputs.token_type_ids = add("token_types");
  return inputs;
}

EncoderInputs add_unpadded_inputs(Graph& graph, bool token_types) {
  const auto add = [&](const char* name) { return graph.input(name, DType::i32, {1, "total"}); };
  EncoderInputs inputs{.ids = add("unpadded_tokens")};
  if (token_types) inputs.token_type_ids = add("unpadded_token_types");
  inputs.offsets = graph.input("offsets", DType::i64, {"ends"});
  return inputs;
}

Value add_token_places(Graph& graph) { return graph.input("token_places", DType::i64, {"tokens"}); }

const Program& without_padding(const TrainedModel& model, const std::string& name) {
  const Program* found = model.find_program(name + kUnpaddedEnding);
  return found != nullptr ? *found : model.program(name);
}

NamedTensors inputs_of(const Program& program, const TextReader& reader,
                       std::span<const TextRow* const> rows, std::int64_t multiple) {
  return program.name().ends_with(kUnpaddedEnding) ? reader.inputs_with_places(rows)
                                                   : reader.inputs(rows, multiple);
}

void EncoderModel::check() const { check_vocabulary(config, tokenizer, reading); }

std::unique_ptr<TextEncoder> EncoderModel::text_encoder() const {
  auto encoder = std::make_unique<TextEncoder>();
  encoder->task = "text-embedding";
  encoder->settings = settings;
  encoder->config = config;
  encoder->tokenizer = tokenizer;
  if (reading)  // single texts need no token types
    encoder->reading = TextReading{.truncation_side = reading->truncation_side};
  Graph& own = *encoder->graph;
  const EncoderInputs inputs = add_text_inputs(own);
  const Value h = Encoder(Scope(own).evaluation(), config)(inputs).last_hidden_state;
  add_text_vectors(*encoder, h, inputs.attention_mask);
  add_unpadded_vectors(*encoder, config);
  share_weights(*this, *encoder);
  return encoder;
}

std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) {
  return model.as<EncoderModel>(Use::embed).text_encoder();
}

}  // namespace weft
