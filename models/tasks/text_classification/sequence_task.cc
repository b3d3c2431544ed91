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
  }
  const TaskInfo& info() const override { return info_; }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return sequence_classifier_of<Config>(folder, text);
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
