// Fuzzes GGUF files. For any bytes, read_gguf() throws FormatError or returns tensors that can be
// widened and repacked. Repacked matrices give back the same bytes.
#include "weft/core/error.h"
#include "weft/serialization/gguf/blocks.h"
#include "weft/tests/fuzz/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ScratchFile file(data, size);
  try {
    const weft::GgufFile read = weft::read_gguf(file.path());
    for (const weft::GgufTensor& tensor : read.tensors) {
      const weft::Tensor values = weft::widened(tensor);
      if (values.numel() > 0) values.at(values.numel() - 1);
      const auto format = weft::lossless_format(tensor);
      if (!format || tensor.sizes.size() != 2 || values.numel() == 0) continue;
      const weft::QuantizedMatrix matrix = weft::repacked(tensor);
      if (tensor.type != weft::GgmlType::q8_0 && tensor.type != weft::GgmlType::q4_0) continue;
      const weft::GgufTensor back =
          weft::encoded(tensor.name, matrix, tensor.sizes[1], tensor.sizes[0]);
      if (!weft::bitwise_equal(back.data, tensor.data)) __builtin_trap();
    }
    for (const auto& entry : read.metadata.entries()) {
      try {
        read.metadata.get<std::vector<std::int64_t>>(entry.key);
      } catch (const weft::FormatError&) {
      }
    }
  } catch (const weft::FormatError&) {  // the documented error for a malformed file
  } catch (const weft::IoError&) {      // a part of a split model that does not exist
  }
  return 0;
}
