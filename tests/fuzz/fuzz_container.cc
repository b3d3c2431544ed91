// Checkpoints: whatever the bytes, load_checkpoint() gives a checkpoint whose tensors can be read,
// or throws FormatError; and its programs run, or throw an Error. Then the same with fresh
// checksums and index around the records: else hardly any mutation would get past them to the
// readers of graphs and programs.
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/container.h"
#include "weft/tests/fuzz/run_programs.h"
#include "weft/tests/fuzz/scratch_file.h"

namespace {

void load(const std::string& path) {
  try {
    const weft::Checkpoint checkpoint = weft::load_checkpoint(path, {.verify = true});
    for (const auto& [name, tensor] : checkpoint.tensors()) {
      if (tensor.numel() > 0) tensor.at(tensor.numel() - 1);
    }
    weft::fuzz::run_programs(checkpoint);
  } catch (const weft::FormatError&) {  // the answer to a malformed file
  }
}

// Copies the records that can be told apart into a container with right checksums.
void repair(const std::uint8_t* data, std::size_t size, const std::string& path) {
  constexpr std::size_t kFirstHead = 48;
  constexpr std::size_t kHead = 16;
  weft::ContainerWriter writer(path);
  for (std::size_t head = kFirstHead; head + kHead <= size;) {
    std::uint32_t type = 0;
    std::uint64_t length = 0;
    std::memcpy(&type, data + head, sizeof type);
    std::memcpy(&length, data + head + 8, sizeof length);
    const std::size_t payload = head + kHead;
    if (length > size - payload) break;
    if (type != static_cast<std::uint32_t>(weft::RecordType::index) &&
        type != static_cast<std::uint32_t>(weft::RecordType::footer)) {
      writer.add(static_cast<weft::RecordType>(type), data + payload, length);
    }
    head = payload + length;
    while (head % 64 != kFirstHead) ++head;
  }
  writer.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  load(ScratchFile(data, size).path());
  static const std::string folder = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
  static const std::string repaired = folder + "/weft-fuzz-" + std::to_string(getpid());
  repair(data, size, repaired);
  load(repaired);
  std::filesystem::remove(repaired);
  return 0;
}
