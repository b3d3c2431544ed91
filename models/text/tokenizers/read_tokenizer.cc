#include "weft/models/text/tokenizers/read_tokenizer.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/byte_order_mark.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

constexpr std::string_view kTypes = "weft.tokenizer.";  // prefix of the attachment types

Tokenizer read_checkpoint(const std::string& path) {
  const Checkpoint file = load_checkpoint(path, {.verify = true, .once = true});
  for (const Attachment& attachment : file.attachments()) {
    if (attachment.type.starts_with(kTypes))
      return Tokenizer::from_bytes(attachment.type, attachment.bytes);
  }
  throw FormatError("the file contains no tokenizer because its model does not process text");
}

}  // namespace

Tokenizer read_tokenizer(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    FolderTokenizer found = read_tokenizer_folder(path);
    if (!found.tokenizer) throw FormatError(found.missing);
    return *std::move(found.tokenizer);
  }
  const bool checkpoint = is_weft_file(path);
  const std::string bytes = checkpoint ? std::string() : read_whole_file(path);
  try {
    if (checkpoint) return read_checkpoint(path);
    // A SentencePiece model also starts with a line feed, but the line feed is never followed by
    // '{'.
    const std::size_t first =
        bytes.find_first_not_of(" \t\r\n", byte_order_mark(bytes, "the text"));
    if (first != std::string::npos && bytes[first] == '{')
      return SubwordTokenizer::from_bytes(bytes);
    return SentencePieceTokenizer::from_bytes(bytes);
  } catch (const FormatError& e) {
    throw FormatError(
        fmt::format("{}: {} (supported are a tokenizer.json, a SentencePiece model, a .weft file "
                    "with a text model, and a folder with one of these)",
                    path, e.what()));
  }
}

}  // namespace weft
