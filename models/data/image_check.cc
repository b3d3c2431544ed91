// Whole files: PNG by its chunks and their checksums, JPEG by its markers, BMP by its header.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/data/image_codec.h"

namespace weft {
namespace {

constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);

/// Bytes of a file under a name, with reads that know where it ends.
class Bytes {
 public:
  Bytes(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  std::size_t size() const { return bytes_.size(); }
  unsigned operator[](std::size_t at) const {
    need(at, 1);
    return static_cast<unsigned char>(bytes_[at]);
  }
  std::string_view part(std::size_t at, std::size_t count) const {
    need(at, count);
    return bytes_.substr(at, count);
  }
  std::uint64_t big(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | (*this)[at + i];
    return value;
  }
  std::uint64_t little(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | (*this)[at + i];
    return value;
  }
  /// `at` is at most the size, `count` any number.
  void need(std::size_t at, std::uint64_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at)
      fail("the file is cut: it ends", bytes_.size());
  }
  [[noreturn]] void fail(std::string_view what, std::size_t at) const {
    throw FormatError(fmt::format("{}: {} at byte {}", name_, what, at));
  }

 private:
  std::string_view bytes_, name_;
};

/// Chunks are length, type, data, CRC-32 of type and data.
void check_png(const Bytes& file) {
  std::size_t at = kPngSignature.size();
  while (true) {
    const std::uint64_t length = file.big(at, 4);
    file.need(at, 12 + length);
    const std::string_view covered = file.part(at + 4, 4 + length);
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(covered.data()), covered.size());
    if (crc != file.big(at + 8 + length, 4))
      file.fail(fmt::format("the checksum of the chunk '{}' is wrong, the chunk begins",
                            std::all_of(covered.begin(), covered.begin() + 4,
                                        [](char c) { return c >= 'A' && c <= 'z'; })
                                ? covered.substr(0, 4)
                                : "?"),
                at);
    if (covered.starts_with("IEND")) return;
    at += 12 + length;
  }
}

/// Huffman tables: a class, 16 counts of codes, as many values. Decoders have room for 256.
void check_huffman_tables(const Bytes& file, std::size_t at, std::size_t end) {
  while (at < end) {
    std::size_t codes = 0;
    for (std::size_t i = 1; i <= 16; ++i) codes += file[at + i];
    if (codes > 256) file.fail("a Huffman table of more than 256 codes", at);
    at += 17 + codes;
  }
}

/// Segments FF <marker> <length>, and after a start of scan (DA) coded bytes up to the next marker;
/// ends with FF D9.
void check_jpeg(const Bytes& file) {
  std::size_t at = 2;
  while (true) {
    if (file[at] != 0xFF) file.fail("no marker", at);
    while (file[at] == 0xFF) ++at;  // fill bytes
    const unsigned marker = file[at++];
    if (marker == 0xD9) return;
    const bool alone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (alone) continue;
    const std::uint64_t length = file.big(at, 2);
    if (length < 2) file.fail("a segment of less than its own length", at);
    file.need(at, length);
    if (marker == 0xC4) check_huffman_tables(file, at + 2, at + length);
    at += length;
    if (marker != 0xDA) continue;
    // FF 00 is a coded byte FF, D0 to D7 are restarts inside the scan.
    while (file[at] != 0xFF || file[at + 1] == 0 || (file[at + 1] >= 0xD0 && file[at + 1] <= 0xD7))
      at += file[at] == 0xFF ? 2 : 1;
  }
}

void check_bmp(const Bytes& file) {
  const std::uint64_t pixels = file.little(10, 4), header = file.little(14, 4);
  std::uint64_t width, height, bits;
  if (header == 12) {  // OS/2
    width = file.little(18, 2);
    height = file.little(20, 2);
    bits = file.little(24, 2);
  } else {
    width = file.little(18, 4);
    height = file.little(22, 4);
    if (height >> 31) height = (std::uint64_t{1} << 32) - height;  // rows from the top down
    bits = file.little(28, 2);
    if (const std::uint64_t compression = file.little(30, 4); compression != 0 && compression != 3)
      file.fail(
          fmt::format("compression {} is not read: BMP files must not be compressed,", compression),
          30);
  }
  if (width > (1U << 24) || height > (1U << 24) || bits > 32)
    file.fail("an image that is too large", 18);
  file.need(pixels, (width * bits + 31) / 32 * 4 * height);
}

}  // namespace

void check_image_file(std::string_view bytes, std::string_view name) {
  const Bytes file(bytes, name);
  if (bytes.starts_with(kPngSignature)) {
    check_png(file);
  } else if (bytes.starts_with("\xff\xd8")) {
    check_jpeg(file);
  } else if (bytes.starts_with("BM")) {
    check_bmp(file);
  } else {
    throw FormatError(fmt::format("{}: no PNG, JPEG or BMP file at byte 0", name));
  }
}

}  // namespace weft
