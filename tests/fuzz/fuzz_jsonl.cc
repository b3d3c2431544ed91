// Fuzzes compressed and uncompressed JSON Lines files. For any bytes, read_jsonl_documents()
// returns complete documents in non-empty pieces of valid UTF-8, or throws FormatError.
#include <cstdlib>

#include "scratch_file.h"
#include "weft/core/error.h"
#include "weft/models/text/corpus/jsonl.h"
#include "weft/models/text/unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ScratchFile file(data, size);
  try {
    // The limits are small enough for inputs to reach them.
    const auto reader = weft::read_jsonl_documents(
        file.path(), {.most_line_bytes = std::size_t{1} << 16, .most_depth = 8});
    weft::DocumentPiece piece;
    bool open = false;
    while (reader->next(piece)) {
      if (piece.begins == open || piece.text.empty()) std::abort();
      open = !piece.ends;
      for (std::size_t at = 0; at < piece.text.size();) weft::next_code_point(piece.text, at);
    }
    if (open) std::abort();
  } catch (const weft::FormatError&) {  // the documented error for malformed lines
  }
  return 0;
}
