// Pre-tokenizers of byte-level BPE by their names in GGUF files (tokenizer.ggml.pre). Internal to
// models/gguf.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weft::gguf {

/// How a named pre-tokenizer splits texts.
struct PreTokenizer {
  /// The component of a tokenizer.json with the same effect.
  nlohmann::json component;
  bool ignore_merges = false;  // words in the vocabulary are not split
  bool adds_bos = false;       // default of tokenizer.ggml.add_bos_token
};

/// Returns the pre-tokenizer with this name. Throws FormatError, with the known names, if it is
/// unknown.
PreTokenizer find_pre_tokenizer(std::string_view name);

/// Returns the name of the pre-tokenizer that has the effect of a component of a tokenizer.json.
/// Returns std::nullopt for other components.
std::optional<std::string> pre_tokenizer_name(const nlohmann::json& component, bool ignore_merges);

}  // namespace weft::gguf
