// An encoder-decoder that turns texts into texts, as one file: graph, programs, variables, and what
// only models know of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/denoiser.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/tokenizers/sequence_tokenizer.h"
#include "weft/models/train/fine_tune.h"
#include "weft/models/train/settings.h"

namespace weft {

struct TranslatorPrograms {
  /// One whole training step over "source" and "labels", i32 [batch, source_length] and [batch,
  /// target_length], filled up with the padding id and with -100: forward, backward, clipping,
  /// schedule, AdamW. Outputs "loss" (f32, with label smoothing), "learning_rate" and
  /// "gradient_norm" (f64 scalars).
  Program train{"train"};
  /// Forward without dropout over the same inputs, the decoder fed with the labels before. Output
  /// "loss": mean over all labels that count, not smoothed.
  Program evaluate{"evaluate"};
  /// Decoding over caches.
  Seq2SeqPrograms decode;
};

/// What a translator's file holds. Loaded, it needs no model code: the programs come from the file.
struct Translator {
  std::shared_ptr<Graph> graph;
  TranslatorPrograms programs;
  std::shared_ptr<VariableStore> store;
  EncoderDecoderConfig config;
  SequenceTokenizer tokenizer;
  TrainSettings settings;
  TrainHistory history;
  /// What it is pre-trained to do (denoising_task.h); none: it learns from pairs.
  std::optional<DenoisingOptions> denoising;

  /// False for a model without the program "train": its weights were quantised.
  bool can_train() const { return programs.train.graph() != nullptr; }
};

/// The type of the configuration in such a file.
inline constexpr const char* kTranslatorConfigType = "weft.config.encoder_decoder";

/// A new model for the tokenizer's ids, its variables not made yet (a Session does that): its
/// vocabulary, padding and the id that the decoder starts from (padding, too) replace those of
/// `config`. Throws ArgumentError as EncoderDecoder, freeze() and layer_groups().
Translator make_translator(EncoderDecoderConfig config, const SequenceTokenizer& tokenizer,
                           const TrainSettings& settings, const FineTuneOptions& options = {},
                           SourceLocation loc = SourceLocation::current());

/// Writes `model` with its store's variables. The file is replaced as a whole or not at all. Throws
/// IoError; StateError where the variables are torn.
void save_translator(const std::string& path, const Translator& model);

/// Reads what save_translator wrote. Throws IoError, FormatError; a .weft file without a translator
/// in it is a FormatError that says so.
Translator load_translator(const std::string& path);

/// A session's plans that translation and training on batches of many lengths reuse.
inline constexpr int kTranslatorPlans = 96;

struct TranslateOptions {
  std::int64_t beams = 1;     // 1 = greedy
  double length_penalty = 1;  // of beams: scores are divided by length^length_penalty
  std::int64_t batch = 64;    // texts that are decoded together
};

/// Translates every text, in the order given. An output ends after twice its text's tokens and some
/// at the latest. The session must be one over the model's graph and store. Throws ArgumentError
/// for options out of range, DataError for a text that the tokenizer cannot read.
std::vector<std::string> translate(Session& session, const Translator& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options = {});

/// The same for ids, each with the end, as the tokenizer encodes texts: the ids of the outputs.
std::vector<TokenIds> translate_ids(Session& session, const Translator& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options = {});

/// What the decoder looked at while it read a text's translation: for every layer the probabilities
/// [heads, target, source] of its attention to the encoder's output. Row i belongs to the decoder's
/// output i, so that it says where that token comes from; `source` and `target` name the tokens,
/// ends included. The graph gets new values: not for one that is shared between threads.
struct CrossAttention {
  std::vector<std::string> source, target;
  std::vector<Tensor> layers;
};
CrossAttention cross_attention(Session& session, const Translator& model, std::string_view source,
                               std::string_view target);

}  // namespace weft
