// Generation with encoder-decoders: the prompt is encoded once, and each output token takes one
// decoder step, which uses cached keys and values.
#pragma once

#include <utility>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_decoder.h"
#include "weft/models/generate/generation.h"

namespace WEFT_API weft {

/// The model's programs "prompt" and "step" (see EncoderDecoder::decoding), and the program
/// `reorder`, which reorders cache rows in beam search (cache_rows.h). The inputs of `prompt` are
/// prompt_ids and prompt_mask [prompts, source] and prompt_of_row [rows]; those of `step` are
/// tokens [rows, new] and position []. All are i64. If the encoder reads spectrograms
/// (EncoderDecoderConfig::mel_bins), the input "features" f32 [prompts, mel_bins, frames] of
/// `prompt` replaces prompt_ids and prompt_mask.
struct Seq2SeqPrograms {
  Program prompt, step, reorder;
};
Seq2SeqPrograms make_seq2seq_programs(const EncoderDecoder& net,
                                      SourceLocation loc = SourceLocation::current());

/// Generates outputs, which begin with GenerationOptions::start: the decoder's start id, optionally
/// followed by a forced prefix.
class Seq2SeqGenerator final : private StepModel {
 public:
  /// The session must outlive the generator.
  Seq2SeqGenerator(Session& session, Seq2SeqPrograms programs)
      : session_(session), programs_(std::move(programs)) {}

  /// Generates outputs for `ids` i64 [prompts, source]; `mask` has the same sizes, 1 = token.
  /// Encodes the prompts. Throws the same exceptions as Generation; if a sequence exceeds the
  /// learned positions, Generation::next() throws DataError.
  Generation generate(const Tensor& ids, const Tensor& mask, const GenerationOptions& options);
  /// As above, for prompts of different lengths. Each result is the same as for the prompt alone.
  /// Throws ArgumentError for an empty prompt.
  Generation generate(const std::vector<TokenIds>& prompts, const GenerationOptions& options);
  /// As above, for spectrograms f32 [prompts, mel_bins, frames].
  Generation generate(const Tensor& features, const GenerationOptions& options);
  /// Generates outputs for the prompts that were encoded last, without encoding them again. Throws
  /// ArgumentError if no prompts are encoded, or if the options need another number of rows per
  /// prompt or longer sequences than those of the last call of generate().
  Generation generate_again(const GenerationOptions& options);
  /// Returns the logits f32 [rows, vocab] of the id that follows `ids` in the output for each of
  /// the prompts that were encoded last. A Generation that has not started yet is not affected.
  /// Throws ArgumentError if no prompts are encoded.
  Tensor logits_after(const TokenIds& ids);

 private:
  Generation encode(NamedTensors source, const SearchStarts& starts,
                    const GenerationOptions& options);
  Tensor step(const Tensor& tokens, std::int64_t position, const Tensor& parents) override;

  Session& session_;
  Seq2SeqPrograms programs_;
  DimValues sizes_;
  std::int64_t prompts_ = 0, rows_per_prompt_ = 0, capacity_ = 0;  // of the encoded prompts
};

}  // namespace weft
