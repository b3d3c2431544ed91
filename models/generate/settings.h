// What a model's authors say of generating with it: part of the model, as its file holds it.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/generate/options.h"

namespace weft {

/// Of a model of a Hugging Face folder: what its generation_config.json says, and what its texts
/// are among.
struct GenerationSettings {
  /// Without stop_sequences and `stop`, which are not of the model.
  GenerationOptions options;
  /// Whether lengths were stated; else those of `options` are only the library's defaults.
  bool states_length = false;
  /// What the output of an encoder-decoder begins with; empty: not stated.
  TokenIds start = {};
  /// Ids in front of and behind every text that is read, where the tokenizer puts none there.
  TokenIds before = {}, after = {};

  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field. Who generates looks at what
  /// the values are.
  static GenerationSettings from_json(std::string_view json);
};

}  // namespace weft
