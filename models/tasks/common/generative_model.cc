#include "weft/models/tasks/common/generative_model.h"

#include "weft/models/tasks/common/text_generator.h"

namespace weft {

std::unique_ptr<TextGenerator> text_generator(Session& session, const TrainedModel& model) {
  return model.as<GenerativeModel>(Use::generate).text_generator(session);
}

}  // namespace weft
