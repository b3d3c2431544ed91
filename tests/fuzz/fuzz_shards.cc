// Fuzzes the manifest of a sharded checkpoint, with valid shards in the same folder. For any
// manifest bytes, load_checkpoint() satisfies the requirements in fuzz_container.cc or throws
// IoError for a missing shard.
#include <fstream>
#include <string>

#include "weft/core/error.h"
#include "weft/tests/fuzz/read_checkpoint.h"

namespace {

void read(const std::string& path) {
  try {
    weft::fuzz::read_checkpoint(path);
  } catch (const weft::IoError&) {  // the manifest names shards that do not exist
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
