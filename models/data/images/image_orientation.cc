#include "weft/models/data/images/image_orientation.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weft {
namespace {

constexpr int kUpright = 1;
constexpr std::string_view kExifPrefix("Exif\0\0", 6);

/// Returns the unsigned integer of `size` bytes at `at`, or nothing if the bytes end before.
std::optional<std::uint64_t> number(std::string_view bytes, std::uint64_t at, std::uint64_t size,
                                    bool big_endian = true) {
  if (at > bytes.size() || size > bytes.size() - at) return std::nullopt;
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t place = at + (big_endian ? i : size - 1 - i);
    value = value << 8 | static_cast<unsigned char>(bytes[place]);
  }
  return value;
}

/// Returns the size in bytes of the integer types of TIFF that PIL accepts: SHORT, LONG, SSHORT and
/// SLONG. Returns 0 for other types.
std::uint64_t integer_size(std::uint64_t type) {
  return type == 3 || type == 8 ? 2 : type == 4 || type == 9 ? 4 : 0;
}

/// Returns the orientation in EXIF data, which have the format of a TIFF file: a byte order, the
/// number 42, and the offset of a directory with entries of 12 bytes (tag, type, count, value).
int orientation_in_tiff(std::string_view tiff) {
  while (tiff.starts_with(kExifPrefix)) tiff.remove_prefix(kExifPrefix.size());
  const bool big_endian = tiff.starts_with("MM");
  if (!big_endian && !tiff.starts_with("II")) return kUpright;
  const auto read = [&](std::uint64_t at, std::uint64_t size) {
    return number(tiff, at, size, big_endian);
  };
  const auto directory = read(4, 4);
  if (read(2, 2) != 42 || !directory) return kUpright;
  const auto entries = read(*directory, 2);
  int found = kUpright;
  for (std::uint64_t i = 0; entries && i < *entries; ++i) {
    const std::uint64_t entry = *directory + 2 + 12 * i;
    const auto tag = read(entry, 2), type = read(entry + 2, 2), count = read(entry + 4, 4);
    if (!count) break;
    const std::uint64_t size = integer_size(*type);
    if (*tag != 0x0112 || *count != 1 || size == 0) continue;
    const auto value = read(entry + 8, size);
    found = value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : kUpright;
  }
  return found;
}

int orientation_in_jpeg(std::string_view file) {
  std::uint64_t at = 2;
  while (true) {
    while (number(file, at, 1) == 0xFF && number(file, at + 1, 1) == 0xFF) ++at;  // fill bytes
    const auto marker = number(file, at, 2);
    // Metadata precede the first scan (FF DA).
    if (!marker || *marker < 0xFF01 || *marker == 0xFFDA || *marker == 0xFFD9) return kUpright;
    at += 2;
    if (*marker == 0xFF01 || (*marker >= 0xFFD0 && *marker <= 0xFFD8)) continue;  // no length
    const auto length = number(file, at, 2);
    if (!length || *length < 2) return kUpright;
    const std::string_view segment = file.substr(at, *length).substr(2);
    if (*marker == 0xFFE1 && segment.starts_with(kExifPrefix)) return orientation_in_tiff(segment);
    at += *length;
  }
}

int orientation_in_png(std::string_view file) {
  for (std::uint64_t at = 8;;) {
    const auto length = number(file, at, 4);
    if (!length || at + 8 > file.size()) return kUpright;
    if (file.substr(at + 4, 4) == "eXIf") return orientation_in_tiff(file.substr(at + 8, *length));
    at += 12 + *length;
  }
}

}  // namespace

int exif_orientation(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8")) return orientation_in_jpeg(bytes);
  if (bytes.starts_with("\x89PNG")) return orientation_in_png(bytes);
  return kUpright;
}

}  // namespace weft
