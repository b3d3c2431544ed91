// Builds encoders with the heads of the Hugging Face classes. Internal to hf.
#pragma once

#include <string>
#include <vector>

#include "weft/models/families/encoder_heads.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// A pooler: a dense layer on the first token. `name` is its name in Hugging Face transformers.
struct PoolerStyle {
  std::string name;
  Activation activation = Activation::tanh;
};

/// Module names of a model type, and the structure of its heads.
struct EncoderStyle {
  /// Prefix of the names of encoder modules, for example "bert". The base class does not use it.
  std::string base;
  /// Names of modules that not all encoders have, without the prefix `base`.
  ModuleNames encoder = {};
  /// Format of the name of layer {1} of group {0}, also without the prefix. Without groups, every
  /// layer is a group.
  std::string layer = {};
  ModuleNames layer_modules = {};  // relative to a layer
  ModuleNames heads = {};          // full names
  std::string sequence_classifier = "classifier";
  /// Pooler of the base model and of sentence-pair heads. Its name does not include the prefix
  /// `base`; an empty name means that there is no pooler.
  PoolerStyle pooler = {};
  /// Pooler of sequence classifiers, with its full name.
  PoolerStyle classifier_dense = {};
  MaskedLmOptions masked_lm = {};
  // Pre-training on sentence pairs. If there is no such task, pair_logits is empty.
  std::string pair_logits = {};   // for example "seq_relationship_logits"
  std::string pair_labels = {};   // for example "next_sentence_label"
  bool configured_pairs = false;  // the number of classes is that of the config, else 2
  bool has_next_sentence_class = false;
  bool replaced_tokens = false;  // pre-training detects replaced tokens (ELECTRA)
  bool takes_position_ids = true, takes_token_types = true;
  /// Enables DeBERTa's loss for sequence classifiers whose config has no problem_type: labels below
  /// 0 are ignored, and labels with two axes are probabilities.
  bool soft_sequence_labels = false;
};

/// A model type: how its config.json, tensor names and classes differ from those of other encoders.
struct EncoderType {
  std::string name;    // model_type in config.json
  std::string prefix;  // prefix of the class names, for example "Bert"
  /// Defaults of the keys, and the fields that have no key.
  EncoderConfig defaults;
  EncoderStyle style;
  Keys<EncoderConfig, EncoderStyle> keys;
};
/// Returns the model types for building and writing.
ModelTypes encoder_model_types(const std::vector<EncoderType>& types);

}  // namespace weft::hf
