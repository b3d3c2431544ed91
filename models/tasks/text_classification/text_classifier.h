// Text classification with an encoder.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/hf/folder.h"
#include "weft/models/metrics/classification_metrics.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/text_classification/classifier_head.h"
#include "weft/models/tasks/text_ranking/rerank.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// An encoder for sequence classification. The encoder output is pooled into one vector per text
/// (in BERT, by a pooler over the first token), followed by dropout and a linear layer. Encoder
/// parameters are named as in encoder.h; those of the head are "pooler" (for Summary::cls) and
/// "classifier". Programs have the inputs "tokens" i32 [batch, seq] and "mask" i32 [batch, seq] (1
/// = token):
///   train     one complete training step; also has the input "labels" i32 [batch]
///   classify  output "log_probabilities" [batch, classes], without dropout
///   logits    only for models from folders: output "logits" [batch, classes]
/// Models from folders have no program "train"; their programs use the head of their transformers
/// class. In multi-label models, label probabilities are independent.
struct TextClassifier : ModelKind<TextClassifier, EncoderModel>, TextsClassifier, PairScorer {
  std::vector<std::string> classes;  // class names
  ClassifierHead head;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout. Throws ArgumentError if no transformers class
  /// supports the model's head.
  FolderModel to_folder() const;
  const std::vector<std::string>& class_names() const override { return classes; }
  std::vector<TextRow> read_texts(const std::vector<std::string>& texts,
                                  const OnCut& on_cut) const override;
  std::vector<std::vector<double>> class_probabilities(
      Session& session, std::span<const TextRow* const> rows) const override;
  std::vector<std::string> score_names() const override { return classes; }
  /// Only classifiers from folders score text pairs.
  std::vector<PairRows> read_pairs(std::span<const PairTexts> pairs,
                                   const OnCut& on_cut) const override;
  std::vector<std::vector<double>> pair_outputs(
      Session& session, std::span<const PairRows* const> pairs) const override;
};

/// Builds a new model. It has no variables yet and is not trainable. Throws ArgumentError if
/// `tokenizer` or `head` does not match `config`, or if there are fewer than two classes.
TextClassifier build_text_classifier(const EncoderConfig& config, const Tokenizer& tokenizer,
                                     const std::vector<std::string>& classes,
                                     const TrainSettings& settings,
                                     const ClassifierHead& head = {});

/// Returns the classifier in a Hugging Face folder if its class is an encoder
/// ...ForSequenceClassification. Returns null if the folder contains another class or a regression
/// model. Throws the same exceptions as read_folder_encoder.
std::unique_ptr<TextClassifier> text_classifier_of(const hf::Folder& folder,
                                                   const FolderTokenizer& text);

/// The prediction for a text.
struct Classified {
  std::int32_t label = 0;                                          // the most likely class
  std::vector<double> probabilities = {}, log_probabilities = {};  // of every class
};
/// Returns the predictions for texts, in the same order. `session` must run the model's graph with
/// its store. Throws the same exceptions as TextReader::rows.
std::vector<Classified> classify(Session& session, const TextClassifier& model,
                                 std::span<const std::string> texts, const OnCut& on_cut = {});
/// As above, but creates a new Session.
std::vector<Classified> classify(const TextClassifier& model, std::span<const std::string> texts,
                                 int threads = 0);

/// Returns the confusion matrix of the predictions for labelled texts. Long texts are truncated, as
/// in training.
ConfusionMatrix confusion(Session& session, const TextClassifier& model, const LabelledText& data);

/// Evaluates the model on labelled texts: mean loss, "accuracy" and "f1". With two classes, "f1" is
/// the F1 score of the last class; with more classes, it is the mean over all classes.
Evaluation evaluate(Session& session, const TextClassifier& model, const LabelledText& data);

/// Returns the training task. Training runs in epochs, which are shuffled independently.
/// Evaluations use `held_out` (may be null): all of it, or an evenly spaced sample during training.
/// All arguments must outlive the task.
TrainTask text_classifier_task(Session& session, const TextClassifier& model,
                               const LabelledText& train, const LabelledText* held_out);

/// Returns an SVG document with the attention probabilities for `text`, one panel per layer and
/// head. Rows are queries, columns are keys; both are labelled with the tokens of the text.
std::string attention_svg(const TextClassifier& model, const std::string& text);

}  // namespace weft
