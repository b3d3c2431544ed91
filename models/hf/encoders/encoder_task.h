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
  ModuleNames embeddings = {{"tokens", "embeddings.word_embeddings"},
                            {"positions", "embeddings.position_embeddings"},
                            {"token_types", "embeddings.token_type_embeddings"},
                            {"task_types", "embeddings.task_type_embeddings"},
                            {"norm", "embeddings.LayerNorm"}};
  /// Names of modules that not all encoders have, without the prefix `base`.
  ModuleNames encoder = {};
  /// Format of the name of layer {1} of group {0}, also without the prefix. Without groups, every
  /// layer is a group.
  std::string layer = {};
  ModuleNames layer_modules = {};  // relative to a layer
  /// Parameters that files store in another form, relative to a layer.
  std::vector<FileLayout> layer_layouts = {};
  OlderNames older_names = {};
  ModuleNames heads = {};  // of pre-training classes, full names
  std::string sequence_classifier = "classifier";
  std::string span = "qa_outputs";
  /// Pooler of the base model and of sentence-pair heads. Its name does not include the prefix
  /// `base`; an empty name means that there is no pooler.
  PoolerStyle pooler = {};
  /// Pooler of sequence classifiers, or hidden layer of all heads (EncoderConfig::token_head), with
  /// its full name and that of its norm.
  PoolerStyle classifier_dense = {};
  std::string classifier_norm = {};
  MaskedLmOptions masked_lm = {};
  // Pre-training on sentence pairs. If there is no such task, pair_logits is empty.
  std::string pair_logits = {};   // for example "seq_relationship_logits"
  std::string pair_labels = {};   // for example "next_sentence_label"
  bool configured_pairs = false;  // the number of classes is that of the config, else 2
  bool has_next_sentence_class = false;
  bool replaced_tokens = false;  // pre-training detects replaced tokens (ELECTRA)
  /// The class ForPreTraining is that of a masked language model.
  bool pretrains_on_tokens = false;
  bool takes_position_ids = true, takes_token_types = true;
  bool answers_questions = true;  // false: there is no class for question answering
  /// The last of the hidden states is taken after the final norm.
  bool last_hidden_has_norm = false;
  /// Without an attention mask, tokens with the padding id are masked.
  bool masks_padding_ids = false;
  /// Patterns of further tensors that files may contain, relative to the base model.
  std::vector<std::string> unused = {};
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
