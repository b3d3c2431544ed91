// Masked-language-model pre-training of an encoder (Devlin et al. 2019), and what a file of it
// holds.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/masking.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/sentence_piece.h"
#include "weft/models/train/trainer.h"

namespace weft {

/// Programs over inputs "tokens" i32 [batch, seq], "mask" i32 [batch, seq] (1 = token), "picks" i32
/// [picks]: places in the flattened [batch * seq] tokens that are asked for, and "labels" i32
/// [picks]: what was there, -100 where the pick does not count. Only picked places pay for the
/// product with the vocabulary.
struct MaskedLmPrograms {
  /// One whole training step, as add_training_step makes it.
  Program train{"train"};
  /// Without dropout: "loss", mean over the picks that count, and "predicted" i64 [picks].
  Program evaluate{"masked_lm"};
};

/// An encoder with a tied masked-language-model head. Parameters are named as in encoder.h, the
/// head is "masked_lm".
struct MaskedLanguageModel {
  std::shared_ptr<Graph> graph;
  MaskedLmPrograms programs;
  std::shared_ptr<VariableStore> store;
  EncoderConfig config;
  SentencePieceTokenizer tokenizer;
  TrainSettings settings;
  TrainHistory history;
};

/// A new model, its variables not made yet. Throws ArgumentError where config and tokenizer differ
/// in vocabulary or padding.
MaskedLanguageModel make_masked_lm(const EncoderConfig& config,
                                   const SentencePieceTokenizer& tokenizer,
                                   const TrainSettings& settings);
/// The file is replaced as a whole or not at all. Throws IoError; StateError where variables are
/// torn.
void save_masked_lm(const std::string& path, const MaskedLanguageModel& model);
/// Throws IoError; FormatError, also for a .weft file with another model in it.
MaskedLanguageModel load_masked_lm(const std::string& path);

/// Texts as rows for pre-training: "[CLS] text [SEP] next text [SEP] ...", all as long as the
/// model's context, so that nothing is padding (RoBERTa's packing, Liu et al. 2019).
class PackedTexts {
 public:
  /// Throws ArgumentError without any token, and for a context of less than 3.
  PackedTexts(const SentencePieceTokenizer& tokenizer, std::span<const std::string> texts,
              std::int64_t context);

  std::int64_t tokens() const { return tokens_; }
  std::int64_t texts() const { return static_cast<std::int64_t>(texts_.size()); }
  /// The row that begins with text `first` and goes on with those behind it, around the end.
  std::vector<std::int32_t> row(std::int64_t first) const;
  /// First texts of rows that together hold every text once or more (but what was cut off).
  std::vector<std::int64_t> cover() const;

 private:
  std::vector<std::vector<std::int32_t>> texts_;
  std::int32_t cls_, sep_;
  std::int64_t context_, tokens_ = 0;
};

/// Inputs of both programs for rows of equal length: masked as `options` say, row r drawing from
/// (seed, step, r).
NamedTensors masked_lm_inputs(std::span<const std::vector<std::int32_t>> rows,
                              const MaskingOptions& options, std::uint64_t seed, std::int64_t step);

/// Training on rows that begin with random texts; evaluation on all of `held_out` (may be null),
/// always masked alike: loss and "accuracy" of the hidden tokens. Everything must outlive the task.
TrainTask masked_lm_task(Session& session, const MaskedLanguageModel& model,
                         const PackedTexts& train, const PackedTexts* held_out,
                         bool whole_words = false);

}  // namespace weft
