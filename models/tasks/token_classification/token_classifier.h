// Token classification: an encoder that predicts a tag for every word of a sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/hf/folder.h"
#include "weft/models/metrics/span_f1.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// BERT for token classification: dropout and a linear layer on every token. Encoder parameters are
/// named as in encoder.h; the linear layer is "classifier". Programs have the inputs "tokens" i32
/// [batch, seq] and "mask" i32 [batch, seq] (1 = token):
///   train     one complete training step; also has the input "labels" i32 [batch, seq]: the tag at
///             the first token of a word, -100 elsewhere
///   evaluate  same inputs as "train"; outputs "loss", the mean over the labels, and "predictions"
///   i64
///             [batch, seq], without dropout
///   tag       outputs "logits" [batch, seq, tags] and "predictions" i64 [batch, seq]
/// Models from folders have only "evaluate" and "tag", and their tags may have any names.
struct TokenClassifier : ModelKind<TokenClassifier, EncoderModel> {
  std::vector<std::string> tags;  // BIO tags, "O" first

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
};

/// Builds a new model. It has no variables yet and is not trainable. Throws ArgumentError if
/// `config` does not match `tokenizer`, if the context is too short for a word, or if `tags` is not
/// "O" followed by other BIO tags.
TokenClassifier build_token_classifier(const EncoderConfig& config, const Tokenizer& tokenizer,
                                       const std::vector<std::string>& tags,
                                       const TrainSettings& settings);

/// Returns the tagger in a Hugging Face folder if its class is an encoder
/// ...ForTokenClassification, or null if the folder contains another class. Throws the same
/// exceptions as read_folder_encoder.
std::unique_ptr<TokenClassifier> token_classifier_of(const hf::Folder& folder,
                                                     const FolderTokenizer& text);

/// A sentence as model input. Each word is tokenized separately. For encoders from folders,
/// however, the tokenizer encodes the whole text.
struct WordRow {
  std::vector<std::int32_t> ids;  // [CLS] tokens [SEP], truncated to the context of the model
  std::vector<std::int64_t>
      firsts;  // per word: index of its first token; -1 if removed by truncation
  std::vector<std::int32_t> labels;            // per id; set only if the tags are known
  std::vector<std::int32_t> token_types = {};  // per id; empty: all 0
  /// Returns the number of words that truncation did not remove.
  std::int64_t words_seen() const;
};

/// Tagged sentences with their input rows.
struct TaggedRows {
  std::vector<TaggedSentence> sentences;
  std::vector<WordRow> rows;  // one per sentence
  std::int64_t words = 0;
  /// Number of truncated sentences, and number of words dropped by truncation.
  std::int64_t cut_sentences = 0, cut_words = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(sentences.size()); }
};
/// Makes input rows for tagged sentences. Sentences that are too long are truncated. Throws
/// DataError if a tag is missing from the model, and FormatError if a text is not valid UTF-8.
TaggedRows tagged_rows(const TokenClassifier& model, std::vector<TaggedSentence> sentences);

/// Returns the most likely tag of every word. Words removed by truncation get the tag "O".
/// `session` must run the model's graph with its store. Throws TextError if a sentence is not valid
/// UTF-8, or if it is too long and `on_cut` is empty.
std::vector<std::vector<std::string>> tag_words(Session& session, const TokenClassifier& model,
                                                std::span<const std::vector<std::string>> sentences,
                                                const OnCut& on_cut = {});

/// The words of a text, and its input row.
struct TextOfWords {
  std::vector<WordPlace> words;
  WordRow row;
};
/// tag_texts() in two steps, for texts that are read at different times and then tagged together.
std::vector<TextOfWords> read_words(const TokenClassifier& model,
                                    const std::vector<std::string>& texts, const OnCut& on_cut);
std::vector<TaggedText> tag_read_texts(Session& session, const TokenClassifier& model,
                                       std::span<const TextOfWords* const> texts);

/// Returns the most likely tag of every word in the texts, and the spans that the tags define.
/// Words are separated by whitespace; for encoders from folders, the tokenizer separates them.
/// Words removed by truncation get the tag "O". Throws the same exceptions as tag_words(), and
/// FormatError if the model does not tag words. weft tag prints the result.
std::vector<TaggedText> tag_texts(Session& session, const TrainedModel& model,
                                  const std::vector<std::string>& texts, const OnCut& on_cut = {});

/// Evaluation results.
struct TaggingScores {
  double loss = 0;   // mean over the words that truncation did not remove
  SpanScores spans;  // over all words; words removed by truncation count as "O"
};
/// Evaluates the model on `most` evenly spaced sentences (0 = all sentences). Throws DataError if
/// there are no sentences.
TaggingScores score_tags(Session& session, const TokenClassifier& model, const TaggedRows& data,
                         std::int64_t most = 0);

/// Converts scores to an Evaluation with the loss and the span F1 ("f1").
Evaluation evaluation_of(const TaggingScores& scores);

/// Returns the training task. Training runs in epochs, which are shuffled independently.
/// Evaluations use `held_out`, which may be empty. All arguments must outlive the task.
TrainTask token_classifier_task(Session& session, const TokenClassifier& model,
                                const TaggedRows& train, const TaggedRows& held_out);

}  // namespace weft
