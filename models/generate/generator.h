// Generating with decoders (GPT) over caches of keys and values.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/search.h"

namespace weft {

/// Generates with a program that Gpt::decode_program made: every id costs one step. Prompts of
/// unequal length stand in one batch with padding on the left, which nobody sees and which has no
/// position.
class Generator {
 public:
  /// Session and program must outlive the Generator; the session may be training between calls.
  /// Programs of files from before "visible" was an input know no padding: their prompts must be of
  /// one length.
  Generator(Session& session, const Program& decode, const GptConfig& config);

  /// Continues each prompt as if it were alone (greedily to the same ids but for ties within
  /// rounding): lengths count its own ids. Sequences begin with the prompt. Throws as search();
  /// ArgumentError for an empty prompt and where learned positions do not reach the longest
  /// sequence and `slide` is off.
  SearchResult generate(const std::vector<TokenIds>& prompts, const GenerationOptions& options = {},
                        const OnToken& on_token = {});

  /// Continues `prompts`, i64 [prompts, length]; `mask`, of the same type or undefined, has 0 for
  /// padding, which is on the left. As in Hugging Face's library lengths count the padding, rules
  /// see it, and shorter sequences are filled up with pad_id.
  SearchResult generate(const Tensor& prompts, const Tensor& mask, const GenerationOptions& options,
                        const OnToken& on_token = {});

 private:
  struct Batch;
  SearchResult run(const SearchStarts& starts, std::vector<TokenIds> texts,
                   const GenerationOptions& options, const OnToken& on_token);
  Tensor step(Batch& batch, const Tensor& tokens, std::int64_t position, const Tensor& parents);
  Tensor decode(Batch& batch, const std::vector<TokenIds>& columns);

  Session& session_;
  Program decode_;
  std::optional<Program> reorder_;  // made when beams first need it
  GptConfig config_;
  DType id_type_;
  bool knows_padding_ = false;
};

}  // namespace weft
