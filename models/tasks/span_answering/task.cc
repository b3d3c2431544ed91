#include "weft/models/tasks/span_answering/task.h"

#include "weft/models/tasks/common/untrained_task.h"
#include "weft/models/tasks/span_answering/span_answerer.h"

namespace weft {
namespace {

class SpanAnsweringTask final : public UntrainedTask<SpanAnswerer> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "span-answering",
                               .family = "",
                               .name = "answer",
                               .about = "the part of a text that answers a question",
                               .folders = "encoders ...ForQuestionAnswering"};
    return info;
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return span_answerer_of(folder, text);
  }

  std::vector<std::vector<Answer>> answer(Session& session, const TrainedModel& model,
                                          const std::vector<Question>& questions,
                                          const AnswerOptions& options) const override {
    return weft::answer(session, dynamic_cast<const SpanAnswerer&>(model), questions, options);
  }

  std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) const override {
    return text_encoder_in(dynamic_cast<const SpanAnswerer&>(model));
  }
};

}  // namespace

const Task& span_answering_task() {
  static const SpanAnsweringTask task;
  return task;
}

}  // namespace weft
