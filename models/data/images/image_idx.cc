#include "weft/models/data/images/image_idx.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/text/compression/gzip.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

constexpr std::size_t kFirstSize = 4, kBytesPerSize = 4;

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

DType element_type(unsigned code, std::string_view name) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0C: return DType::i32;
    case 0x0D: return DType::f32;
    case 0x0E: return DType::f64;
    default: break;
  }
  throw FormatError(
      fmt::format("{}: element type 0x{:02x} at byte 2{}; supported are 0x08 (u8), 0x09 "
                  "(i8), 0x0c (i32), 0x0d (f32), 0x0e (f64)",
                  name, code, code == 0x0B ? " (16-bit integers)" : ""));
}

}  // namespace

namespace {

struct Header {
  DType dtype;
  Sizes sizes;
  std::uint64_t begin;   // byte offset of the elements
  std::uint64_t wanted;  // size of the elements in bytes
};

Header parse_header(std::string_view bytes, std::string_view name) {
  const auto need = [&](std::size_t end, std::string_view what) {
    if (bytes.size() < end) {
      throw FormatError(fmt::format("{}: ends at byte {}, inside {}", name, bytes.size(), what));
    }
  };
  need(kFirstSize, "the header of an IDX file");
  if (byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0) {
    throw FormatError(fmt::format("{}: not an IDX file: it begins with {:02x} {:02x}, not 00 00",
                                  name, byte_at(bytes, 0), byte_at(bytes, 1)));
  }
  const DType dtype = element_type(byte_at(bytes, 2), name);
  const std::size_t rank = byte_at(bytes, 3);
  const std::size_t begin = kFirstSize + rank * kBytesPerSize;
  need(begin, "the sizes of its axes");
  Sizes sizes;
  for (std::size_t at = kFirstSize; at < begin; at += kBytesPerSize) {
    std::int64_t size = 0;
    for (std::size_t i = 0; i < kBytesPerSize; ++i) size = size << 8 | byte_at(bytes, at + i);
    sizes.push_back(size);
  }
  try {
    return {dtype, sizes, begin, checked_tensor_bytes(dtype, sizes)};
  } catch (const FormatError& e) {
    throw FormatError(fmt::format("{}: sizes at byte {}: {}", name, kFirstSize, e.what()));
  }
}

// Size of a header with the maximum number of axes.
constexpr std::size_t kLongestHeader = kFirstSize + 255 * kBytesPerSize;

/// Decompresses a file, but only up to the size that its header declares, because a few bytes may
/// expand to any size.
std::string decompress(std::string_view bytes, std::string_view name) {
  const Header header = parse_header(gunzip_start(bytes, name, kLongestHeader), name);
  return gunzip(bytes, name, (CheckedSize(header.begin) + header.wanted).value());
}

}  // namespace

Tensor parse_idx(std::string_view bytes, std::string_view name) {
  const auto [dtype, sizes, begin, wanted] = parse_header(bytes, name);
  if (const std::size_t there = bytes.size() - begin; there != wanted) {
    throw FormatError(
        fmt::format("{}: the sizes at byte {} require {} bytes of elements, but there "
                    "are {} up to the end at byte {}",
                    name, kFirstSize, wanted, there, bytes.size()));
  }
  Tensor tensor = Tensor::empty(dtype, sizes);
  auto* out = reinterpret_cast<char*>(tensor.mutable_raw());
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), out);
  // Converts big-endian to little-endian.
  if (const std::size_t size = dtype_size(dtype); size > 1) {
    for (std::size_t at = 0; at < wanted; at += size) std::reverse(out + at, out + at + size);
  }
  return tensor;
}

Tensor read_idx(const std::string& path) {
  const std::string bytes = read_whole_file(path);
  return is_gzip(bytes) ? parse_idx(decompress(bytes, path), path) : parse_idx(bytes, path);
}

}  // namespace weft
