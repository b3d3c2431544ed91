#include "weft/serialization/onnx/attachments.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft::onnx {
namespace {

constexpr std::string_view kText = "weft/", kBytes = "weft-bytes/";

std::string to_characters(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xC0 | byte >> 6);
    text += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3F));
  }
  return text;
}

/// Returns false if `text` contains a character above U+00FF.
bool to_bytes(std::string_view text, std::string& bytes) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
      continue;
    }
    if ((first != 0xC2 && first != 0xC3) || ++i == text.size()) return false;
    const auto second = static_cast<unsigned char>(text[i]);
    if ((second & 0xC0) != 0x80) return false;
    bytes += static_cast<char>((first & 3) << 6 | (second & 0x3F));
  }
  return true;
}

}  // namespace

void add_attachments(const std::vector<Attachment>& attachments,
                     std::map<std::string, std::string>& metadata) {
  for (const Attachment& a : attachments) {
    const std::string value = a.type + "\n" + a.bytes;
    const bool is_text = as_utf8(value) == value;
    metadata[std::string(is_text ? kText : kBytes) + a.name] =
        is_text ? value : to_characters(value);
  }
}

std::vector<Attachment> take_attachments(std::map<std::string, std::string>& metadata) {
  std::vector<Attachment> attachments;
  for (auto entry = metadata.begin(); entry != metadata.end();) {
    const auto& [key, value] = *entry;
    const bool is_text = key.starts_with(kText);
    if (!is_text && !key.starts_with(kBytes)) {
      ++entry;
      continue;
    }
    std::string whole = is_text ? value : std::string();
    const bool valid = is_text || to_bytes(value, whole);
    const std::size_t end = whole.find('\n');
    if (!valid || end == std::string::npos) {
      throw FormatError(
          fmt::format("metadata '{}' is not an attachment of a Weft model", excerpt(key)));
    }
    attachments.push_back({key.substr(is_text ? kText.size() : kBytes.size()), whole.substr(0, end),
                           whole.substr(end + 1)});
    entry = metadata.erase(entry);
  }
  return attachments;
}

}  // namespace weft::onnx
