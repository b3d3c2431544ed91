#include "weft/models/tasks/common/text_encoder.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/training/adapters.h"

namespace weft {
namespace {

constexpr std::string_view kPoolings[] = {"mean", "cls"};

/// Returns the quantised weights of `model` that are declared as float variables in `encoder`.
QuantizedWeights quantized_in(const Graph& model, const Graph& encoder) {
  QuantizedWeights found;
  for (const auto& [name, weight] : quantized_weights(model)) {
    if (encoder.has_variable(name)) found.emplace(name, weight);
  }
  return found;
}

}  // namespace

ChoiceNames choice_names(TextPooling) { return {"pooling", kPoolings}; }

const FieldList<TextVectors>& TextVectors::fields() {
  static const auto list = FieldList<TextVectors>("the text vectors of an encoder")
                               .add("pooling", &TextVectors::pooling,
                                    "how token vectors are pooled into one vector per text: the "
                                    "mean over all tokens, or the first token");
  return list;
}

const ModelLayout& TextEncoder::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "text encoder",
                  .uses = {Use::embed},
                  .programs = {"mean", "cls", "pooler"},
                  .added_programs = {"pooler"},
                  .plan_cache = 128}
          .config(&TextEncoder::config)
          .tokenizer(&TextEncoder::tokenizer)
          .part("model.vectors", "weft.vectors", &TextEncoder::vectors)
          .part(kReadingPart, "weft.reading", &TextEncoder::reading);
  return layout;
}

std::unique_ptr<TextEncoder> TextEncoder::text_encoder() const {
  return std::make_unique<TextEncoder>(*this);
}

void add_text_vectors(TextEncoder& encoder, const Value& h, const Value& mask) {
  const Precision precision = encoder.settings.precision;
  encoder.add_program("mean").precision(precision).output("vectors", mean_of_tokens(h, mask));
  encoder.add_program("cls").precision(precision).output("vectors", select(h, 1, Dim(0)));
}

FolderModel TextEncoder::to_folder() const {
  FolderModel folder =
      encoder_folder(*this, {"Model", "ForPreTraining", "ForNextSentencePrediction"});
  const hf::FolderOrigin kept = origin.value_or(hf::FolderOrigin());
  for (const char* name : {"modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
                           "config_sentence_transformers.json"}) {
    if (const std::string& text = kept.text(name); !text.empty()) folder.more[name] = text;
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

void EncoderModel::check() const { check_vocabulary(config, tokenizer, reading); }

std::unique_ptr<TextEncoder> EncoderModel::text_encoder() const {
  auto encoder = std::make_unique<TextEncoder>();
  encoder->task = "text-embedding";
  encoder->settings = settings;
  encoder->config = config;
  encoder->tokenizer = tokenizer;
  if (reading) encoder->reading = TextReading{};  // single texts need no token types
  Graph& own = *encoder->graph;
  const EncoderInputs inputs = add_text_inputs(own);
  const Value h = Encoder(Scope(own), config)(inputs).last_hidden_state;
  add_text_vectors(*encoder, h, inputs.attention_mask);
  encoder->store = store;
  if (const QuantizedWeights quantized = quantized_in(*graph, own); !quantized.empty()) {
    const RewrittenPrograms rewritten = with_quantized(encoder->all_programs(), quantized);
    encoder->replace_programs(rewritten.graph, rewritten.programs);
  }
  if (lora) share_adapters(*this, *encoder);
  return encoder;
}

std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) {
  return model.as<EncoderModel>(Use::embed).text_encoder();
}

}  // namespace weft
