// Trains a translator on text pairs, and evaluates it on held-out pairs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/data/batching/pair_batches.h"
#include "weft/models/data/formats/parallel_text.h"
#include "weft/models/metrics/bleu.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Encoded pairs; both sides are truncated to longest_text(). A truncated source keeps its end id.
/// A truncated target does not, because training on it would make outputs end too early.
struct EncodedPairs {
  std::vector<IdPair> ids;
  std::int64_t cut_sources = 0, cut_targets = 0;
};
/// Encodes pairs. Throws DataError if a character is missing from the tokenizer.
EncodedPairs encode_pairs(const std::vector<TextPair>& pairs, const Seq2SeqModel& model);

/// Batches pairs for training, with up to settings.batch tokens on each side. Throws ArgumentError
/// under the same conditions as the PairBatches constructor.
PairBatches make_training_batches(EncodedPairs pairs, const Seq2SeqModel& model);
/// Batches pairs for evaluation. A batch has the same number of tokens as one shard of a training
/// batch.
PairBatches make_pair_batches(EncodedPairs pairs, const Seq2SeqModel& model);

/// Runs `evaluate` with teacher forcing and returns the mean loss per label, over `batches` evenly
/// spaced batches, or over all batches if `batches` is 0. The exponential of the result is the
/// perplexity.
double mean_loss(Session& session, const Program& evaluate, const PairBatches& pairs,
                 std::int64_t batches = 0);

/// A function that computes a metric from outputs and their references, such as the functions
/// below.
using OutputMeasure = Metric (*)(const std::vector<std::string>&, const std::vector<References>&);
/// Returns the BLEU score: {"bleu", 0 to 100}.
Metric bleu_metric(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);
/// Returns the exact match rate: {"exact match", 0 to 1}.
Metric exact_match_metric(const std::vector<std::string>& outputs,
                          const std::vector<References>& references);

/// The training and validation data for a translator.
struct TranslatorData {
  std::int64_t cut_sources = 0, cut_targets = 0;  // number of truncated texts
  PairBatches train, validation;
  std::vector<TranslationCase> cases;  // the validation pairs, grouped by source
  OutputMeasure measure;

  TranslatorData(const TextPairSplit& split, const Seq2SeqModel& model, OutputMeasure measured_by);

 private:
  EncodedPairs encoded(const std::vector<TextPair>& pairs, const Seq2SeqModel& model);
};

/// Outputs for cases, and their references.
struct Translations {
  std::vector<std::string> outputs;
  std::vector<References> references;
};
/// Translates `cases`. Sources are truncated as in training.
Translations translate_cases(Session& session, const Seq2SeqModel& model,
                             const std::vector<TranslationCase>& cases,
                             const TranslateOptions& options = {});

/// Returns the training task for the pairs. Evaluations on the validation set measure the loss, the
/// perplexity and the metric of greedy outputs. Periodic evaluations use a part of the set
/// (settings.eval_batches batches and kQuickCases cases); the final evaluation uses the whole set.
/// The session, the model and the data must outlive the task.
inline constexpr std::int64_t kQuickCases = 256;
TrainTask translator_task(Session& session, const Seq2SeqModel& model, TranslatorData& data);

}  // namespace weft
