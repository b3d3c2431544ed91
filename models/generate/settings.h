// What a model's authors say of generating with it: part of the model, as its file holds it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// What is different where a model is used for one of several tasks: "translation_en_to_de".
struct TaskGeneration {
  std::string prefix = {};         // in front of every text: "translate English to German: "
  GenerationOptions options = {};  // all of them, not only those that differ
  bool states_length = false;      // as GenerationSettings
  TokenIds start = {};             // as GenerationSettings
  std::string refused = {};        // why the task is not supported; empty: it is
};

/// Of a model of a Hugging Face folder: what its generation_config.json says, and what its texts
/// are among.
struct GenerationSettings {
  /// Without stop_sequences and `stop`, which are not of the model.
  GenerationOptions options = {};
  /// Whether lengths were stated; else those of `options` are only the library's defaults.
  bool states_length = false;
  /// What the output of an encoder-decoder begins with; empty: not stated.
  TokenIds start = {};
  /// Ids in front of and behind every text that is read, where the tokenizer puts none there.
  TokenIds before = {}, after = {};
  /// By their names. Files of earlier versions know none.
  std::map<std::string, TaskGeneration, std::less<>> tasks = {};

  /// Throws ArgumentError that lists the tasks for a name that is none of them, and for a task that
  /// is not supported.
  const TaskGeneration& task(std::string_view name) const;
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field. Who generates looks at what
  /// the values are.
  static GenerationSettings from_json(std::string_view json);
};

}  // namespace weft
