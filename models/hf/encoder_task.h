// Builds encoders with the heads of the Hugging Face classes. Internal to hf.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/families/encoder_heads.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// Pairs of module names: the name in Weft and the name in Hugging Face transformers.
using ModuleNames = std::vector<std::pair<std::string, std::string>>;

/// A pooler: a dense layer on the first token. `name` is its name in Hugging Face transformers.
struct PoolerStyle {
  std::string name;
  Activation activation = Activation::tanh;
};

/// Module names of a family, and the structure of its heads.
struct EncoderStyle {
  /// Prefix of the names of encoder modules, for example "bert". The base class does not use it.
  std::string base;
  ModuleNames encoder = {};  // names without the prefix `base`
  ModuleNames heads = {};    // full names
  /// Pooler of the base model and of sentence-pair heads. Its name does not include the prefix
  /// `base`; an empty name means that there is no pooler.
  PoolerStyle pooler = {};
  /// Pooler of sequence classifiers, with its full name.
  PoolerStyle classifier_dense = {};
  std::string masked_lm_class = "ForMaskedLM";
  MaskedLmOptions masked_lm = {};
  // Pre-training on sentence pairs. If there is no such task, pair_logits is empty.
  std::string pair_logits = {};  // for example "seq_relationship_logits"
  std::string pair_labels = {};  // for example "next_sentence_label"
  std::int64_t pair_classes = 2;
  bool replaced_tokens = false;  // pre-training detects replaced tokens (ELECTRA)
  bool takes_position_ids = true, takes_token_types = true;
  /// Enables DeBERTa's loss for sequence classifiers whose config has no problem_type: labels below
  /// 0 are ignored, and labels with two axes are probabilities.
  bool soft_sequence_labels = false;
};

/// Returns the style of classes that have these heads.
EncoderStyle style_with(const HeadFacts& heads);

/// Adds the names of the modules of all layers: "layers.<index>.<ours>" and
/// "<prefix(index)>.<theirs>". Throws ArgumentError if there are more layers than the size limits
/// allow. The names are created before the rest of the configuration is checked, so an excessive
/// number of layers would exhaust memory.
void add_layers(ModuleNames& names, std::int64_t layers,
                const std::function<std::string(std::int64_t)>& prefix, const ModuleNames& parts);
/// As above, with the prefix "<stack>.<index>".
void add_layers(ModuleNames& names, std::int64_t layers, std::string_view stack,
                const ModuleNames& parts);

/// Returns how a classifier interprets the input "labels". This depends on the problem_type in the
/// config or, if there is none, on the number of labels and the dtype of the input. Throws
/// ArgumentError for an unknown problem_type.
Problem label_problem(const Request& request, std::int64_t labels);

/// Builds the encoder, the head and the loss for the class that `request` names.
Model build_encoder(Request& request, const EncoderConfig& config, const EncoderStyle& style);

}  // namespace weft::hf
