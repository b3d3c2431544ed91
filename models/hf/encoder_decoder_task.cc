#include "weft/models/hf/encoder_decoder_task.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::hf {
namespace {

/// The decoder's input: as given, or made from labels or input ids.
Value decoder_ids(Request& request, const EncoderDecoder& net, const EncoderDecoderStyle& style,
                  Value ids, Value labels) {
  const Value given = request.input("decoder_input_ids", {"batch", "target"});
  if (given.defined()) return given;
  if (labels.defined()) return net.shift_right(labels);
  if (style.decodes_inputs) return net.shift_right(ids);
  throw ArgumentError(
      fmt::format("{} needs the input decoder_input_ids, or labels", request.architecture));
}

Model build_encoder_class(Request& request, const EncoderDecoderConfig& config, Model model) {
  const EncoderDecoder net(Scope(request.graph), config, Stacks::encoder);
  const Value ids = request.required("input_ids", {"batch", "seq"});
  const StackOutputs out = net.encode(ids, request.input("attention_mask", {"batch", "seq"}));
  model.outputs["last_hidden_state"] = out.last_hidden_state;
  put_hidden(model, "hidden.", out.hidden);
  return model;
}

}  // namespace

void add_stack(ModuleNames& names, const std::string& stack, std::int64_t layers,
               const std::string& prefix, const ModuleNames& parts) {
  for (std::int64_t i = 0; i < layers; ++i) {
    for (const auto& [ours, theirs] : parts)
      names.emplace_back(fmt::format("{}.layers.{}.{}", stack, i, ours),
                         fmt::format("{}.{}.{}", prefix, i, theirs));
  }
}

Model build_encoder_decoder(Request& request, const EncoderDecoderConfig& config,
                            const EncoderDecoderStyle& style) {
  request.config.labels();  // of other heads
  const std::string task = request.task(style.class_prefix);
  const bool with_head = task == style.lm_class;
  Model model;
  for (const auto& [ours, theirs] : style.modules)
    model.names.add(ours, (with_head ? style.base : "") + theirs);
  model.unused_buffers = style.unused_buffers;
  if (task == "EncoderModel" && style.has_encoder_class)
    return build_encoder_class(request, config, std::move(model));
  if (!with_head && task != "Model") request.unsupported_architecture();
  if (with_head) {
    model.names.add("head.weight", "lm_head.weight");
    model.names.add("head.bias", "final_logits_bias");
  }

  EncoderDecoderConfig built = config;
  if (!with_head) {
    built.tied_head = true;
    built.head_bias = false;
  }
  const auto shared = std::make_shared<const EncoderDecoder>(Scope(request.graph), built);
  const EncoderDecoder& net = *shared;
  if (with_head) model.encoder_decoder = shared;
  const Value ids = request.required("input_ids", {"batch", "seq"});
  const Value mask = request.input("attention_mask", {"batch", "seq"});
  const Value labels = with_head ? request.input("labels", {"batch", "target"}) : Value();
  const Value target = decoder_ids(request, net, style, ids, labels);
  const StackOutputs encoded = net.encode(ids, mask);
  const StackOutputs decoded =
      net.decode(target, request.input("decoder_attention_mask", {"batch", "target"}),
                 encoded.last_hidden_state, mask);
  model.outputs["encoder_last_hidden_state"] = encoded.last_hidden_state;
  model.outputs["last_hidden_state"] = decoded.last_hidden_state;
  put_hidden(model, "encoder_hidden.", encoded.hidden);
  put_hidden(model, "decoder_hidden.", decoded.hidden);
  if (!with_head) return model;
  const Value logits = net.logits(decoded.last_hidden_state);
  model.outputs["logits"] = logits;
  if (labels.defined()) model.outputs["loss"] = net.loss(logits, labels);
  return model;
}

}  // namespace weft::hf
