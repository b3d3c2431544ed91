// Fuzzes ONNX files. For any bytes, read_onnx() returns a program that can be printed, or throws
// FormatError or IoError; describe_onnx() does not depend on the operators.
#include "weft/core/error.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/tests/fuzz/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ScratchFile file(data, size);
  weft::is_onnx_file(file.path());
  try {
    weft::describe_onnx(file.path());
  } catch (const weft::FormatError&) {
    return 0;  // such a file cannot be read either
  }
  weft::OnnxReadOptions options;
  options.max_memory = std::uint64_t{16} << 20;
  try {
    const weft::OnnxModel model = weft::read_onnx(file.path(), options);
    if (weft::to_text(model.checkpoint.program("predict")).empty()) __builtin_trap();
  } catch (const weft::FormatError&) {  // the documented error for a malformed file
  } catch (const weft::IoError&) {      // a file of external data that does not exist
  }
  return 0;
}
