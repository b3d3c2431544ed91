// An encoder that gives every word of a sentence a tag.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/tagged_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/metrics/span_f1.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/train/trainer.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// BERT for token classification: dropout and a linear layer over every token. Parameters are named
/// as in encoder.h; the new ones are "classifier". Programs over inputs "tokens" i32 [batch, seq]
/// and "mask" i32 [batch, seq] (1 = token):
///   train     one whole training step; also needs "labels" i32 [batch, seq]: the tag at the first
///             piece of a word, -100 elsewhere
///   evaluate  the same inputs: "loss", the mean over the labels, and "predictions", without
///             dropout
///   tag       "logits" [batch, seq, tags] and "predictions" i64 [batch, seq]
/// Of a folder there are "evaluate" and "tag", and the tags are whatever its head knows.
struct TokenClassifier : ModelKind<TokenClassifier> {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::vector<std::string> tags;       // of the BIO scheme, "O" first
  std::optional<TextReading> reading;  // of a folder's encoder

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
};

/// A new model that cannot be trained yet, its variables not made. Throws ArgumentError where
/// config and tokenizer do not fit, a row has no room for a word, and for tags that are not "O" and
/// others of the BIO scheme.
TokenClassifier build_token_classifier(const EncoderConfig& config, const Tokenizer& tokenizer,
                                       const std::vector<std::string>& tags,
                                       const TrainSettings& settings);

/// The tagger in a folder of the library (...ForTokenClassification over an encoder). Null where it
/// holds another class. Throws as read_folder_encoder.
std::unique_ptr<TokenClassifier> token_classifier_of(const hf::Folder& folder,
                                                     const FolderTokenizer& text);

/// The model as a folder of the library has it.
FolderModel folder_model_of(const TokenClassifier& model);

/// A sentence as a model reads it: every word is cut into pieces by itself, but for encoders of
/// folders, which read a text as their tokenizer does.
struct WordRow {
  std::vector<std::int32_t> ids;     // [CLS] pieces [SEP], cut to the model's context
  std::vector<std::int64_t> firsts;  // where each word's first piece is; -1 where it was cut off
  std::vector<std::int32_t> labels;  // of each id, where the tags are known
  std::vector<std::int32_t> token_types = {};  // of each id; none: all 0
  std::int64_t words_seen() const;
};

/// Tagged sentences, and how a model reads them.
struct TaggedRows {
  std::vector<TaggedSentence> sentences;
  std::vector<WordRow> rows;  // as many
  std::int64_t words = 0;
  std::int64_t cut_sentences = 0,
               cut_words = 0;  // of which the model does not see all; and how many words

  std::int64_t size() const { return static_cast<std::int64_t>(sentences.size()); }
};
/// Throws DataError for a tag that the model does not know, FormatError for invalid UTF-8.
TaggedRows tagged_rows(const TokenClassifier& model, std::vector<TaggedSentence> sentences);

/// The likeliest tag of every word. `session` runs the model's graph over its store. Words behind a
/// cut are "O". Throws TextError for a sentence that is longer than the model reads where nobody
/// listens, and for invalid UTF-8.
std::vector<std::vector<std::string>> tag_words(Session& session, const TokenClassifier& model,
                                                std::span<const std::vector<std::string>> sentences,
                                                const OnCut& on_cut = {});

/// The likeliest tag of every word of texts, and the spans that they mark. What stands between
/// blanks is a word, but for encoders of folders, whose tokenizer parts words. Words behind a cut
/// are "O". Throws as tag_words().
std::vector<TaggedText> tag_texts(Session& session, const TokenClassifier& model,
                                  std::span<const std::string> texts, const OnCut& on_cut = {});

/// What an evaluation found.
struct TaggingScores {
  double loss = 0;   // mean over the words that the model sees
  SpanScores spans;  // of all words: those that were cut off are "O"
};
/// On `most` of the sentences, evenly spread (0: on all). Throws DataError where there are none.
TaggingScores score_tags(Session& session, const TokenClassifier& model, const TaggedRows& data,
                         std::int64_t most = 0);

/// The loss and the "f1" of the spans.
Evaluation evaluation_of(const TaggingScores& scores);

/// Training in epochs, each in an order of its own; evaluation on `held_out`, which may have no
/// sentences. Everything must outlive the task.
TrainTask token_classifier_task(Session& session, const TokenClassifier& model,
                                const TaggedRows& train, const TaggedRows& held_out);

}  // namespace weft
