// Reading of UTF-8 text files.
#pragma once

#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Reads a UTF-8 text file and removes any byte-order mark at the start. Throws IoError. Throws
/// FormatError with path, line and byte offset if the file is not UTF-8 (RFC 3629).
std::string read_utf8_file(const std::string& path);

/// Like read_utf8_file(), for a text that has already been read. `name` identifies the source of
/// the text in error messages.
std::string checked_utf8(std::string text, const std::string& name);

}  // namespace weft
