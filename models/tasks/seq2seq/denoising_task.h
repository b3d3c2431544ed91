// An encoder-decoder that is pre-trained on plain text, before it learns from pairs.
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

/// A new model as build_translator makes it, that learns as `options` say. Throws ArgumentError
/// also where the tokenizer lacks what the objective needs, and for learned positions that are
/// fewer than what a passage takes.
Seq2SeqModel build_denoising_model(const EncoderDecoderConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings, const DenoisingOptions& options,
                                   std::int64_t least_rows = 0,
                                   SourceLocation loc = SourceLocation::current());

/// The documents in passages for `model`. Throws ArgumentError as Passages, and for a model that
/// learns from pairs.
Passages make_passages(const Seq2SeqModel& model, std::span<const TextDocument> documents);
/// The same of token files. Throws ArgumentError as TokenPassages, and for a model that reads
/// sentences.
TokenPassages make_passages(const Seq2SeqModel& model, std::vector<TokenSetPart> parts);

/// Training on random passages, settings.batch / passage of them in a step,
/// as many in each shard, and one at least.
/// Evaluation on all of `held_out` (may be null), whose noise is always the same: mean loss per
/// label of the program "evaluate", the decoder fed with the targets, and "perplexity". A batch is
/// a function of (settings.seed, step). Everything must outlive the task. Throws ArgumentError for
/// a model that learns from pairs.
TrainTask denoising_task(Session& session, const Seq2SeqModel& model, const PassageSource& train,
                         const PassageSource* held_out);

/// A passage with noise, and what became of it.
struct Denoised {
  std::string input, target, output;  // the output is greedy
};
/// `count` passages (all, where there are fewer), spread evenly, with the noise of evaluations.
std::vector<Denoised> denoise(Session& session, const Seq2SeqModel& model,
                              const PassageSource& passages, std::int64_t count);

}  // namespace weft
