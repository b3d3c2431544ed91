// Pre-training for encoder-decoders on plain text, before training on text pairs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/models/data/batching/passages.h"
#include "weft/models/data/batching/token_passages.h"
#include "weft/models/data/formats/documents.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Same as build_translator(), but for training with the objective in `options`. Also throws
/// ArgumentError if the tokenizer lacks symbols that the objective needs, or if there are too few
/// learned positions for a passage.
Seq2SeqModel build_denoising_model(const EncoderDecoderConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings, const DenoisingOptions& options,
                                   std::int64_t least_rows = 0,
                                   SourceLocation loc = SourceLocation::current());

/// Splits documents into passages for `model`. Throws ArgumentError under the same conditions as
/// the Passages constructor, and if the model was trained on pairs.
Passages make_passages(const Seq2SeqModel& model, std::span<const TextDocument> documents);
/// As above, for token files. Throws the same exceptions as the TokenPassages constructor. Throws
/// ArgumentError if the objective requires sentence boundaries.
TokenPassages make_passages(const Seq2SeqModel& model, std::vector<TokenSetPart> parts);

/// Returns a training task for random passages. Each step uses settings.batch / passage passages;
/// every shard has the same number, at least one. Evaluations on `held_out` (may be null) use the
/// same noise every time, and a full evaluation covers all of `held_out`. They measure the mean
/// loss per label, computed by the program "evaluate" with teacher forcing, and "perplexity". A
/// batch is a function of (settings.seed, step). All arguments must outlive the task. Throws
/// ArgumentError if the model was trained on pairs.
TrainTask denoising_task(Session& session, const Seq2SeqModel& model, const PassageSource& train,
                         const PassageSource* held_out);

/// A noisy passage, its target, and the model's output.
struct Denoised {
  std::string input, target, output;  // the output is from greedy search
};
/// Returns `count` evenly spaced passages (or all passages if there are fewer), with the noise that
/// evaluations use.
std::vector<Denoised> denoise(Session& session, const Seq2SeqModel& model,
                              const PassageSource& passages, std::int64_t count);

}  // namespace weft
