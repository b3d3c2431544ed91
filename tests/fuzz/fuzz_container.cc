// Fuzzes checkpoints. For any bytes, load_checkpoint() returns a checkpoint with readable tensors
// or throws FormatError, and the programs of a checkpoint run or throw an Error. The same is
// checked for the records with corrected checksums and a new index.
#include <filesystem>

#include "weft/tests/fuzz/read_checkpoint.h"
#include "weft/tests/fuzz/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::read_checkpoint(ScratchFile(data, size).path());
  static const std::string repaired = weft::fuzz::scratch_folder() + "/repaired";
  weft::fuzz::repair(data, size, repaired);
  weft::fuzz::read_checkpoint(repaired);
  std::filesystem::remove(repaired);
  return 0;
}
