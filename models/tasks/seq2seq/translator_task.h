// Training of a translator on text pairs, and evaluation on held-out pairs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/data/pair_batches.h"
#include "weft/models/data/parallel_text.h"
#include "weft/models/metrics/bleu.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/train/trainer.h"

namespace WEFT_API weft {

/// Encoded pairs, each side truncated to longest_text(). A truncated source keeps its end id. A
/// truncated target does not: it would teach the model to end too early.
struct EncodedPairs {
  std::vector<IdPair> ids;
  std::int64_t cut_sources = 0, cut_targets = 0;
};
/// Encodes pairs. Throws DataError for a character that the tokenizer does not have.
EncodedPairs encode_pairs(const std::vector<TextPair>& pairs, const Seq2SeqModel& model);

/// Batches pairs for training, with up to settings.batch tokens on one side. Throws ArgumentError
/// under the same conditions as PairBatches.
PairBatches make_training_batches(EncodedPairs pairs, const Seq2SeqModel& model);
/// Batches pairs for evaluation, with the number of tokens of a shard of a training batch.
PairBatches make_pair_batches(EncodedPairs pairs, const Seq2SeqModel& model);

/// Returns the mean loss per label of `evaluate` over the pairs, the decoder fed with the
/// references (teacher forcing): over `batches` evenly spread batches, or over all if that is 0.
/// Its exponential is the perplexity.
double mean_loss(Session& session, const Program& evaluate, const PairBatches& pairs,
                 std::int64_t batches = 0);

/// A metric of outputs, given their references: one of those below.
using OutputMeasure = Metric (*)(const std::vector<std::string>&, const std::vector<References>&);
/// BLEU: {"bleu", 0 to 100}.
Metric bleu_metric(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);
/// Exact match: {"exact match", 0 to 1}.
Metric exact_match_metric(const std::vector<std::string>& outputs,
                          const std::vector<References>& references);

/// The training and validation data of a translator.
struct TranslatorData {
  std::int64_t cut_sources = 0, cut_targets = 0;  // number of truncated texts
  PairBatches train, validation;
  std::vector<TranslationCase> cases;  // of the validation pairs
  OutputMeasure measure;

  TranslatorData(const TextPairSplit& split, const Seq2SeqModel& model, OutputMeasure measured_by);

 private:
  EncodedPairs encoded(const std::vector<TextPair>& pairs, const Seq2SeqModel& model);
};

/// Outputs for cases and their references, from which `measure` computes a metric.
struct Translations {
  std::vector<std::string> outputs;
  std::vector<References> references;
};
/// Translates `cases`. Their sources are truncated as in training.
Translations translate_cases(Session& session, const Seq2SeqModel& model,
                             const std::vector<TranslationCase>& cases,
                             const TranslateOptions& options = {});

/// A training task on the pairs. Evaluations on the validation set measure loss, perplexity and the
/// metric of greedy outputs: periodically on a part of the set (settings.eval_batches batches and
/// kQuickCases cases), at the end on all of it. Session, model and data must outlive the task.
inline constexpr std::int64_t kQuickCases = 256;
TrainTask translator_task(Session& session, const Seq2SeqModel& model, TranslatorData& data);

}  // namespace weft
