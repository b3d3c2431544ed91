// An encoder-decoder that turns texts into texts, as one file: graph, programs, variables, and what
// only models know of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/denoiser.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"

namespace weft {

/// What the file of an encoder-decoder holds, whether it learns from pairs or is pre-trained.
/// Programs:
///   train     over "source" and "labels", i32 [batch, source_length] and [batch, target_length],
///             filled up with the padding id and with -100: one whole training step. The loss is
///             one with label smoothing.
///   evaluate  without dropout over the same inputs, the decoder fed with the labels before. Output
///             "loss": mean over all labels that count, not smoothed.
///   prompt, step, reorder_caches: decoding over caches (Seq2SeqPrograms)
struct Seq2SeqModel : ModelKind<Seq2SeqModel> {
  EncoderDecoderConfig config;
  Tokenizer tokenizer;
  /// What it is pre-trained to do (denoising_task.h); none: it learns from pairs.
  std::optional<DenoisingOptions> denoising;

  static const ModelLayout& file_layout();
  Seq2SeqPrograms decoding() const;
};

/// A new model for the ids of tokenizer.with_ends() that cannot be trained yet, its variables not
/// made (a Session does that): its vocabulary, padding and the id that the decoder starts from
/// (padding, too) replace those of `config`. Throws ArgumentError as EncoderDecoder and
/// with_ends().
Seq2SeqModel build_translator(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                              const TrainSettings& settings,
                              SourceLocation loc = SourceLocation::current());

struct TranslateOptions {
  std::int64_t beams = 1;     // 1 = greedy
  double length_penalty = 1;  // of beams: scores are divided by length^length_penalty
  std::int64_t batch = 64;    // texts that are decoded together
};

/// Translates every text, in the order given. An output ends after twice its text's tokens and some
/// at the latest. The session must be one over the model's graph and store. Throws ArgumentError
/// for options out of range, DataError for a text that the tokenizer cannot read.
std::vector<std::string> translate(Session& session, const Seq2SeqModel& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options = {});

/// The same for ids, each with the end, as the tokenizer encodes texts: the ids of the outputs.
std::vector<TokenIds> translate_ids(Session& session, const Seq2SeqModel& model,
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
CrossAttention cross_attention(Session& session, const Seq2SeqModel& model, std::string_view source,
                               std::string_view target);

}  // namespace weft
