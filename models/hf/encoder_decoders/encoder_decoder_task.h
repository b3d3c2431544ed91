// Builds the Hugging Face encoder-decoder classes. Internal to hf.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "weft/models/families/encoder_decoder.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// The classes of a model type.
struct EncoderDecoderStyle {
  /// Name of the class with a language-model head, without the prefix of the model type.
  std::string lm_class = "ForConditionalGeneration";
  /// Prefix of all names in classes with a head, except the names of the heads themselves ("model."
  /// in BART).
  std::string base = {};
  std::string head = "lm_head";  // name of the output projection
  bool has_encoder_class = false;
  /// True if there is a classifier of the mean of the encoder's hidden states (Whisper).
  bool has_audio_classifier = false;
  /// True if there are classes for sequence and span classification (BART, mBART).
  bool has_classifiers = false;
  /// Number of labels if the config does not specify it.
  std::int64_t default_labels = 2;
  /// True if the decoder reads the shifted input ids when both decoder_input_ids and labels are
  /// missing (BART).
  bool decodes_inputs = false;
  std::set<std::string> unused_buffers = {};
  /// Name of the linear layer of the classes for sequence and token classification that score every
  /// hidden state (T5Gemma). Empty if there are no such classes.
  std::string scores = {};
  /// True if ids equal to the padding id are masked when there is no mask (T5Gemma).
  bool masks_padding_ids = false;
};

/// A model type: how its config.json, tensor names and classes differ from those of other
/// encoder-decoders.
struct EncoderDecoderType {
  std::string name;    // model_type in config.json
  std::string prefix;  // prefix of the class names, for example "Bart"
  /// Defaults of the keys, and the fields that have no key.
  EncoderDecoderConfig defaults;
  EncoderDecoderStyle style;
  Keys<EncoderDecoderConfig> keys;
  /// Adds the module names, with the prefix `base`.
  void (*add_names)(NameMap& names, const EncoderDecoderConfig&, const std::string& base);
  /// Adds the parameters that files store as several tensors; may be null.
  void (*add_layouts)(FileLayouts& layouts, const EncoderDecoderConfig&) = nullptr;
};
/// Adds the module names of BART, which Whisper shares.
void bart_names(NameMap& names, const EncoderDecoderConfig&, const std::string& base);
/// Returns the model types for building and writing.
ModelTypes encoder_decoder_model_types(const std::vector<EncoderDecoderType>& types);

}  // namespace weft::hf
