// An encoder that says which class a text is of.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/labelled_text.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/metrics/classification_metrics.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/text_classification/classifier_head.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/train/trainer.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// An encoder for sequence classification: what stands for the text (BERT: a pooler over the first
/// token), dropout, linear layer. Parameters are named as in encoder.h; the new ones are "pooler"
/// (for Summary::cls) and "classifier". Programs over inputs
/// "tokens" i32 [batch, seq] and "mask" i32 [batch, seq] (1 = token):
///   train     one whole training step; also needs "labels" i32 [batch]
///   classify  "log_probabilities" [batch, classes], without dropout
/// Of a folder there is "classify" only, over the library's own head; where labels do not exclude
/// each other, each has a probability of its own.
struct TextClassifier : ModelKind<TextClassifier> {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::vector<std::string> classes;  // their names
  ClassifierHead head;
  std::optional<TextReading> reading;  // of a folder's encoder

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
};

/// A new model that cannot be trained yet, its variables not made. Throws ArgumentError where
/// config and tokenizer do not fit, and for fewer than two classes.
TextClassifier build_text_classifier(const EncoderConfig& config, const Tokenizer& tokenizer,
                                     const std::vector<std::string>& classes,
                                     const TrainSettings& settings,
                                     const ClassifierHead& head = {});

/// The classifier in a folder of the library, one of its classes ...ForSequenceClassification over
/// an encoder. Null where it holds none, or one whose output is no class (regression). Throws as
/// read_folder_encoder.
std::unique_ptr<TextClassifier> text_classifier_of(const hf::Folder& folder,
                                                   const FolderTokenizer& text);

/// The model as a folder of the library has it. Throws ArgumentError for a head that no class has.
FolderModel folder_model_of(const TextClassifier& model);

/// What is said of a text.
struct Classified {
  std::int32_t label = 0;                                          // the most likely class
  std::vector<double> probabilities = {}, log_probabilities = {};  // of every class
};
/// Classes of texts, in their order. `session` runs the model's graph over its store. Throws as
/// TextReader::rows.
std::vector<Classified> classify(Session& session, const TextClassifier& model,
                                 std::span<const std::string> texts, const OnCut& on_cut = {});
/// The same in a Session of its own.
std::vector<Classified> classify(const TextClassifier& model, std::span<const std::string> texts,
                                 int threads = 0);

/// All predictions for labelled texts; long ones are cut, as in training.
ConfusionMatrix confusion(Session& session, const TextClassifier& model, const LabelledText& data);

/// On labelled texts: mean loss, "accuracy" and the "f1" of the last class (two classes) or its
/// mean over all classes.
Evaluation evaluate(Session& session, const TextClassifier& model, const LabelledText& data);

/// Training in epochs, each in an order of its own; evaluation on all of `held_out` (may be null).
/// Everything must outlive the task.
TrainTask text_classifier_task(Session& session, const TextClassifier& model,
                               const LabelledText& train, const LabelledText* held_out);

/// The attention that the first token of `text` pays, a panel per layer and head: rows and columns
/// are the text's pieces. An SVG document.
std::string attention_svg(const TextClassifier& model, const std::string& text);

}  // namespace weft
