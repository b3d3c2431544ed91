#include <fmt/format.h>

#include <set>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/gguf/gguf.h"

namespace weft {
namespace {

constexpr std::size_t kMaxGgufName = 63;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}
void put_string(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

void put_integer(std::string& out, GgufType type, std::int64_t value) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean: return put(out, static_cast<std::uint8_t>(value));
    case GgufType::u16:
    case GgufType::i16: return put(out, static_cast<std::uint16_t>(value));
    case GgufType::u32:
    case GgufType::i32: return put(out, static_cast<std::uint32_t>(value));
    default: return put(out, value);
  }
}

void put_value(std::string& out, const GgufValue& value) {
  if (value.is_array()) put(out, GgufType::array);
  put(out, value.type());
  if (value.is_array()) put(out, std::uint64_t{value.size()});
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value.items())) {
    for (const std::int64_t item : *integers) put_integer(out, value.type(), item);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value.items())) {
    for (const double item : *floats)
      value.type() == GgufType::f32 ? put(out, static_cast<float>(item)) : put(out, item);
  } else {
    for (const std::string& item : std::get<std::vector<std::string>>(value.items()))
      put_string(out, item);
  }
}

[[noreturn]] void reject(std::string_view kind, std::string_view name, std::string_view problem) {
  throw ArgumentError(fmt::format("write_gguf: {} '{}' {}", kind, excerpt(name), problem));
}

void check_name(std::string_view kind, std::string_view name) {
  if (name.empty()) reject(kind, name, "has no name");
  if (as_utf8(name) != name) reject(kind, name, "is not valid UTF-8");
}

std::uint64_t alignment_of(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  const GgufMetadata::Entry* entry = metadata.find_entry(kKey);
  if (entry == nullptr) return 32;
  const std::int64_t alignment = metadata.get<std::int64_t>(kKey);
  if (entry->value.type() != GgufType::u32 || alignment < 8 || alignment > 65536 ||
      (alignment & (alignment - 1)) != 0) {
    reject("metadata key", kKey,
           fmt::format("is {} of type {}, but must be a u32 that is a power of two in [8, 65536]",
                       alignment, entry->value.type_str()));
  }
  return static_cast<std::uint64_t>(alignment);
}

std::uint64_t padded(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

void check_tensor(const GgufTensor& tensor) {
  const auto fail = [&](std::string_view problem) { reject("tensor", tensor.name, problem); };
  check_name("tensor", tensor.name);
  if (tensor.name.size() > kMaxGgufName) {
    fail(fmt::format("has a name of {} bytes; llama.cpp reads at most {}", tensor.name.size(),
                     kMaxGgufName));
  }
  if (tensor.sizes.size() > kMaxGgufAxes)
    fail(fmt::format("has {} axes; the limit is {}", tensor.sizes.size(), kMaxGgufAxes));
  const std::int64_t block = ggml_block_elements(tensor.type);
  const std::int64_t row = tensor.sizes.empty() ? 1 : tensor.sizes.back();
  const std::int64_t bytes = num_elements(tensor.sizes) / block * ggml_block_bytes(tensor.type);
  if (row % block != 0) {
    fail(fmt::format("has rows of {} elements, which are not a multiple of the {} in a block of {}",
                     row, block, ggml_type_name(tensor.type)));
  }
  if (!tensor.data.defined() || tensor.data.dtype() != DType::u8 || tensor.data.numel() != bytes) {
    fail(fmt::format("is {}{}: its data must be u8[{}], but is {}", ggml_type_name(tensor.type),
                     to_string(tensor.sizes), bytes,
                     tensor.data.defined() ? tensor.data.type_str() : "undefined"));
  }
}

std::string header_of(const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors,
                      std::uint64_t alignment) {
  std::string header = "GGUF";
  put(header, std::uint32_t{3});
  put(header, std::uint64_t{tensors.size()});
  put(header, std::uint64_t{metadata.entries().size()});
  for (const GgufMetadata::Entry& entry : metadata.entries()) {
    check_name("metadata key", entry.key);
    put_string(header, entry.key);
    put_value(header, entry.value);
  }
  std::set<std::string_view> names;
  std::uint64_t at = 0;
  for (const GgufTensor& tensor : tensors) {
    check_tensor(tensor);
    if (!names.insert(tensor.name).second) reject("tensor", tensor.name, "occurs twice");
    put_string(header, tensor.name);
    put(header, static_cast<std::uint32_t>(tensor.sizes.size()));
    for (auto size = tensor.sizes.rbegin(); size != tensor.sizes.rend(); ++size) put(header, *size);
    put(header, tensor.type);
    put(header, at);
    at += padded(tensor.data.bytes(), alignment);
  }
  header.resize(padded(header.size(), alignment), '\0');
  return header;
}

}  // namespace

void write_gguf(const std::string& path, const GgufMetadata& metadata,
                const std::vector<GgufTensor>& tensors) {
  const std::uint64_t alignment = alignment_of(metadata);
  const std::string header = header_of(metadata, tensors, alignment);
  AtomicFile file(path);
  file.write(header.data(), header.size());
  const std::string padding(alignment, '\0');
  for (const GgufTensor& tensor : tensors) {
    file.write(tensor.data.raw(), tensor.data.bytes());
    file.write(padding.data(), padded(tensor.data.bytes(), alignment) - tensor.data.bytes());
  }
  file.commit();
}

}  // namespace weft
