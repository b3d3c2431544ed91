#include <fmt/format.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/gguf/architecture.h"
#include "weft/models/gguf/config.h"
#include "weft/models/gguf/model.h"
#include "weft/models/gguf/tokenizer.h"
#include "weft/serialization/files/read_file.h"

namespace weft::gguf {

bool is_gguf(const std::string& path) { return first_bytes(path, 4) == "GGUF"; }

namespace {

/// Returns the metadata without the given keys. Throws ArgumentError if a key does not exist.
GgufMetadata without(const GgufMetadata& metadata, const ModelPath& path) {
  std::vector<std::string> known;
  for (const GgufMetadata::Entry& entry : metadata.entries()) known.push_back(entry.key);
  for (const std::string& key : path.ignored_keys) {
    if (metadata.contains(key)) continue;
    throw ArgumentError(
        fmt::format("{} does not contain the key '{}', so it cannot be ignored "
                    "(--ignore-config-key){}",
                    path.path, excerpt(key), did_you_mean(key, known)));
  }
  GgufMetadata rest(path.path);
  for (const GgufMetadata::Entry& entry : metadata.entries()) {
    if (std::find(path.ignored_keys.begin(), path.ignored_keys.end(), entry.key) ==
        path.ignored_keys.end())
      rest.set(entry.key, entry.value, entry.offset);
  }
  return rest;
}

}  // namespace

ModelFile read_model(const ModelPath& path) {
  ModelFile model;
  model.file = read_gguf(path.path);
  if (!path.ignored_keys.empty()) model.file.metadata = without(model.file.metadata, path);
  const Architecture& architecture = find_architecture(model.file);
  model.architecture = architecture.name;
  try {
    model.config = read_config(model.file, architecture, model.notes);
  } catch (const ArgumentError& e) {  // GptConfig::check() knows no files
    e.rethrow_as(fmt::format("{}: {}", path.path, e.what()));
  }
  model.text = read_tokenizer(model.file);
  const Tokenizer* tokenizer = model.text.tokenizer ? &*model.text.tokenizer : nullptr;
  if (tokenizer != nullptr && tokenizer->vocab_size() > model.config.vocab) {
    throw FormatError(fmt::format("{}: the tokenizer has {} ids, but token_embd.weight has {} rows",
                                  path.path, tokenizer->vocab_size(), model.config.vocab));
  }
  model.generation = read_generation(model.file, tokenizer);
  try {
    model.chat = read_chat(model.file, tokenizer);
  } catch (const FormatError& e) {
    model.notes.push_back(fmt::format("the chat template is not supported: {}", e.what()));
  }
  return model;
}

}  // namespace weft::gguf
