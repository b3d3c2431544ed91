// Fuzzes safetensors files. For any bytes, read_safetensors() returns readable tensors or throws
// FormatError (DTypeError for a dtype that Weft does not support).
#include "weft/core/error.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/fuzz/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ScratchFile file(data, size);
  try {
    const weft::Safetensors read = weft::read_safetensors(file.path());
    for (const auto& [name, tensor] : read.tensors) {
      if (tensor.numel() > 0) tensor.at(tensor.numel() - 1);
    }
  } catch (const weft::FormatError&) {  // the documented error for a malformed file
  } catch (const weft::DTypeError&) {
  }
  return 0;
}
