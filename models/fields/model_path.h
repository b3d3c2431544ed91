// The path of a model, with the settings for reading it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The path of a .weft file, a Hugging Face folder or a GGUF file. Strings convert to it.
struct ModelPath {
  std::string path = {};
  /// Keys that are removed from all JSON files of the folder before they are used, for example
  /// {"attention_flavour", "rope_scaling.beta"}. A dot separates the key of an object from a key
  /// within it. Use this for a key that Weft rejects although it does not change the results. A key
  /// that no file contains is an error. For a GGUF file, these are keys of its metadata.
  std::vector<std::string> ignored_keys = {};
  /// Verifies every byte: the checksums of a .weft file even if it was verified before
  /// (LoadOptions::once), and that the weights of a folder are finite even if they are large.
  bool verify = false;
  /// Converts bf16 weights of a folder to f32, to change them. Otherwise, the matrices of a decoder
  /// stay bf16 and are read in place from the mapped file.
  bool widen = false;

  ModelPath() = default;
  ModelPath(std::string at, std::vector<std::string> ignored = {})  // NOLINT: implicit
      : path(std::move(at)), ignored_keys(std::move(ignored)) {}
  ModelPath(const char* at) : path(at) {}               // NOLINT: implicit
  operator const std::string&() const { return path; }  // NOLINT: implicit
};

}  // namespace weft
