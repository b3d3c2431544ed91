// Reads the bytes of a file and decompresses them if necessary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/core/export.h"
#include "weft/models/text/compression/decompressor.h"
#include "weft/serialization/files/read_file.h"

namespace WEFT_API weft {

/// Reads a file that is plain or compressed with gzip or zstd. The format is detected from the
/// first bytes, not from the name. Memory usage does not depend on the size of the contents. Throws
/// the same errors as InputFile. Throws FormatError with the byte offset in the compressed file if
/// the file is damaged or truncated.
class ByteStream {
 public:
  explicit ByteStream(const std::string& path);

  const std::string& path() const { return file_.path(); }
  /// Reads at least 1 and at most `most` bytes and returns their number. Returns 0 at the end.
  std::size_t read(char* to, std::size_t most);
  /// The number of bytes read from the file so far, in compressed form if the file is compressed.
  std::uint64_t bytes_read() const { return read_; }

 private:
  std::size_t read_plain(char* to, std::size_t most);
  std::size_t decompress(char* to, std::size_t most);
  /// Reads the next block of the file. Returns false at its end.
  bool fill();

  InputFile file_;
  std::uint64_t read_ = 0;
  std::string block_;     // bytes read from the file, before decompression
  std::size_t used_ = 0;  // consumed bytes of block_
  std::unique_ptr<Decompressor> decompressor_;
};

}  // namespace weft
