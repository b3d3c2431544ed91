// Tasks for text classifiers with decoders and encoder-decoders, which are supported only as
// Hugging Face folders.
#include "weft/models/tasks/common/untrained_task.h"
#include "weft/models/tasks/text_classification/sequence_classifier.h"
#include "weft/models/tasks/text_classification/task.h"

namespace weft {
namespace {

template <class Config>
class SequenceClassificationTask final : public UntrainedTask<SequenceClassifier<Config>> {
 public:
  SequenceClassificationTask(std::string id, std::string folders) {
    info_.id = std::move(id);
    info_.name = "classify";
    info_.about = "classify texts";
    info_.folders = std::move(folders);
    info_.uses = {Use::classify};
  }
  const TaskInfo& info() const override { return info_; }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return sequence_classifier_of<Config>(folder, text);
  }
  FolderModel to_folder(const TrainedModel& model) const override {
    require_origin(model);
    const auto& classifier = dynamic_cast<const SequenceClassifier<Config>&>(model);
    FolderModel folder;
    folder.library.family = classifier.config;
    folder.library.endings = {"ForSequenceClassification"};
    folder.library.labels = classifier.classes;
    folder.tokenizer = classifier.tokenizer;
    folder.longest = classifier.config.context;
    folder.writing = FolderModel::Writing{.settings = classifier.generation};
    return folder;
  }
  std::vector<std::vector<ClassScore>> classify(Session& session, const TrainedModel& model,
                                                const std::vector<std::string>& inputs,
                                                const ClassifyOptions& options) const override {
    return weft::classify(session, dynamic_cast<const SequenceClassifier<Config>&>(model), inputs,
                          options);
  }

 private:
  TaskInfo info_;
};

}  // namespace

const Task& decoder_classification_task() {
  static const SequenceClassificationTask<GptConfig> task("decoder-classification",
                                                          "decoders ...ForSequenceClassification");
  return task;
}

const Task& encoder_decoder_classification_task() {
  static const SequenceClassificationTask<EncoderDecoderConfig> task(
      "encoder-decoder-classification", "encoder-decoders ...ForSequenceClassification");
  return task;
}

}  // namespace weft
