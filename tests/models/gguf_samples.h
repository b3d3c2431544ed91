// Small decoders with random weights, at least one per GGUF architecture.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/models/tasks/next_token/language_model.h"

namespace weft {

struct GgufSample {
  std::string name;          // "llama-yarn"
  std::string architecture;  // "llama"
  GptConfig config;
  /// True if llama.cpp computes GELU with a table of half-precision numbers.
  bool gelu = false;
};
/// Returns the samples. The rows of their matrices are whole blocks of 32 elements.
const std::vector<GgufSample>& gguf_samples();

/// Returns a tokenizer with byte pieces, "</s>" and some words, of at most 300 ids.
Tokenizer gguf_tokenizer();

/// Builds a model with weights that depend only on their names and sizes.
std::unique_ptr<LanguageModel> gguf_model(const GptConfig& config);

/// Returns logits f32 [ids, vocab] of a model for a text.
Tensor gguf_logits(const LanguageModel& model, const std::vector<std::int32_t>& ids);

}  // namespace weft
