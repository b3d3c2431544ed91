// Encoders with their heads in the form of the Hugging Face classes. Internal to hf.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/families/encoder_heads.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// Pairs of module names: Weft's and Hugging Face's.
using ModuleNames = std::vector<std::pair<std::string, std::string>>;

/// A dense layer over the first token, with its Hugging Face name.
struct PoolerStyle {
  std::string name;
  Activation activation = Activation::tanh;
};

/// Module names of a family, and the structure of its heads.
struct EncoderStyle {
  std::string base;          // "bert": prefix of the encoder's names, except in the base class
  ModuleNames encoder = {};  // without the prefix `base`
  ModuleNames heads = {};    // complete names
  /// Pooler of the base model and of sentence-pair heads. The name is without the prefix `base`; an
  /// empty name means that there is no pooler.
  PoolerStyle pooler = {};
  PoolerStyle classifier_dense = {};  // pooler of sequence classifiers; complete name
  std::string masked_lm_class = "ForMaskedLM";
  MaskedLmOptions masked_lm = {};
  // Pre-training on sentence pairs; without it, pair_logits is empty.
  std::string pair_logits = {};  // "seq_relationship_logits"
  std::string pair_labels = {};  // "next_sentence_label"
  std::int64_t pair_classes = 2;
  bool replaced_tokens = false;  // pre-training detects replaced tokens (ELECTRA)
  bool takes_position_ids = true, takes_token_types = true;
  /// DeBERTa's loss of sequence classifiers if the config has no problem_type: labels below 0 are
  /// ignored, and labels with two axes are probabilities.
  bool soft_sequence_labels = false;
};

/// Returns the style of classes with these heads.
EncoderStyle style_with(const HeadFacts& heads);

/// Adds the names of the modules of all layers: "layers.<index>.<ours>" and
/// "<prefix(index)>.<theirs>". Throws ArgumentError for more layers than any model has: names are
/// created before the rest of a configuration is checked, and with a mistaken number they would
/// fill the memory.
void add_layers(ModuleNames& names, std::int64_t layers,
                const std::function<std::string(std::int64_t)>& prefix, const ModuleNames& parts);
/// As above, with the prefix "<stack>.<index>".
void add_layers(ModuleNames& names, std::int64_t layers, std::string_view stack,
                const ModuleNames& parts);

/// Returns how a classifier interprets the input "labels": by the problem_type of the config, else
/// by the number of labels and the dtype of the input. Throws ArgumentError for an unknown
/// problem_type.
Problem label_problem(const Request& request, std::int64_t labels);

/// Builds encoder, head and loss for the class of the request.
Model build_encoder(Request& request, const EncoderConfig& config, const EncoderStyle& style);

}  // namespace weft::hf
