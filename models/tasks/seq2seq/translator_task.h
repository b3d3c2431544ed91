// A translator learns from pairs of texts, and is measured on pairs held out.
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

/// Pairs as ids, each side cut to longest_text(): a source keeps the id that ends it, a target does
/// not, as it would teach to end too early.
struct EncodedPairs {
  std::vector<IdPair> ids;
  std::int64_t cut_sources = 0, cut_targets = 0;
};
/// Throws DataError for a character that the tokenizer does not know.
EncodedPairs encode_pairs(const std::vector<TextPair>& pairs, const Seq2SeqModel& model);

/// The same in batches to train with, of up to settings.batch tokens on one side. Throws
/// ArgumentError as PairBatches.
PairBatches make_training_batches(EncodedPairs pairs, const Seq2SeqModel& model);
/// The same in batches to measure on, of as many tokens as a shard of those.
PairBatches make_pair_batches(EncodedPairs pairs, const Seq2SeqModel& model);

/// Mean loss per label of `evaluate` over the pairs, the decoder fed
/// with the references (teacher forcing): over `batches` batches, spread evenly, or over all where
/// that is 0. Its exponential is the perplexity.
double mean_loss(Session& session, const Program& evaluate, const PairBatches& pairs,
                 std::int64_t batches = 0);

/// Outputs and references to a figure: one of those below.
using OutputMeasure = Metric (*)(const std::vector<std::string>&, const std::vector<References>&);
/// {"bleu", 0 to 100}.
Metric bleu_metric(const std::vector<std::string>& outputs,
                   const std::vector<References>& references);
/// {"exact match", 0 to 1}.
Metric exact_match_metric(const std::vector<std::string>& outputs,
                          const std::vector<References>& references);

/// What a model is trained and measured on.
struct TranslatorData {
  std::int64_t cut_sources = 0, cut_targets = 0;  // texts that are longer than the model reads
  PairBatches train, validation;
  std::vector<TranslationCase> cases;  // of the validation pairs
  OutputMeasure measure;

  TranslatorData(const TextPairSplit& split, const Seq2SeqModel& model, OutputMeasure measured_by);

 private:
  EncodedPairs encoded(const std::vector<TextPair>& pairs, const Seq2SeqModel& model);
};

/// The outputs for `cases`, whose sources are cut as in training, and what `measure` finds.
struct Translations {
  std::vector<std::string> outputs;
  std::vector<References> references;
};
Translations translate_cases(Session& session, const Seq2SeqModel& model,
                             const std::vector<TranslationCase>& cases,
                             const TranslateOptions& options = {});

/// Training on the pairs, with looks at those of the validation part: loss, perplexity and the
/// measure of greedy outputs, now and then on a part of them (settings.eval_batches batches and
/// kQuickCases cases), at the end on all. Session, model and data must outlive the task.
inline constexpr std::int64_t kQuickCases = 256;
TrainTask translator_task(Session& session, const Seq2SeqModel& model, TranslatorData& data);

}  // namespace weft
