// zstd (RFC 8878), as large collections of text are packed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/models/data/unpacker.h"

namespace WEFT_API weft {

/// True where `bytes` begin as a zstd file does.
bool is_zstd(std::string_view bytes);

/// Unpacks one or more frames, whatever their size. A window of more than 128 MiB (zstd --long=28
/// and above) is refused: it would have to be in memory.
std::unique_ptr<Unpacker> zstd_unpacker(std::string name);

}  // namespace weft
