// Encoders with their heads, as Hugging Face's classes put them together. Internal to hf.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/families/encoder_heads.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// Names of modules: Weft's and the library's.
using ModuleNames = std::vector<std::pair<std::string, std::string>>;

/// A dense layer over the first token, and what it is called in the library.
struct PoolerStyle {
  std::string name;
  Activation activation = Activation::tanh;
};

/// How a family calls its parts, and what its heads are made of.
struct EncoderStyle {
  std::string base;          // "bert": in front of the encoder's names, but in the base class
  ModuleNames encoder = {};  // without the base
  ModuleNames heads = {};    // as they are
  /// Of the base model and of heads for pairs of sentences, below the base; no name: none.
  PoolerStyle pooler = {};
  PoolerStyle classifier_dense = {};  // of sequence classification, as it is
  std::string masked_lm_class = "ForMaskedLM";
  MaskedLmOptions masked_lm = {};
  // Pre-training on pairs of sentences; no logits: there is none.
  std::string pair_logits = {};  // "seq_relationship_logits"
  std::string pair_labels = {};  // "next_sentence_label"
  std::int64_t pair_classes = 2;
  bool replaced_tokens = false;  // pre-training is ELECTRA's
  bool takes_position_ids = true, takes_token_types = true;
  /// DeBERTa's loss of sequences where the config states no problem_type: labels below 0 do not
  /// count, and labels with two axes are probabilities.
  bool soft_sequence_labels = false;
};

/// The style of a family's classes with these heads.
EncoderStyle style_with(const HeadFacts& heads);

/// Adds the names of all layers' modules: "layers.<index>.<ours>" and "<prefix(index)>.<theirs>".
/// Throws ArgumentError for more layers than any model has: names are made before the rest of a
/// configuration is checked, and for a number that is a mistake they would fill the memory.
void add_layers(ModuleNames& names, std::int64_t layers,
                const std::function<std::string(std::int64_t)>& prefix, const ModuleNames& parts);
/// The same where the prefix is "<stack>.<index>".
void add_layers(ModuleNames& names, std::int64_t layers, std::string_view stack,
                const ModuleNames& parts);

/// What the input "labels" is to a classifier: as the config's problem_type says, else by their
/// number and dtype. Throws ArgumentError for an unknown problem_type.
Problem label_problem(const Request& request, std::int64_t labels);

/// Builds encoder, head and loss for the request's class.
Model build_encoder(Request& request, const EncoderConfig& config, const EncoderStyle& style);

}  // namespace weft::hf
