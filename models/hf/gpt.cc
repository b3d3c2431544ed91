// The GPT family.
#include "weft/models/families/gpt.h"

#include "weft/models/hf/request.h"

namespace weft::hf {

Model build_gpt2(Request& request) {
  if (request.task("GPT2") != "LMHeadModel") request.unsupported_architecture();
  const Gpt gpt(Scope(request.graph), GptConfig::from_hugging_face(request.config.object().dump()));
  for (const auto& [key, value] : request.config.object().items()) request.config.find(key.c_str());
  GptInputs inputs{.ids = request.required("input_ids", {"batch", "seq"})};
  inputs.attention_mask = request.input("attention_mask", {"batch", "seq"});
  inputs.position_ids = request.input("position_ids", {"batch", "seq"});
  const GptOutputs out = gpt(inputs);
  Model model;
  model.outputs = {{"logits", out.logits}, {"last_hidden_state", out.last_hidden_state}};
  put_hidden(model, "hidden.", out.hidden);
  if (const Value labels = request.input("labels", {"batch", "seq"}); labels.defined())
    model.outputs["loss"] = next_token_loss(out.logits, labels);
  model.valid_rows = inputs.attention_mask;
  model.unused_buffers = {"attn.bias", "attn.masked_bias"};
  return model;
}

}  // namespace weft::hf
