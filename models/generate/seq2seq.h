// Generating with encoder-decoders: the prompt is encoded once, every token costs one step of the
// decoder over caches.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/generate/search.h"

namespace weft {

/// The programs "prompt" and "step" of a model, as EncoderDecoder::decoding says. Inputs, all i64:
/// prompt_ids and prompt_mask [prompts, source], prompt_of_row [rows]; tokens [rows, new],
/// position [], parents [rows].
struct Seq2SeqPrograms {
  Program prompt, step;
};
Seq2SeqPrograms make_seq2seq_programs(const EncoderDecoder& net,
                                      SourceLocation loc = SourceLocation::current());

/// Searches for the outputs of `ids` [prompts, source] (mask of the same sizes, 1 = token), which
/// begin with `start_id`. ArgumentError as search().
SearchResult generate(Session& session, const Seq2SeqPrograms& programs, const Tensor& ids,
                      const Tensor& mask, std::int64_t start_id, const SearchOptions& options);

}  // namespace weft
