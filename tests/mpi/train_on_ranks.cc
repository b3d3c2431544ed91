// Trains a network on all ranks started by an MPI launcher and prints the results, which
// check.cmake compares. Usage: train_on_ranks
// train|late|differ|uncut|throw|kill|leave|lines|short|long
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/mpi/mpi_transport.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/linear.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/testing/random_tensors.h"

namespace {

using namespace weft;

constexpr int kSteps = 4, kShards = 8;

void train(const World& world, const std::string& how) {
  const bool odd = world.rank() == 1;
  Graph g;
  const Scope net = Scope(g, "net").training();
  const Value x = g.input("x", DType::f32, {"batch", 32});
  const Value labels = g.input("labels", DType::i32, {"batch"});
  const Value h = dropout(net, tanh(linear(net / "in", x, 2500)), 0.1);
  const Value loss =
      cross_entropy(linear(net / "out", h, 10), labels, {.reduction = Reduction::shard_mean});
  const Program step = Program("train")
                           .output("loss", loss)
                           .shards({.count = how == "uncut" && odd ? 1 : kShards})
                           .update(adamw(loss, g.parameters(), {.step = {.clip_norm = 0.1}}));
  Session session(g, {.seed = how == "differ" && odd ? 2U : 1U, .threads = 1, .world = world});
  std::string losses;
  for (int i = 0; i < kSteps; ++i) {
    if (i == 2 && odd && how == "leave") return;
    const auto feeds = [&](int shard) -> NamedTensors {
      if (i == 2 && odd && how == "throw") throw DataError("row 7 is not a number");
      if (i == 2 && odd && how == "kill") std::raise(SIGKILL);
      const auto seed = static_cast<std::uint64_t>(kShards * i + shard);
      return {{"x", testing::normal_tensor({4, 32}, seed)},
              {"labels", testing::integer_tensor({4}, seed, 0, 10, DType::i32)}};
    };
    losses += fmt::format(" {:a}", session.run_shards(step, feeds)["loss"].item<float>());
  }
  session.gather_state();
  std::uint32_t crc = 0;
  for (const Variable& v : step.variables()) {
    const Tensor value = session.value(v.name());
    crc = crc32c(value.raw(), value.bytes(), crc);
  }
  // All ranks must have the same parameters.
  world.check_same("the trained parameters", fmt::format("{:08x}", crc));
  // By then, the other ranks have finished, which must not count as missing heartbeats.
  if (odd && how == "late") std::this_thread::sleep_for(std::chrono::seconds(4));
  if (world.first()) fmt::print("learned {:08x}, losses{}\n", crc, losses);
}

// The size of the pieces in which MPI messages are sent within a host.
constexpr std::size_t kPiece = std::size_t{8} << 20;

// Every rank sends every other rank more messages on one channel than are started at a time, and
// one message on another channel that is received first. Some messages are empty or have exactly
// one piece.
void exchange_lines(Transport& transport) {
  constexpr int kLong = 1, kShort = 2;
  constexpr std::size_t kMessages = 6, kBytes = kPiece + 5;
  const auto bytes_of = [](std::size_t message) {
    return message % 3 == 0 ? kBytes : message % 3 == 1 ? 0 : kPiece;
  };
  const auto content = [](int from, std::size_t message) {
    return std::vector<std::byte>(
        kBytes, static_cast<std::byte>(static_cast<std::size_t>(from) * kMessages + message));
  };
  std::vector<std::vector<std::byte>> ours;
  for (std::size_t m = 0; m < kMessages; ++m) ours.push_back(content(transport.rank(), m));
  std::vector<Transfer> sent;
  for (int to = 0; to < transport.size(); ++to) {
    if (to == transport.rank()) continue;
    for (std::size_t m = 0; m < kMessages; ++m)
      sent.push_back(transport.send(to, kLong, std::span(ours[m]).first(bytes_of(m))));
    sent.push_back(transport.send(to, kShort, ours[0]));
  }
  std::vector<std::byte> got(kBytes);
  const auto receive = [&](int from, int channel, std::size_t message, std::size_t bytes) {
    transport.wait(transport.receive(from, channel, std::span(got).first(bytes)));
    const std::vector<std::byte> wanted = content(from, message);
    if (!std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(bytes), wanted.begin()))
      throw WorldError(fmt::format("message {} of rank {} has different bytes", message, from));
  };
  for (int from = 0; from < transport.size(); ++from) {
    if (from != transport.rank()) receive(from, kShort, 0, kBytes);
  }
  for (int from = 0; from < transport.size(); ++from) {
    if (from == transport.rank()) continue;
    for (std::size_t m = 0; m < kMessages; ++m) receive(from, kLong, m, bytes_of(m));
  }
  for (const Transfer& t : sent) transport.wait(t);
  if (transport.rank() == 0) fmt::print("all messages arrived\n");
}

// Rank 1 expects a different number of bytes from what rank 0 sends: either more pieces or fewer
// bytes (not many fewer, because that causes a segmentation fault in Open MPI 4.1).
void exchange_unlike(Transport& transport, bool shorter) {
  const bool sends = transport.rank() == 0;
  std::vector<std::byte> bytes(shorter ? (sends ? kPiece + 3 : 2 * kPiece) : (sends ? 1000 : 999));
  if (transport.rank() == 0) {
    transport.wait(transport.send(1, 3, bytes));
  } else {
    transport.wait(transport.receive(0, 3, bytes));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string how = argc > 1 ? argv[1] : "train";
    const std::chrono::seconds silence(how == "late" ? 2 : 5);
    const World world(connect_mpi({.silence = silence}));
    if (!started_by_mpi() && world.size() != 1)
      throw WorldError("the world has more ranks than were started");
    if (how == "lines") {
      exchange_lines(*world.transport());
    } else if (how == "short" || how == "long") {
      exchange_unlike(*world.transport(), how == "short");
    } else {
      train(world, how);
    }
  } catch (const weft::Error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
  return 0;
}
