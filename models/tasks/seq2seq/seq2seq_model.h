// An encoder-decoder that maps texts to texts, stored in one file: graph, programs, variables, and
// the parts specific to this kind of model.
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

/// An encoder-decoder that is trained on text pairs or pre-trained on plain text. Programs:
///   train     over "source" and "labels", i32 [batch, source_length] and [batch, target_length],
///             padded with the padding id and with -100: one whole training step, with label
///             smoothing in its loss
///   evaluate  over the same inputs, without dropout, the decoder fed with the preceding labels;
///             "loss" is the mean over all labels that count, without label smoothing
///   prompt, step, reorder_caches: decoding with caches (Seq2SeqPrograms)
///   score     log-probabilities of given outputs (make_score_program). Files of the first versions
///             lack this program.
/// Models from Hugging Face folders have no "train", and "evaluate" only if the folder specifies
/// the padding id and the start id of the decoder.
struct Seq2SeqModel : ModelKind<Seq2SeqModel> {
  EncoderDecoderConfig config;
  Tokenizer tokenizer;
  /// The pre-training objective (denoising_task.h); empty for models trained on pairs.
  std::optional<DenoisingOptions> denoising;
  /// The generation settings of the model's authors, for models from folders. With them, texts are
  /// encoded as the tokenizer specifies.
  std::optional<GenerationSettings> generation;
  /// The reason why there is no tokenizer. Such a model works on ids only, and cannot be saved to a
  /// file.
  std::string no_tokenizer;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  Seq2SeqPrograms decoding() const;
  /// Returns the ids that the embedding table has but the tokenizer does not, which must not be
  /// generated. Empty if there is no tokenizer.
  TokenIds ids_without_text() const;
};

/// Builds a new model for the ids of tokenizer.with_ends(), not yet trainable; a Session will
/// create its variables. Vocabulary, padding id and the start id of the decoder (the padding id,
/// too) come from the tokenizer and replace those of `config`. `least_rows`: minimum number of rows
/// of the embedding table, for weights to start from with more rows than there are ids. Throws
/// ArgumentError under the same conditions as EncoderDecoder and with_ends().
Seq2SeqModel build_translator(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                              const TrainSettings& settings, std::int64_t least_rows = 0,
                              SourceLocation loc = SourceLocation::current());

/// Returns the encoder-decoder in a Hugging Face folder. Returns null if its class is not an
/// encoder-decoder, or has no head that generates text. Throws ArgumentError for an unsupported
/// config or unsupported generation settings, and for a tokenizer with more ids than the embedding
/// table has rows; also throws the same exceptions as hf::load_weights.
std::unique_ptr<Seq2SeqModel> seq2seq_model_of(const hf::Folder& folder,
                                               const FolderTokenizer& text);

/// Returns the model in Hugging Face layout.
FolderModel folder_model_of(const Seq2SeqModel& model);

/// Translates the texts, in order. The length of an output is limited to about twice the tokens of
/// its text or, for models from folders, as their settings specify. The session must run the graph
/// of the model with its store. Throws ArgumentError for options out of range and for languages
/// that the model does not support, TextError for a text that the tokenizer cannot encode, or that
/// exceeds the positions of the model if on_cut is not set.
std::vector<std::string> translate(Session& session, const Seq2SeqModel& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options = {});
/// As translate(), with all details of the outputs.
std::vector<WrittenText> translate_texts(Session& session, const Seq2SeqModel& model,
                                         const std::vector<std::string>& texts,
                                         const TranslateOptions& options = {});

/// As translate(), for ids: returns the ids of the outputs. For models that Weft trained. Each
/// source has the end id, as the tokenizer encodes texts.
std::vector<TokenIds> translate_ids(Session& session, const Seq2SeqModel& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options = {});

/// Maximum number of ids of a text on either side: the size of the table of learned positions;
/// otherwise unlimited.
std::int64_t longest_text(const EncoderDecoderConfig& config);

/// Cross-attention of the decoder while it reads the translation of a text: for every layer, the
/// probabilities [heads, target, source] of attention to the output of the encoder. Row i belongs
/// to output i of the decoder, and shows which source tokens that token depends on. `source` and
/// `target` are the tokens, end tokens included; longer texts are truncated to longest_text(). New
/// values are added to the graph, so it must not be shared between threads.
struct CrossAttention {
  std::vector<std::string> source, target;
  std::vector<Tensor> layers;
};
CrossAttention cross_attention(Session& session, const Seq2SeqModel& model, std::string_view source,
                               std::string_view target);

}  // namespace weft
