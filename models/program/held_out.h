// Trained models on held-out data, as their training held it out.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/models/data/image_folder.h"
#include "weft/models/data/labelled_text.h"
#include "weft/models/train/checkpoint.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/masked_image.h"
#include "weft/models/train/pretraining.h"
#include "weft/models/train/text_classifier.h"
#include "weft/models/train/translator.h"

namespace weft::program {

/// The data of a training, as its command takes them.
struct HeldOutData {
  std::vector<std::string> text;  // of language models and of encoders in pre-training
  std::vector<std::string> data;  // of classifiers and of masked-image models
  std::string pairs;              // of translators
  std::string label = "auto";
  double test_fraction = 0.2;
  std::uint64_t split_seed = 1;
  int threads = 0;

  bool given() const { return !text.empty() || !data.empty() || !pairs.empty(); }
};
void add_held_out_options(CLI::App& command, HeldOutData& data);

/// UsageError where the data are not of the kind that `model` of `file` is measured on.
void check_data(const LanguageModel& model, const HeldOutData& data, const std::string& file);
void check_data(const PretrainingModel& model, const HeldOutData& data, const std::string& file);
void check_data(const TextClassifier& model, const HeldOutData& data, const std::string& file);
void check_data(const ImageClassifier& model, const HeldOutData& data, const std::string& file);
void check_data(const MaskedImageModel& model, const HeldOutData& data, const std::string& file);
void check_data(const Translator& model, const HeldOutData& data, const std::string& file);

/// Whether e to the power of the loss is a perplexity: models that write one token after another.
template <class Model>
inline constexpr bool kHasPerplexity =
    std::is_same_v<Model, LanguageModel> || std::is_same_v<Model, Translator>;

/// Loss and metrics: of validation parts; of models of images and classifiers, on the test part.
/// The data must be of the model's kind. Throws as what reads them; DataError where nothing is
/// held out, or the classes are others.
Evaluation held_out_evaluation(const LanguageModel& model, const HeldOutData& data);
Evaluation held_out_evaluation(const PretrainingModel& model, const HeldOutData& data);
Evaluation held_out_evaluation(const TextClassifier& model, const HeldOutData& data);
Evaluation held_out_evaluation(const ImageClassifier& model, const HeldOutData& data);
Evaluation held_out_evaluation(const MaskedImageModel& model, const HeldOutData& data);
Evaluation held_out_evaluation(const Translator& model, const HeldOutData& data);

/// The test parts of classifiers, and what they are. Throws as held_out_evaluation.
LabelledText held_out_texts(const TextClassifier& model, const HeldOutData& data);
ImageData held_out_images(const ImageSize& size, const TrainSettings& settings,
                          const HeldOutData& data);

}  // namespace weft::program
