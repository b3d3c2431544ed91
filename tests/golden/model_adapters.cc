#include "model_adapters.h"

#include "weft/models/families/gpt.h"

namespace weft::golden {
namespace {

ModelOutputs gpt2(const ModelCase& c) {
  const Gpt model(Scope(c.graph), GptConfig::from_hugging_face(c.config.dump()));
  GptInputs inputs{.ids = c.inputs.at("input_ids")};
  if (c.inputs.count("attention_mask") != 0) inputs.attention_mask = c.inputs.at("attention_mask");
  if (c.inputs.count("position_ids") != 0) inputs.position_ids = c.inputs.at("position_ids");
  const GptOutputs out = model(inputs);
  name_outputs(out);
  ModelOutputs result;
  result.values = {{"logits", out.logits}, {"last_hidden_state", out.last_hidden_state}};
  for (std::size_t i = 0; i < out.hidden.size(); ++i) {
    result.values["hidden." + std::to_string(i)] = out.hidden[i];
  }
  if (c.inputs.count("labels") != 0) {
    result.values["loss"] = next_token_loss(out.logits, c.inputs.at("labels"));
  }
  result.valid_rows = inputs.attention_mask;
  return result;
}

}  // namespace

const std::map<std::string, ModelAdapter>& model_adapters() {
  static const std::map<std::string, ModelAdapter> adapters = {{"gpt2", gpt2}};
  return adapters;
}

}  // namespace weft::golden
