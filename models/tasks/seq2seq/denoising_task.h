// Pre-training of encoder-decoders on plain text, before they are trained on text pairs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/models/data/documents.h"
#include "weft/models/data/passages.h"
#include "weft/models/data/tokens/token_passages.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Builds a new model as build_translator() does, to be trained with the objective in `options`.
/// Throws ArgumentError also if the tokenizer lacks symbols that the objective needs, or if there
/// are too few learned positions for a passage.
Seq2SeqModel build_denoising_model(const EncoderDecoderConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings, const DenoisingOptions& options,
                                   std::int64_t least_rows = 0,
                                   SourceLocation loc = SourceLocation::current());

/// Splits documents into passages for `model`. Throws ArgumentError under the same conditions as
/// Passages, and for a model that is trained on pairs.
Passages make_passages(const Seq2SeqModel& model, std::span<const TextDocument> documents);
/// As above, for token files. Throws the same exceptions as TokenPassages; ArgumentError for an
/// objective that works on sentences.
TokenPassages make_passages(const Seq2SeqModel& model, std::vector<TokenSetPart> parts);

/// A training task on random passages: settings.batch / passage of them per step, the same number
/// in each shard, at least one. Evaluations on `held_out` (may be null) use the same noise every
/// time, and a full evaluation covers all of it. They measure the mean loss per label of the
/// program "evaluate", the decoder fed with the targets, and "perplexity". A batch is a function of
/// (settings.seed, step). All arguments must outlive the task. Throws ArgumentError for a model
/// that is trained on pairs.
TrainTask denoising_task(Session& session, const Seq2SeqModel& model, const PassageSource& train,
                         const PassageSource* held_out);

/// A noisy passage, the target, and the output of the model.
struct Denoised {
  std::string input, target, output;  // the output is greedy
};
/// Returns `count` evenly spread passages (all, if there are fewer), with the noise of evaluations.
std::vector<Denoised> denoise(Session& session, const Seq2SeqModel& model,
                              const PassageSource& passages, std::int64_t count);

}  // namespace weft
