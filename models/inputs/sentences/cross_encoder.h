// The settings of a cross-encoder: how the outputs of a classifier for text pairs become scores.
// Reference: the class CrossEncoder of https://github.com/huggingface/sentence-transformers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "weft/models/hf/origin.h"

namespace WEFT_API weft {

struct CrossEncoderSettings {
  std::string activation = "Identity";  // applied to the outputs; see torch_activation()
  /// Maximum number of tokens of a text pair, including special tokens. 0: the context of the
  /// model.
  std::int64_t max_tokens = 0;
  bool lower_case = false;  // texts are converted to lower case
};

/// Returns the settings in the files of a folder with a classifier for `labels` labels: the
/// activation function in config_sentence_transformers.json or config.json, by default Sigmoid for
/// one label and Identity for several. Throws FormatError if a file is invalid, and an
/// ArgumentError that names the key if a setting is not supported.
CrossEncoderSettings cross_encoder_settings(const hf::FolderOrigin& files, std::size_t labels);

/// Returns the files of a folder that describe a cross-encoder, without config.json: file contents
/// by name.
std::map<std::string, std::string> cross_encoder_files(const hf::FolderOrigin& files);

}  // namespace weft
