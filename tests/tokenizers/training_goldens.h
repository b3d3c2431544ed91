// The training corpus of the reference tokenizers, and the quality that these tokenizers reached.
#pragma once

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "goldens.h"

namespace weft::testing {

/// A text that is split into a training part and a held-out part.
struct TrainingCorpus {
  std::string trained, rest;
};

/// Returns the corpus. If there are no golden files for training, prints that the test is skipped
/// and returns nullopt.
inline std::optional<TrainingCorpus> training_corpus() {
  const auto file = shared_token_goldens() / "../../data/tinyshakespeare/input.txt";
  if (!std::filesystem::exists(file) ||
      !std::filesystem::exists(token_goldens() / "train/metrics.json")) {
    std::cout << "skipped: no golden files of tokenizer training\n";
    return std::nullopt;
  }
  const std::string text = golden_bytes(file);
  constexpr std::size_t kTrained = 1003854;
  return TrainingCorpus{text.substr(0, kTrained), text.substr(kTrained)};
}

/// Returns the number of tokens in the held-out text, by library and vocabulary.
inline nlohmann::json training_metrics(const char* library) {
  return nlohmann::json::parse(golden_bytes(token_goldens() / "train/metrics.json")).at(library);
}

/// Returns the lines of `text` without line feeds. Text after the last line feed is a line if it is
/// not empty.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

inline std::vector<std::string> training_lines(const std::string& name) {
  return lines_of(golden_bytes(token_goldens() / "train" / name));
}

}  // namespace weft::testing
