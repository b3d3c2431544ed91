#include "weft/models/hf/folder_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "weft/core/error.h"

namespace weft::hf {
namespace {

namespace fs = std::filesystem;

/// Returns true for the subfolders of Sentence Transformers, such as "1_Pooling".
bool is_module_folder(const std::string& name) {
  constexpr std::array<std::string_view, 6> kKinds = {"Transformer", "Pooling",   "Dense",
                                                      "LayerNorm",   "Normalize", "Dropout"};
  const std::size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos || name[digits] != '_') return false;
  return std::find(kKinds.begin(), kKinds.end(), std::string_view(name).substr(digits + 1)) !=
         kKinds.end();
}

/// Returns true if Hugging Face transformers or weft writes files with this name to model folders.
bool is_model_file(const std::string& name) {
  constexpr std::array<std::string_view, 23> kNames = {"adapter_config.json",
                                                       "adapter_model.safetensors",
                                                       "added_tokens.json",
                                                       "chat_template.jinja",
                                                       "chat_template.json",
                                                       "config.json",
                                                       "config_sentence_transformers.json",
                                                       "generation_config.json",
                                                       "merges.txt",
                                                       "model.safetensors",
                                                       "modules.json",
                                                       "preprocessor_config.json",
                                                       "sentence_bert_config.json",
                                                       "sentencepiece.bpe.model",
                                                       "source.spm",
                                                       "special_tokens_map.json",
                                                       "spiece.model",
                                                       "spm.model",
                                                       "target.spm",
                                                       "tokenizer.json",
                                                       "tokenizer.model",
                                                       "tokenizer_config.json",
                                                       "vocab.json"};
  return name == "vocab.txt" || std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         is_module_folder(name) || (name.starts_with("model-") && name.ends_with(".safetensors")) ||
         name == "model.safetensors.index.json";
}

}  // namespace

void check_folder_target(const std::string& path, bool force) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (there.type() == fs::file_type::not_found) return;
  if (error) throw IoError(fmt::format("cannot write {}: {}", path, error.message()));
  if (!fs::is_directory(there))
    throw IoError(
        fmt::format("cannot write the folder {}: the path exists and is not a folder", path));
  bool is_model = false;
  std::string other;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    is_model |= name == "config.json" || name == "adapter_config.json";
    if (!is_model_file(name) && (other.empty() || name < other)) other = name;
  }
  if (error) throw IoError(fmt::format("cannot read the folder {}: {}", path, error.message()));
  if (!is_model && fs::is_empty(path, error)) return;
  if (!is_model) {
    throw IoError(fmt::format(
        "the folder {} exists, is not empty and contains no model (config.json): choose "
        "another one",
        path));
  }
  if (!other.empty() && !force) {
    throw IoError(
        fmt::format("replacing the folder {} would delete {}, which is not a model file: choose "
                    "another folder, or add --force",
                    path, other));
  }
}

}  // namespace weft::hf
