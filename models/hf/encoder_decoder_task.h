// Builds the Hugging Face encoder-decoder classes. Internal to hf.
#pragma once

#include <string>

#include "weft/models/families/encoder_decoder.h"
#include "weft/models/hf/encoder_task.h"

namespace weft::hf {

/// Module names of a family, and the classes that the family has.
struct EncoderDecoderStyle {
  /// Name of the class with a language-model head, without the prefix of the family.
  std::string lm_class;
  /// Prefix of all names in classes with a head, except the names of the heads themselves ("model."
  /// in BART).
  std::string base = {};
  ModuleNames modules = {};
  bool has_encoder_class = false;
  /// True if the family has classes for sequence and span classification (BART, mBART).
  bool has_classifiers = false;
  /// Number of labels if the config does not specify it.
  std::int64_t default_labels = 2;
  /// True if the decoder reads the shifted input ids when both decoder_input_ids and labels are
  /// missing (BART).
  bool decodes_inputs = false;
  std::set<std::string> unused_buffers = {};
};

/// Adds the names of the layers of one stack: "<stack>.layers.<i>.<ours>" and
/// "<prefix>.<i>.<theirs>".
void add_stack(ModuleNames& names, const std::string& stack, std::int64_t layers,
               const std::string& prefix, const ModuleNames& parts);

/// Builds the model, including its loss, for the class that `request` names.
Model build_encoder_decoder(Request& request, const EncoderDecoderConfig& config,
                            const EncoderDecoderStyle& style);

}  // namespace weft::hf
