// Generating with encoder-decoders: the prompt is encoded once, every token costs one step of the
// decoder over caches.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/generate/search.h"

namespace WEFT_API weft {

/// The programs "prompt" and "step" of a model, as EncoderDecoder::decoding says. Inputs, all i64:
/// prompt_ids and prompt_mask [prompts, source], prompt_of_row [rows]; tokens [rows, new],
/// position []; and the one that lets beams move (cache_rows.h).
struct Seq2SeqPrograms {
  Program prompt, step, reorder;
};
Seq2SeqPrograms make_seq2seq_programs(const EncoderDecoder& net,
                                      SourceLocation loc = SourceLocation::current());

/// Generates outputs for `ids` [prompts, source] (mask of the same sizes, 1 = token), which begin
/// with `start` i64 [prompts, length]: the id that decoders start from, perhaps a forced prefix
/// behind it. Shorter sequences are filled up with pad_id. Throws as search();
/// positions that learned ones do not reach are a DataError of the run.
SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, const Tensor& start, const GenerationOptions& options,
                      const OnToken& on_token = {});
/// The same where every output begins with `start_id`.
SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, std::int64_t start_id, const GenerationOptions& options,
                      const OnToken& on_token = {});

/// The same for prompts of unequal length, each as if it were alone; `start` begins every output.
/// Sequences are not filled up. ArgumentError for an empty prompt.
SearchResult generate(Session& session, const Seq2SeqPrograms& programs,
                      const std::vector<TokenIds>& prompts, const TokenIds& start,
                      const GenerationOptions& options, const OnToken& on_token = {});

}  // namespace weft
