// The bytes of a file as they come, unpacked where it is packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/core/export.h"
#include "weft/models/data/unpacker.h"
#include "weft/serialization/read_file.h"

namespace WEFT_API weft {

/// A file, plain or packed by gzip or zstd: its first bytes say which, not its name. It takes
/// little memory, however much comes out. Throws IoError as InputFile; FormatError with the byte of
/// the packed file where it is damaged or cut.
class ByteStream {
 public:
  explicit ByteStream(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// Up to `most` bytes, at least one; 0 at the end.
  std::size_t read(char* to, std::size_t most);
  /// How much of the file was read so far, packed as it is.
  std::uint64_t bytes_read() const { return read_; }

 private:
  std::size_t read_plain(char* to, std::size_t most);
  std::size_t unpack(char* to, std::size_t most);
  /// The next bytes of the file; false at its end.
  bool fill();

  InputFile file_;
  std::uint64_t read_ = 0;
  std::string block_;     // of the file, as it is
  std::size_t used_ = 0;  // of that
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace weft
