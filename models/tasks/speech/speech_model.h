// A speech recogniser (Whisper, Radford et al. 2022): an encoder-decoder that maps the spectrogram
// of a recording to text. It is stored in one file with its graph, programs, variables and the
// parts that are specific to this model type.
#pragma once

#include <memory>
#include <string>

#include "weft/models/audio/log_mel.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/speech/spectrogram_masking.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// A speech recogniser. Programs:
///   train     one complete training step. The inputs are "spectrograms" f32 [batch, mel_bins,
///             frames] and "labels" i32 [batch, length], padded with -100.
///   evaluate  the same inputs, with teacher forcing and without dropout; output "loss", the mean
///             over all labels other than -100
///   prompt, step, reorder_caches: decoding with caches (Seq2SeqPrograms)
/// Models from Hugging Face folders have no "train".
struct SpeechModel : ModelKind<SpeechModel> {
  EncoderDecoderConfig config;
  Tokenizer tokenizer;
  std::string no_tokenizer;       // the reason why there is no tokenizer
  GenerationSettings generation;  // `speech` is set
  LogMelOptions features;
  SpectrogramMasking masking;  // of training spectrograms

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  Seq2SeqPrograms decoding() const;
  bool has_tokenizer() const { return no_tokenizer.empty(); }
  const SpeechSettings& speech() const { return *generation.speech; }
  /// Returns true if the model has an id for "no speech".
  bool knows_silence() const { return speech().no_timestamps_id > 0; }
  /// Returns the first id of the decoder's input.
  std::int64_t start_id() const;
  /// Returns the text of ids without special ids and timestamps, or the ids as numbers if there is
  /// no tokenizer.
  std::string text_of(const TokenIds& ids) const;
};

/// Builds a new model, which is not yet trainable. The vocabulary is that of the tokenizer, or
/// `least_rows` if that is larger. Throws ArgumentError under the same conditions as the
/// EncoderDecoder constructor, if the config does not read spectrograms, or if the rows of the
/// spectrograms in `features` are not those of the config.
SpeechModel build_speech_model(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                               const GenerationSettings& generation, const LogMelOptions& features,
                               const TrainSettings& settings, std::int64_t least_rows = 0,
                               SourceLocation loc = SourceLocation::current());

/// Returns the recogniser in a Hugging Face folder (WhisperForConditionalGeneration), or null if
/// the folder contains another class. Settings that older folders lack are derived from the names
/// of the tokenizer's special tokens. Throws the same exceptions as read_speech_preprocessor(),
/// folder_settings() and hf::load_weights.
std::unique_ptr<SpeechModel> speech_model_of(const hf::Folder& folder, const FolderTokenizer& text);

/// Fills in the ids that `settings` lack from the names of special tokens such as
/// "<|notimestamps|>" and "<|en|>". `vocab` is the vocabulary size of the model, by which models
/// that know English only are recognised.
void complete_speech_settings(SpeechSettings& settings, const Tokenizer& tokenizer,
                              std::int64_t vocab);

}  // namespace weft
