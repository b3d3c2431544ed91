#include "weft/models/zoo/compare/measure_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/data/batching/token_streams.h"
#include "weft/models/generate/sampling.h"
#include "weft/models/language/network_programs.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/training/trainer.h"
#include "weft/models/training/training_step.h"
#include "weft/models/training/weighted_mean.h"
#include "weft/models/zoo/compare/timing.h"

namespace weft::zoo {
namespace {

Tensor row_of(std::span<const std::int32_t> ids) {
  return Tensor::of<std::int32_t>({1, std::ssize(ids)},
                                  std::vector<std::int32_t>(ids.begin(), ids.end()));
}

/// A network with its graph and programs.
struct BuiltNetwork {
  BuiltNetwork(NetworkKind kind, const NetworkSizes& sizes)
      : network(make_network(kind, Scope(graph, "net"), sizes)),
        programs(network_programs(*network)) {}

  Graph graph;
  std::unique_ptr<LanguageNetwork> network;
  NetworkPrograms programs;
};

/// Records the duration of every training step. The median duration is robust against steps that
/// were slowed down by other programs. Prints the progress to stderr.
class StepTimes : public TrainObserver {
 public:
  void on_step(const StepReport& report) override {
    seconds_.push_back(seconds_since(last_));
    if (report.step % 100 == 0)
      fmt::print(stderr, "step {} of {}: loss {:.4f}\n", report.step, report.steps, report.loss);
    last_ = Clock::now();
  }
  double seconds() const { return median(seconds_); }

 private:
  Clock::time_point last_ = Clock::now();
  std::vector<double> seconds_;
};

TrainTask windows_task(const Program& train, const TextData& data, const Comparison& common) {
  TrainTask task;
  task.train = &train;
  task.unit = "characters";
  task.batch = [&data, &common](const BatchPart& part) {
    const TrainSettings& s = common.settings;
    const TokenBatch batch = data.random_windows(s.batch, common.window, s.seed, part);
    return TrainBatch{{{"tokens", batch.inputs}, {"targets", batch.targets}}, batch.tokens()};
  };
  return task;
}

TrainTask streams_task(const Program& train, const TokenStreams& streams) {
  TrainTask task;
  task.train = &train;
  task.unit = "characters";
  task.batch = [&streams](const BatchPart& part) {
    const TokenStreams::Piece piece = streams[part.step()];
    return TrainBatch{{{"stream.tokens", piece.tokens.inputs},
                       {"stream.targets", piece.tokens.targets},
                       {"stream.fresh", Tensor::full(DType::boolean, {}, piece.fresh ? 1 : 0)}},
                      piece.tokens.tokens()};
  };
  return task;
}

/// Returns the mean loss over the held-out text with the parameters of `trained`. The text is read
/// from beginning to end in chunks, and the state is carried from chunk to chunk. Returns NaN if
/// the network has no fixed-size state.
double whole_text_loss(NetworkKind kind, const NetworkSizes& sizes, Session& trained,
                       const Comparison& common) {
  Graph graph;
  const auto network = make_network(kind, Scope(graph, "net"), sizes);
  const auto* carrying = dynamic_cast<const StatefulNetwork*>(network.get());
  if (carrying == nullptr) return kUnknown;
  const CarriedLoss carried = carried_loss(*carrying, 1);
  const Program read = Program("read").output("loss", carried.loss).update(carried.updates);
  Session session(graph, {.threads = common.threads});
  for (const Variable& v : graph.parameters()) session.set_value(v.name(), trained.value(v.name()));
  WeightedMean mean;
  constexpr std::int64_t kPiece = 512;
  const std::span<const std::int32_t> ids(common.held_out.ids);
  for (std::int64_t at = 0; at + 1 < std::ssize(ids); at += kPiece) {
    const auto begin = static_cast<std::size_t>(at);
    const std::size_t size = std::min<std::size_t>(kPiece, ids.size() - 1 - begin);
    const Results r =
        session.run(read, {{"stream.tokens", row_of(ids.subspan(begin, size))},
                           {"stream.targets", row_of(ids.subspan(begin + 1, size))},
                           {"stream.fresh", Tensor::full(DType::boolean, {}, at == 0 ? 1 : 0)}});
    mean.add(r["loss"].item<float>(), static_cast<double>(size));
  }
  return mean.value();
}

/// Returns the time of a generation step after `context` characters, in microseconds. The weights
/// are random, because they do not affect the time.
double step_time(NetworkKind kind, NetworkSizes sizes, std::int64_t context) {
  constexpr std::int64_t kRoom = 64;  // additional cache capacity for the timed steps
  sizes.context = context + kRoom;
  BuiltNetwork built(kind, sizes);
  Session session(built.graph, {.seed = 1, .threads = 1, .prepack = true});
  const Tensor one = Tensor::zeros(DType::i32, {1, 1});
  session.run(built.programs.step, {{"tokens", Tensor::zeros(DType::i32, {1, context})}});
  return median_microseconds([&] { session.run(built.programs.step, {{"tokens", one}}); });
}

/// Samples ids sequentially after the prompt, and returns the prompt followed by the samples. When
/// the context exceeds the maximum length of the network, the caches are reset. Generation then
/// continues with the most recent ids as context, up to half of the maximum length.
std::vector<std::int32_t> generate_sample(Session& session, const BuiltNetwork& built,
                                          const Comparison& common) {
  std::vector<std::int32_t> ids = common.prompt;
  const std::int64_t max_length = built.network->max_length().value_or(0);
  std::size_t read = 0, begin = 0;
  session.reset_caches();
  for (std::int64_t i = 0; i < common.sample; ++i) {
    if (max_length > 0 && std::ssize(ids) - static_cast<std::int64_t>(begin) > max_length) {
      session.reset_caches();
      read = begin = ids.size() - static_cast<std::size_t>(max_length / 2);
    }
    const Tensor logits = session.run(
        built.programs.step,
        {{"tokens", row_of(std::span<const std::int32_t>(ids).subspan(read))}})["logits"];
    read = ids.size();
    std::vector<double> scores;
    for (std::int64_t id = 0; id < logits.numel(); ++id) scores.push_back(logits.at(id));
    ids.push_back(static_cast<std::int32_t>(sample_id(scores, common.settings.seed, 0, i)));
  }
  return ids;
}

}  // namespace

double learning_rate(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::averaging: return 1e-3;
    case NetworkKind::hmm: return 1e-1;
    case NetworkKind::window:
    case NetworkKind::rnn: return 2e-3;
    case NetworkKind::gru: return 4e-3;
    case NetworkKind::lstm: return 6e-3;
    case NetworkKind::convolution: return 3e-3;
    case NetworkKind::transformer: break;
  }
  return 2e-3;
}

LanguageRow measure_network(NetworkKind kind, const Comparison& common, bool carry, double lr) {
  NetworkSizes sizes{.vocab = common.vocab, .context = common.window};
  sizes.width = width_for_budget(kind, sizes, common.parameters);
  TrainSettings settings = common.settings;
  settings.lr = lr > 0 ? lr : learning_rate(kind);
  settings.min_lr = settings.lr / 10;

  BuiltNetwork built(kind, sizes);
  const TextData data(common.train, common.held_out.ids);
  const TokenStreams streams(common.train, settings.batch, common.window);
  Program train("train");
  if (carry) {
    const auto* carrying = dynamic_cast<const StatefulNetwork*>(built.network.get());
    if (carrying == nullptr)
      throw ArgumentError("a transformer has no fixed-size state to carry from batch to batch");
    const CarriedLoss carried = carried_loss(*carrying, settings.batch);
    add_training_step(train, carried.loss, settings);
    train.update(carried.updates);
  } else {
    add_training_step(train, built.programs.loss, settings);
  }
  Session session(built.graph, {.seed = settings.seed, .threads = common.threads});
  StepTimes times;
  Trainer trainer(session, carry ? streams_task(train, streams) : windows_task(train, data, common),
                  {.settings = settings, .observer = &times});
  trainer.run();

  LanguageRow row{.name = std::string(choice_name(kind)) + (carry ? ", state carried" : ""),
                  .parameters = count_parameters(built.graph)};
  row.train_tokens_per_second =
      static_cast<double>(settings.batch * common.window) / times.seconds();
  row.windows =
      validation_loss(session, built.programs.evaluate, data, settings.batch, common.window);
  row.whole = whole_text_loss(kind, sizes, session, common);
  for (const std::int64_t context : common.contexts)
    row.generating.emplace_back(context, step_time(kind, sizes, context));
  for (const std::int32_t id : generate_sample(session, built, common)) row.ids.push_back(id);
  return row;
}

}  // namespace weft::zoo
