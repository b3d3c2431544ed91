// Fuzzes token files. For any bytes, TokenFile either allows all its documents, ids and positions
// to be read, or throws FormatError.
#include <cstdlib>
#include <vector>

#include "scratch_file.h"
#include "weft/core/error.h"
#include "weft/models/text/tokens/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ScratchFile scratch(data, size);
  try {
    const weft::TokenFile file(scratch.path());
    for (std::int64_t i = 0; i < file.documents(); ++i) {
      const weft::TokenPlace place = file.last_place(file.document_end(i).byte);
      if (place.token > file.tokens() || place.byte > file.bytes()) std::abort();
    }
    std::vector<std::int32_t> ids(static_cast<std::size_t>(file.tokens()));
    file.read(0, ids);
    file.check_ids();
    static_cast<void>(file.tokenizer());
  } catch (const weft::FormatError&) {  // the documented error for a malformed file
  }
  return 0;
}
