#include "weft/tests/fuzz/read_checkpoint.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/functions.h"
#include "weft/serialization/container.h"
#include "weft/serialization/sharded_checkpoint.h"
#include "weft/tests/fuzz/run_programs.h"

namespace weft::fuzz {

void read_checkpoint(const std::string& path) {
  try {
    const Checkpoint checkpoint = load_checkpoint(path, {.verify = true});
    for (const auto& [name, tensor] : checkpoint.tensors()) {
      if (tensor.numel() > 0) tensor.at(tensor.numel() - 1);
    }
    run_programs(checkpoint);
  } catch (const FormatError&) {
  }
}

void repair(const std::uint8_t* data, std::size_t size, const std::string& path) {
  constexpr std::size_t kFirstHead = 48;
  constexpr std::size_t kHead = 16;
  ContainerWriter writer(path);
  for (std::size_t head = kFirstHead; head + kHead <= size;) {
    std::uint32_t type = 0;
    std::uint64_t length = 0;
    std::memcpy(&type, data + head, sizeof type);
    std::memcpy(&length, data + head + 8, sizeof length);
    const std::size_t payload = head + kHead;
    if (length > size - payload) break;
    if (type != static_cast<std::uint32_t>(RecordType::index) &&
        type != static_cast<std::uint32_t>(RecordType::footer)) {
      writer.add(static_cast<RecordType>(type), data + payload, length);
    }
    head = payload + length;
    while (head % 64 != kFirstHead) ++head;
  }
  writer.finish();
}

const std::string& scratch_folder() {
  struct Folder {
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    const std::string path = (std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp") +
                             std::string("/weft-fuzz-") + std::to_string(getpid());
  };
  static const Folder folder;
  return folder.path;
}

void write_sharded(const std::string& folder) {
  ThreadWorld world(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 512});
    // This variable spans two blocks, so that each rank owns a part of its optimizer state.
    const Variable w = g.variable("w", DType::f32, {512, 256});
    Program train("train");
    train.shards({.count = 2})
        .update(sgd(shard_mean(mean(matmul(x, w))), {w}, {.lr = 0.1, .momentum = 0.9}));
    Session session(g, {.seed = 1, .threads = 1, .world = World(end)});
    session.run(train, {{"x", Tensor::full(DType::f32, {2, 512}, 1)}});
    save_checkpoint_in_shards(folder + "/net.weft", session, {train});
  });
}

}  // namespace weft::fuzz
