// Longformer: RoBERTa with windows and tokens with global attention.
#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {
namespace {

/// Reads attention_window: one window, or a list with one window per layer.
void read_windows(const json& value, EncoderConfig& c) {
  constexpr const char* kKey = "attention_window";
  c.window = 0;
  c.layer_windows.clear();
  if (value.is_array()) {
    read_json(value, kKey, c.layer_windows);
  } else {
    read_json(value, kKey, c.window);
  }
  std::vector<double> windows = c.layer_windows;
  if (!value.is_array()) windows = {static_cast<double>(c.window)};
  for (const double window : windows) {
    if (window > 0 && window / 2 == std::floor(window / 2)) continue;
    throw ArgumentError(
        fmt::format("config.json: {} must be positive and even, not {}", kKey, window));
  }
  if (value.is_array() && std::ssize(windows) != c.layers)
    throw ArgumentError(fmt::format("config.json: {} has {} entries, but the model has {} layers",
                                    kKey, windows.size(), c.layers));
}

json windows_of(const EncoderConfig& c) {
  if (c.layer_windows.empty()) return c.window;
  json list = json::array();
  for (std::int64_t i = 0; i < c.layers; ++i) list.push_back(c.window_at(i));
  return list;
}

}  // namespace

ModelTypes longformer_model_types() {
  EncoderStyle style{.base = "longformer",
                     .layer = "encoder.layer.{}",
                     .layer_modules = {{"attention_norm", "attention.output.LayerNorm"},
                                       {"attention.out", "attention.output.dense"},
                                       {"feed_forward.up", "intermediate.dense"},
                                       {"feed_forward.down", "output.dense"},
                                       {"feed_forward_norm", "output.LayerNorm"}},
                     .heads = {{"masked_lm.dense", "lm_head.dense"},
                               {"masked_lm.norm", "lm_head.layer_norm"},
                               {"masked_lm.bias", "lm_head.bias"},
                               {"masked_lm.decoder", "lm_head.decoder"}},
                     .sequence_classifier = "classifier.out_proj",
                     .pooler = {"pooler.dense", Activation::tanh},
                     .classifier_dense = {"classifier.dense", Activation::tanh}};
  for (const std::string part : {"query", "key", "value"}) {
    style.layer_modules.emplace_back("attention." + part, "attention.self." + part);
    style.layer_modules.emplace_back("attention.global_" + part,
                                     fmt::format("attention.self.{}_global", part));
  }
  return encoder_model_types(
      {{.name = "longformer",
        .prefix = "Longformer",
        .defaults = {.padding_id = 1,
                     .positions_skip_padding = true,
                     .window = 512,
                     .global_attention = true,
                     .hidden_dropout = 0.1,
                     .attention_dropout = 0.1},
        .style = style,
        .keys = [](auto& config, EncoderConfig& c, EncoderStyle& own) {
          encoder_keys(config, c);
          config.field("tie_word_embeddings", c.tied_head)
              .field("sep_token_id", c.separator_id)
              .converted(
                  "attention_window", [&](const json& value) { read_windows(value, c); },
                  [&] { return windows_of(c); })
              .fixed("attention_mode", "longformer", "other kinds of attention are not supported");
          own.masked_lm.layer_norm_eps = c.layer_norm_eps;
        }}});
}

}  // namespace weft::hf
