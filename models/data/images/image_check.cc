// Checks that image files are complete. PNG files are checked by their chunks and checksums, JPEG
// files by their markers, and BMP files by their header.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"

namespace weft {
namespace {

constexpr int kMaxScans = 100;
constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);

/// The bytes of a file with bounds-checked reads. The file name is used in error messages.
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
  /// Throws FormatError unless there are at least `count` bytes from offset `at` on. `at` must not
  /// exceed the size.
  void need(std::size_t at, std::uint64_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at)
      fail("the file is truncated: it ends", bytes_.size());
  }
  [[noreturn]] void fail(std::string_view what, std::size_t at) const {
    throw FormatError(fmt::format("{}: {} at byte {}", name_, what, at));
  }

 private:
  std::string_view bytes_, name_;
};

/// Counts the decompressed bytes of the image data in a PNG file. The count is limited because
/// decoders allocate memory for all of these bytes, and a few compressed bytes can expand to
/// gigabytes.
class DecompressedCount {
 public:
  DecompressedCount() {
    if (inflateInit(&stream_) != Z_OK) throw StateError("zlib cannot be initialised");
  }
  ~DecompressedCount() { inflateEnd(&stream_); }
  DecompressedCount(const DecompressedCount&) = delete;
  DecompressedCount& operator=(const DecompressedCount&) = delete;

  /// Returns false once there are more than `most` bytes. Corrupt data are not reported here,
  /// because the decoder reports them.
  bool add(std::string_view packed, std::uint64_t most) {
    std::array<Bytef, 1 << 14> block;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    while (!over_ && stream_.avail_in > 0) {
      stream_.next_out = block.data();
      stream_.avail_out = static_cast<uInt>(block.size());
      over_ = inflate(&stream_, Z_NO_FLUSH) != Z_OK;
      bytes_ += block.size() - stream_.avail_out;
      if (bytes_ > most) return false;
    }
    return true;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  z_stream stream_ = {};
  bool over_ = false;  // the data have ended or are corrupt
  std::uint64_t bytes_ = 0;
};

/// Returns an upper bound on the size of the image data, which is twice the size of the pixels. The
/// factor covers the extra byte at the start of each row; interlaced images have up to seven times
/// as many rows.
std::uint64_t most_png_bytes(const Bytes& file, std::size_t header) {
  const std::uint64_t width = file.big(header + 8, 4), height = file.big(header + 12, 4);
  if (width > (1U << 24) || height > (1U << 24))
    file.fail("the image dimensions are too large", header + 8);
  const std::uint64_t bits = std::uint64_t{4} * file[header + 16];
  return 2 * height * (width * bits / 8 + 8) + 1024;
}

/// Returns the size of the pixels in bytes, without extra bytes between rows.
std::uint64_t least_png_bytes(const Bytes& file, std::size_t header) {
  const std::uint64_t width = file.big(header + 8, 4), height = file.big(header + 12, 4);
  const unsigned colours = file[header + 17];  // grey, RGB, palette; grey or RGB with alpha
  const std::uint64_t channels = colours == 2 ? 3 : colours == 4 ? 2 : colours == 6 ? 4 : 1;
  return (width * height * channels * file[header + 16] + 7) / 8;
}

/// Checks the chunks. Each chunk consists of a length, a type, data, and the CRC-32 of type and
/// data.
void check_png(const Bytes& file) {
  std::size_t at = kPngSignature.size();
  const std::uint64_t most = most_png_bytes(file, at), least = least_png_bytes(file, at);
  DecompressedCount count;
  while (true) {
    const std::uint64_t length = file.big(at, 4);
    file.need(at, 12 + length);
    const std::string_view covered = file.part(at + 4, 4 + length);
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(covered.data()), covered.size());
    if (crc != file.big(at + 8 + length, 4))
      file.fail(fmt::format("the checksum does not match for the chunk '{}', which begins",
                            std::all_of(covered.begin(), covered.begin() + 4,
                                        [](char c) { return c >= 'A' && c <= 'z'; })
                                ? covered.substr(0, 4)
                                : "?"),
                at);
    if (covered.starts_with("IEND")) {
      // Decoders allocate memory for all pixels before they read the data.
      if (count.bytes() < least)
        file.fail(fmt::format("the image data are {} bytes, but the pixels need {}; the data end",
                              count.bytes(), least),
                  at);
      return;
    }
    if (covered.starts_with("IDAT") && !count.add(covered.substr(4), most))
      file.fail("the image data exceed the size of the pixels; the data begin", at);
    at += 12 + length;
  }
}

/// Checks Huffman tables. Each table consists of a class, 16 code counts, and one value per code.
/// Decoders support at most 256 values.
void check_huffman_tables(const Bytes& file, std::size_t at, std::size_t end) {
  while (at < end) {
    std::size_t codes = 0;
    for (std::size_t i = 1; i <= 16; ++i) codes += file[at + i];
    if (codes > 256) file.fail("a Huffman table has more than 256 codes", at);
    at += 17 + codes;
  }
}

/// Checks a frame header, which consists of precision, height, width and components. Each block of
/// 8 x 8 pixels needs at least one bit, and every component has at least a quarter of the blocks.
/// The file size therefore limits the image size. This check is necessary because decoders allocate
/// memory for all pixels before they read the data.
void check_frame(const Bytes& file, std::size_t at) {
  const std::uint64_t height = file.big(at + 1, 2), width = file.big(at + 3, 2);
  const std::uint64_t blocks = (height + 7) / 8 * ((width + 7) / 8);
  if (file.size() < blocks / 32) {
    file.fail(fmt::format("{} bytes are too few for the {} x {} pixels that are declared",
                          file.size(), width, height),
              at);
  }
}

/// Checks the segments, which begin with FF <marker> <length>. A start-of-scan segment (DA) is
/// followed by coded bytes up to the next marker. The file must end with FF D9.
void check_jpeg(const Bytes& file) {
  std::size_t at = 2;
  int scans = 0;
  while (true) {
    if (file[at] != 0xFF) file.fail("expected a marker", at);
    while (file[at] == 0xFF) ++at;  // fill bytes
    const unsigned marker = file[at++];
    if (marker == 0xD9) return;
    const bool alone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (alone) continue;
    const std::uint64_t length = file.big(at, 2);
    if (length < 2) file.fail("a segment has a length below 2", at);
    file.need(at, length);
    if (marker == 0xC4) check_huffman_tables(file, at + 2, at + length);
    if (marker >= 0xC0 && marker <= 0xC2) check_frame(file, at + 2);
    at += length;
    if (marker != 0xDA) continue;
    // Decoding a scan may take as long as the whole image. Progressive files have about ten scans.
    if (++scans > kMaxScans) file.fail(fmt::format("there are more than {} scans", kMaxScans), at);
    // FF 00 encodes the byte FF. FF D0 to FF D7 are restart markers inside the scan.
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
    /// a negative height means that rows are stored from top to bottom
    if (height >> 31) height = (std::uint64_t{1} << 32) - height;
    bits = file.little(28, 2);
    if (const std::uint64_t compression = file.little(30, 4); compression != 0 && compression != 3)
      file.fail(fmt::format("compression {} is not supported (BMP files must be uncompressed)",
                            compression),
                30);
  }
  if (width > (1U << 24) || height > (1U << 24) || bits > 32)
    file.fail("the image dimensions are too large", 18);
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
    throw FormatError(fmt::format("{}: not a PNG, JPEG or BMP file at byte 0", name));
  }
}

}  // namespace weft
