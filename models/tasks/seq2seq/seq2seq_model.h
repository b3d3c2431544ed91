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
#include "weft/models/generate/options.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/seq2seq/languages.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// What the file of an encoder-decoder holds, whether it learns from pairs or is pre-trained.
/// Programs:
///   train     over "source" and "labels", i32 [batch, source_length] and [batch, target_length],
///             filled up with the padding id and with -100: one whole training step. The loss is
///             one with label smoothing.
///   evaluate  without dropout over the same inputs, the decoder fed with the labels before. Output
///             "loss": mean over all labels that count, not smoothed.
///   prompt, step, reorder_caches: decoding over caches (Seq2SeqPrograms)
///   score     log-probabilities of given outputs (make_score_program). Files of the first versions
///             lack it.
/// Of a folder of Hugging Face's library there is no "train", and "evaluate" only where it states
/// ids for padding and for what the decoder starts from.
struct Seq2SeqModel : ModelKind<Seq2SeqModel> {
  EncoderDecoderConfig config;
  Tokenizer tokenizer;
  /// What it is pre-trained to do (denoising_task.h); none: it learns from pairs.
  std::optional<DenoisingOptions> denoising;
  /// Of a model of a folder: how its authors let it write. Texts are then read as its tokenizer
  /// says.
  std::optional<GenerationSettings> generation;
  /// Why there is no tokenizer; such a model is for ids alone, and no file can hold it.
  std::string no_tokenizer;

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
  Seq2SeqPrograms decoding() const;
  /// What only the model's table of embeddings has: nothing is to be written with these ids. None
  /// where there is no tokenizer.
  TokenIds ids_without_text() const;
};

/// A new model for the ids of tokenizer.with_ends() that cannot be trained yet, its variables not
/// made (a Session does that): its vocabulary, padding and the id that the decoder starts from
/// (padding, too) replace those of `config`. Weights to start from may have more rows than there
/// are ids: `least_rows`. Throws ArgumentError as EncoderDecoder and with_ends().
Seq2SeqModel build_translator(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                              const TrainSettings& settings, std::int64_t least_rows = 0,
                              SourceLocation loc = SourceLocation::current());

/// The encoder-decoder in a folder of Hugging Face's library. Null where its class is none, or has
/// no head that writes. Throws ArgumentError for a config or settings of generation that are not
/// supported and for a tokenizer with more ids than the model's table has rows; as
/// hf::load_weights.
std::unique_ptr<Seq2SeqModel> seq2seq_model_of(const hf::Folder& folder,
                                               const FolderTokenizer& text);

/// The model as a folder of the library has it.
FolderModel folder_model_of(const Seq2SeqModel& model);

/// Translates every text, in the order given. An output ends after twice its text's tokens and some
/// at the latest, or, of a folder's model, where its settings say. The session must be one over the
/// model's graph and store. Throws ArgumentError for options out of range and for languages that
/// the model does not know, TextError for a text that the tokenizer cannot read, or that is longer
/// than the model's positions where nobody listens.
std::vector<std::string> translate(Session& session, const Seq2SeqModel& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options = {});
/// The same with all that is known of the outputs.
std::vector<WrittenText> translate_texts(Session& session, const Seq2SeqModel& model,
                                         const std::vector<std::string>& texts,
                                         const TranslateOptions& options = {});

/// The same for ids of a model that Weft trained, each with the end, as the tokenizer encodes
/// texts: the ids of the outputs.
std::vector<TokenIds> translate_ids(Session& session, const Seq2SeqModel& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options = {});

/// Most ids of a text on either side: what a table of learned positions has, else no bound.
std::int64_t longest_text(const EncoderDecoderConfig& config);

/// What the decoder looked at while it read a text's translation: for every layer the probabilities
/// [heads, target, source] of its attention to the encoder's output. Row i belongs to the decoder's
/// output i, so that it says where that token comes from; `source` and `target` name the tokens,
/// ends included, of longer texts their first longest_text(). The graph gets new values: not for
/// one that is shared between threads.
struct CrossAttention {
  std::vector<std::string> source, target;
  std::vector<Tensor> layers;
};
CrossAttention cross_attention(Session& session, const Seq2SeqModel& model, std::string_view source,
                               std::string_view target);

}  // namespace weft
