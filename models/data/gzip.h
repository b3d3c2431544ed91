// gzip (RFC 1952), as published data sets are packed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/data/unpacker.h"

namespace WEFT_API weft {

/// True where `bytes` begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// Unpacks one or more members, whatever their size.
std::unique_ptr<Unpacker> gzip_unpacker(std::string name);

/// The unpacked contents of a gzip file of one or more members. `name` says in messages where the
/// bytes are from. Throws FormatError with the byte offset in the packed file where it is damaged
/// or cut, and where it unpacks to more than `most_bytes`.
std::string gunzip(std::string_view bytes, std::string_view name,
                   std::uint64_t most_bytes = std::uint64_t{1} << 32);

/// The first `bytes_wanted` bytes of the contents; all of them where there are no more. Throws as
/// gunzip() for the part that was read.
std::string gunzip_start(std::string_view bytes, std::string_view name, std::size_t bytes_wanted);

}  // namespace weft
