#include "weft/models/tasks/next_token/text_task.h"

#include <algorithm>
#include <vector>

namespace weft {

double validation_loss(Session& session, const Program& evaluate, const TextData& data,
                       std::int64_t batch, std::int64_t window, std::int64_t batches) {
  const std::vector<TokenBatch> windows = data.validation_windows(batch, window);
  const auto count = static_cast<std::int64_t>(windows.size());
  const std::int64_t used = batches == 0 ? count : std::min(batches, count);
  double sum = 0;
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < used; ++i) {
    const TokenBatch& part = windows[static_cast<std::size_t>(i * count / used)];
    const Results results =
        session.run(evaluate, {{"tokens", part.inputs}, {"targets", part.targets}});
    sum += static_cast<double>(results["loss"].item<float>()) * static_cast<double>(part.tokens());
    tokens += part.tokens();
  }
  return sum / static_cast<double>(tokens);
}

double validation_loss(const LanguageModel& model, const std::string& path, int threads) {
  const TextData data(model.tokenizer.encode(read_utf8_file(path)),
                      model.settings.validation_fraction);
  Session session(*model.graph, model.store, {.threads = threads});
  return validation_loss(session, model.program("evaluate"), data, model.settings.batch,
                         model.config.context);
}

TrainTask text_task(Session& session, const LanguageModel& model, const TextData& data,
                    std::int64_t window) {
  const TrainSettings settings = model.settings;
  TrainTask task{
      .train = model.find_program("train"), .batch = [&data, window, settings](std::int64_t step) {
        const TokenBatch batch = data.random_windows(settings.batch, window, settings.seed, step);
        return TrainBatch{{{"tokens", batch.inputs}, {"targets", batch.targets}}, batch.tokens()};
      }};
  task.accumulate = model.find_program("accumulate");
  if (data.validation_size() > 1) {
    task.evaluate = [&session, &model, &data, window, settings](bool whole) {
      return Evaluation{validation_loss(session, model.program("evaluate"), data, settings.batch,
                                        window, whole ? 0 : settings.eval_batches)};
    };
  }
  return task;
}

}  // namespace weft
