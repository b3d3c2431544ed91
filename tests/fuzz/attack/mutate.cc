#include "mutate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/error.h"
#include "weft/serialization/container.h"

namespace weft::attack {
namespace {

// Numbers near the limits of integer types.
constexpr std::array<std::uint64_t, 14> kNumbers = {0,
                                                    1,
                                                    2,
                                                    0x7F,
                                                    0x80,
                                                    0xFF,
                                                    0x7FFF,
                                                    0xFFFF,
                                                    0x7FFFFFFF,
                                                    0x80000000,
                                                    0xFFFFFFFF,
                                                    0x7FFFFFFFFFFFFFFF,
                                                    0x8000000000000000,
                                                    0xFFFFFFFFFFFFFFFF};

// Texts with extreme numbers, deep nesting or invalid characters.
constexpr std::array<const char*, 22> kWords = {"-1",
                                                "0",
                                                "1e999",
                                                "nan",
                                                "-inf",
                                                "2147483648",
                                                "4294967296",
                                                "9223372036854775807",
                                                "18446744073709551615",
                                                "1e-310",
                                                "0.1",
                                                "\"\"",
                                                "null",
                                                "true",
                                                "[]",
                                                "{}",
                                                "[[[[[[",
                                                "{\"a\":",
                                                "\xEF\xBB\xBF",
                                                "\xFF",
                                                "\t",
                                                "\\ud800"};

void mutate_bytes(std::string& bytes, Random& random) {
  const std::size_t at = random_up_to(random, bytes.size() - 1);
  const std::size_t rest = bytes.size() - at;
  const std::size_t length = std::min<std::size_t>(rest, 1 + random_up_to(random, 64));
  switch (random_up_to(random, 8)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random_up_to(random, 7))); break;
    case 1: bytes[at] = static_cast<char>(random()); break;
    case 2: {
      const std::uint64_t number = kNumbers[random_up_to(random, kNumbers.size() - 1)];
      std::memcpy(bytes.data() + at, &number,
                  std::min<std::size_t>(rest, std::size_t{1} << random_up_to(random, 3)));
      break;
    }
    case 3: bytes.erase(at, length); break;
    case 4: bytes.insert(at, bytes.substr(random_up_to(random, bytes.size() - 1), length)); break;
    case 5:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length,
                  static_cast<char>(random_up_to(random, 1) * 0xFF));
      break;
    case 6:
      if (random_up_to(random, 4) == 0) bytes.resize(at);
      break;
    case 7: {
      const std::size_t from = random_up_to(random, bytes.size() - 1);
      const std::string part = bytes.substr(from, length);
      bytes.replace(at, part.size(), part);
      break;
    }
    default: bytes += bytes.substr(at, length); break;
  }
}

void mutate_text(std::string& text, Random& random) {
  const std::size_t at = random_up_to(random, text.size() - 1);
  const char* word = kWords[random_up_to(random, kWords.size() - 1)];
  switch (random_up_to(random, 4)) {
    case 0: {  // replaces a number
      const std::size_t begin = text.find_first_of("0123456789", at);
      if (begin == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
      text.replace(begin, end - begin, word);
      break;
    }
    case 1: {  // repeats a line or a field
      const std::size_t end = text.find_first_of("\n,", at);
      if (end != std::string::npos) text.insert(end, text.substr(at, end - at + 1));
      break;
    }
    case 2: text.insert(at, word); break;
    case 3: {  // replaces a value
      const std::size_t begin = text.find(": ", at);
      if (begin == std::string::npos) break;
      const std::size_t end = text.find_first_of(",}\n", begin);
      if (end != std::string::npos) text.replace(begin + 2, end - begin - 2, word);
      break;
    }
    default: {
      std::string many;
      for (int i = 0; i < 3000; ++i) many += word;
      text.insert(at, many);
      break;
    }
  }
}

}  // namespace

std::uint64_t random_up_to(Random& random, std::uint64_t max_value) {
  return max_value == UINT64_MAX ? random() : random() % (max_value + 1);
}

std::string mutated(std::string bytes, bool text, Random& random) {
  for (std::uint64_t i = random_up_to(random, 3) + 1; i > 0 && !bytes.empty(); --i) {
    if (text && random_up_to(random, 2) > 0) {
      mutate_text(bytes, random);
    } else {
      mutate_bytes(bytes, random);
    }
  }
  return bytes;
}

bool repair_container(const std::string& bytes, const std::string& path) {
  constexpr std::size_t kFirstHead = 48, kHead = 16;
  int records = 0;
  ContainerWriter writer(path);
  for (std::size_t head = kFirstHead; head + kHead <= bytes.size();) {
    std::uint32_t type = 0;
    std::uint64_t length = 0;
    std::memcpy(&type, bytes.data() + head, sizeof type);
    std::memcpy(&length, bytes.data() + head + 8, sizeof length);
    const std::size_t payload = head + kHead;
    if (length > bytes.size() - payload) break;
    if (type != static_cast<std::uint32_t>(RecordType::index) &&
        type != static_cast<std::uint32_t>(RecordType::footer)) {
      writer.add(static_cast<RecordType>(type), bytes.data() + payload, length);
      ++records;
    }
    head = payload + length;
    while (head % 64 != kFirstHead) ++head;
  }
  writer.finish();
  return records > 0;
}

std::string repaired_png(std::string bytes) {
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
      length = length << 8 | static_cast<unsigned char>(bytes[at + i]);
    if (length > bytes.size() - at - 12) break;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()) + at + 4, 4 + length);
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
  return bytes;
}

std::string repaired_safetensors(std::string bytes) {
  // Finds the end of the header by matching braces.
  int depth = 0;
  for (std::size_t at = 8; at < bytes.size(); ++at) {
    if (bytes[at] == '{') ++depth;
    if (bytes[at] == '}' && --depth == 0) {
      std::uint64_t length = at + 1 - 8;
      while (8 + length < bytes.size() && bytes[8 + length] == ' ') ++length;
      std::memcpy(bytes.data(), &length, 8);
      return bytes;
    }
  }
  return bytes;
}

}  // namespace weft::attack
