// Generation with encoder-decoders: the prompt is encoded once, and each output token takes one
// decoder step, which uses cached keys and values.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// The model's programs "prompt" and "step" (see EncoderDecoder::decoding), and the program
/// `reorder`, which reorders cache rows in beam search (cache_rows.h). The inputs of `prompt` are
/// prompt_ids and prompt_mask [prompts, source] and prompt_of_row [rows]; those of `step` are
/// tokens [rows, new] and position []. All are i64.
struct Seq2SeqPrograms {
  Program prompt, step, reorder;
};
Seq2SeqPrograms make_seq2seq_programs(const EncoderDecoder& net,
                                      SourceLocation loc = SourceLocation::current());

/// Generates outputs for `ids` [prompts, source]; `mask` has the same sizes, 1 = token. The outputs
/// begin with `start` i64 [prompts, length]: the decoder's start id, optionally followed by a
/// forced prefix. Shorter sequences are padded with pad_id. Throws the same exceptions as search().
/// If a sequence exceeds the learned positions, the run throws DataError.
SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, const Tensor& start, const GenerationOptions& options,
                      const OnToken& on_token = {});
/// As above. Every output begins with `start_id`.
SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, std::int64_t start_id, const GenerationOptions& options,
                      const OnToken& on_token = {});

/// As above, for prompts of different lengths. Each result is the same as for the prompt alone.
/// Every output begins with `start`. Sequences are not padded. Throws ArgumentError for an empty
/// prompt.
SearchResult generate(Session& session, const Seq2SeqPrograms& programs,
                      const std::vector<TokenIds>& prompts, const TokenIds& start,
                      const GenerationOptions& options, const OnToken& on_token = {});

}  // namespace weft
