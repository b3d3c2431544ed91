// The file that names the shards of a checkpoint: whatever its bytes, with good shards beside it,
// load_checkpoint() does what fuzz_container asks of it, or says that a shard is not there.
#include <fstream>
#include <string>

#include "weft/core/error.h"
#include "weft/tests/fuzz/read_checkpoint.h"

namespace {

void read(const std::string& path) {
  try {
    weft::fuzz::read_checkpoint(path);
  } catch (const weft::IoError&) {  // it names other shards
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string folder = [] {
    const std::string made = weft::fuzz::scratch_folder();
    weft::fuzz::write_sharded(made);
    return made;
  }();
  const std::string given = folder + "/given", repaired = folder + "/repaired";
  std::ofstream(given, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  read(given);
  weft::fuzz::repair(data, size, repaired);
  read(repaired);
  return 0;
}
