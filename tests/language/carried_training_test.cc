// Truncated back-propagation through time with the Trainer class.
#include <boost/test/unit_test.hpp>

#include "weft/graph/run/session.h"
#include "weft/models/data/batching/token_streams.h"
#include "weft/models/language/network_kinds.h"
#include "weft/models/language/network_programs.h"
#include "weft/models/training/trainer.h"
#include "weft/models/training/training_step.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

TrainSettings carried_settings() {
  TrainSettings settings;
  settings.steps = 9;
  settings.warmup = 0;
  settings.lr = 1e-2;
  settings.min_lr = 1e-3;
  settings.eval_every = settings.save_every = 0;
  return settings;
}

TokenStreams some_streams() {
  std::vector<std::int32_t> ids(61);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 7);
  return {ids, 3, 5};  // four batches per epoch
}

struct CarriedTraining {
  CarriedTraining() {
    const auto made = make_network(NetworkKind::lstm, Scope(g, "net"), {.vocab = 7, .width = 6});
    const CarriedLoss carried = carried_loss(dynamic_cast<const StatefulNetwork&>(*made), 3);
    add_training_step(train, carried.loss, carried_settings());
    train.update(carried.updates);
  }
  Graph g;
  Program train{"train"};
};

// Trains up to step `stop`, starting with the current values of the session's variables, and
// returns the losses of these steps.
std::vector<double> train_to(Session& session, const Program& train, std::int64_t stop) {
  const TokenStreams streams = some_streams();
  TrainTask task;
  task.train = &train;
  task.batch = [&](const BatchPart& part) {
    const TokenStreams::Piece piece = streams[part.step()];
    return TrainBatch{{{"stream.tokens", piece.tokens.inputs},
                       {"stream.targets", piece.tokens.targets},
                       {"stream.fresh", Tensor::full(DType::boolean, {}, piece.fresh ? 1 : 0)}},
                      piece.tokens.tokens()};
  };
  Trainer trainer(session, task, {.settings = carried_settings(), .stop_after = stop});
  trainer.run();
  std::vector<double> losses;
  for (const auto& [step, loss] : trainer.history().train) losses.push_back(loss);
  return losses;
}

BOOST_AUTO_TEST_SUITE(carried_training)

// The state is carried from batch to batch, so the shards of a batch cannot be computed
// independently.
BOOST_AUTO_TEST_CASE(streams_cannot_be_split_into_shards) {
  Graph g;
  const auto made = make_network(NetworkKind::lstm, Scope(g, "net"), {.vocab = 7, .width = 6});
  const CarriedLoss carried = carried_loss(dynamic_cast<const StatefulNetwork&>(*made), 3);
  TrainSettings settings = carried_settings();
  settings.shards = 2;
  Program train("train");
  add_training_step(train, carried.loss, settings);
  train.update(carried.updates);
  Session session(g);
  testing::check_error<GraphError>([&] { session.run(train, {}); },
                                   {"program 'train' has 2 shards: ", " differs by shard"});
}

BOOST_AUTO_TEST_CASE(a_run_resumed_within_a_stream_is_bit_exact) {
  CarriedTraining one, two;
  Session whole(one.g, {.seed = 1, .threads = 1});
  const std::vector<double> losses = train_to(whole, one.train, 9);
  BOOST_REQUIRE(losses.size() == 9u);
  BOOST_TEST(losses.back() < losses.front());

  const testing::TemporaryFolder folder("carried");
  Session first(two.g, {.seed = 1, .threads = 1});
  // Step 6 is in the second epoch, two batches after its start.
  std::vector<double> parts = train_to(first, two.train, 6);
  save_checkpoint(folder.path("net.weft"), first, {two.train});
  const Checkpoint file = load_checkpoint(folder.path("net.weft"));
  Session resumed(file.graph(), file.store(), {.threads = 1});
  for (const double loss : train_to(resumed, file.program("train"), 9)) parts.push_back(loss);
  BOOST_TEST(parts == losses, boost::test_tools::per_element());  // bit-identical
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
