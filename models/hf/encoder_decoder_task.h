// Encoder-decoders, as Hugging Face's classes put them together. Internal to hf.
#pragma once

#include <string>

#include "weft/models/families/encoder_decoder.h"
#include "weft/models/hf/encoder_task.h"

namespace weft::hf {

/// How a family calls its parts.
struct EncoderDecoderStyle {
  std::string lm_class;  // what follows the prefix in the class with a head
  /// In front of all names but the head's, in classes with a head ("model." of BART).
  std::string base = {};
  ModuleNames modules = {};
  bool has_encoder_class = false;
  /// There are classifiers of sequences and of spans (BART, mBART); how many labels where the
  /// config does not say.
  bool has_classifiers = false;
  std::int64_t default_labels = 2;
  /// Without decoder_input_ids and labels the decoder reads the input ids, shifted (BART).
  bool decodes_inputs = false;
  std::set<std::string> unused_buffers = {};
};

/// Adds the names of one stack's layers: "<stack>.layers.<i>.<ours>" and
/// "<prefix>.<i>.<theirs>".
void add_stack(ModuleNames& names, const std::string& stack, std::int64_t layers,
               const std::string& prefix, const ModuleNames& parts);

/// Builds the model and its loss for the request's class.
Model build_encoder_decoder(Request& request, const EncoderDecoderConfig& config,
                            const EncoderDecoderStyle& style);

}  // namespace weft::hf
