// Generating with decoders (GPT) over caches of keys and values.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// Most tokens of a text that a model was made for: more either cannot be or is beyond what it was
/// trained on. The greatest number there is for models that read texts of any length.
std::int64_t trained_context(const GptConfig& config);

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

  /// Continues one prompt that mostly begins as the text before it did, as the turns of a
  /// conversation do: keys and values of what both begin with are used again, and only what is new
  /// is computed. The same ids as generate() but for ties within rounding, also behind a call that
  /// failed or was cancelled. Nothing else may decode with the session in between (generate() of
  /// this Generator may). Throws as generate(); ArgumentError for more than one row.
  SearchResult go_on(const TokenIds& prompt, const GenerationOptions& options = {},
                     const OnToken& on_token = {});
  /// Ids of the last prompt of go_on() that were not computed again.
  std::int64_t reused() const { return reused_; }

 private:
  struct Batch;
  class Keep;
  SearchResult run(const SearchStarts& starts, std::vector<TokenIds> texts,
                   const GenerationOptions& options, const OnToken& on_token, bool keeps = false);
  std::int64_t same_beginning(const TokenIds& text) const;
  Tensor step(Batch& batch, const Tensor& tokens, std::int64_t position, const Tensor& parents);
  Tensor decode(Batch& batch, const std::vector<TokenIds>& columns);

  Session& session_;
  Program decode_;
  std::optional<Program> reorder_;  // made when beams first need it
  GptConfig config_;
  DType id_type_;
  bool knows_padding_ = false;
  // Of go_on(): the ids whose keys and values the caches hold, and for how many there is room.
  TokenIds kept_;
  std::int64_t kept_capacity_ = 0, reused_ = 0;
};

}  // namespace weft
