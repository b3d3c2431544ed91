#include "weft/models/zoo/experiments/compare_training.h"

#include <fmt/format.h>

#include <memory>

#include "weft/core/error.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/training/trainable.h"
#include "weft/models/zoo/compare/timing.h"

namespace weft::zoo {
namespace {

/// A model that is being trained.
struct Contestant {
  Contestant(const GptConfig& config, const TrainSettings& settings, const Tokenizer& tokenizer,
             int threads)
      : model(trainable(build_language_model(config, tokenizer, settings))),
        session(*model.graph, model.store, {.seed = settings.seed, .threads = threads}) {}

  LanguageModel model;
  Session session;
  std::vector<double> seconds = {};
};

Dim tokens_of(const Program& program) {
  const Shape& shape = program.inputs()[0].shape();
  return shape[0] * shape[1];
}

}  // namespace

GptConfig mixture_of(const GptConfig& dense, std::int64_t experts, std::int64_t chosen) {
  if (chosen < 1 || dense.inner_width() % chosen != 0) {
    throw ArgumentError(fmt::format("the inner width {} is not a multiple of {} experts per token",
                                    dense.inner_width(), chosen));
  }
  GptConfig config = dense;
  config.experts = experts;
  config.experts_per_token = chosen;
  config.expert_inner = dense.inner_width() / chosen;
  config.balancing_weight = 0.01;
  return config;
}

std::vector<ComparedModel> compare_training(const std::vector<GptConfig>& configs,
                                            const TrainSettings& settings,
                                            const Tokenizer& tokenizer, const TextData& data,
                                            int threads,
                                            const std::function<void(std::int64_t)>& progress) {
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const GptConfig& config : configs)
    contestants.push_back(std::make_unique<Contestant>(config, settings, tokenizer, threads));
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const BatchPart part(step);
    for (const auto& c : contestants) {
      const TokenBatch batch =
          data.random_windows(settings.batch, c->model.config.context, settings.seed, part);
      const Clock::time_point begin = Clock::now();
      c->session.run(c->model.program("train"),
                     {{"tokens", batch.inputs}, {"targets", batch.targets}});
      c->seconds.push_back(seconds_since(begin));
    }
    if (progress) progress(step + 1);
  }
  std::vector<ComparedModel> results;
  for (const auto& c : contestants) {
    const Program& evaluate = c->model.program("evaluate");
    results.push_back({.parameters = count_parameters(*c->model.graph),
                       .active = count_active_parameters(evaluate, tokens_of(evaluate)),
                       .loss = validation_loss(c->session, evaluate, data, settings.batch,
                                               c->model.config.context),
                       .seconds = median(c->seconds)});
  }
  return results;
}

}  // namespace weft::zoo
