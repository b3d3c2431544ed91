#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/gguf/gguf.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxGgufHeader = 100'000'000;
// Several times the size of the largest vocabulary or list of merges.
constexpr std::uint64_t kMaxGgufElements = std::uint64_t{1} << 24;
constexpr std::uint64_t kDefaultAlignment = 32;

/// Reads the header of a file from its beginning.
class GgufHeader {
 public:
  explicit GgufHeader(const MappedFile& file) : file_(file) {}

  std::uint64_t at() const { return at_; }
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const {
    throw FormatError(fmt::format("\"{}\" at byte {}: {}", file_.path(), offset, what));
  }

  /// Returns the next bytes. `what` is the name of the part in messages.
  std::string_view bytes(std::uint64_t count, std::string_view what) {
    const std::uint64_t left = file_.bytes() - at_;
    if (count > left)
      fail(at_,
           fmt::format("{} has {} bytes, but only {} are left: the file is truncated or damaged",
                       what, count, left));
    if (at_ + count > kMaxGgufHeader)
      fail(at_, fmt::format("{} ends at byte {}; the limit of the header is {}", what, at_ + count,
                            kMaxGgufHeader));
    const auto* begin = reinterpret_cast<const char*>(file_.data()) + at_;
    at_ += count;
    return {begin, count};
  }
  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, bytes(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  std::string_view string(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    return bytes(length, what);
  }
  /// Returns a key or the name of a tensor.
  std::string name(std::string_view what) {
    const std::uint64_t begin = at_;
    const std::string_view text = string(what);
    if (text.empty()) fail(begin, fmt::format("{} is empty", what));
    if (as_utf8(text) != text)
      fail(begin, fmt::format("{} '{}' is not valid UTF-8", what, excerpt(text)));
    return std::string(text);
  }
  GgufValue value(std::string_view key) {
    const std::uint64_t begin = at_;
    std::uint32_t type = number<std::uint32_t>(key);
    const bool is_array = type == static_cast<std::uint32_t>(GgufType::array);
    std::uint64_t count = 1;
    if (is_array) {
      type = number<std::uint32_t>(key);
      count = number<std::uint64_t>(key);
      if (type == static_cast<std::uint32_t>(GgufType::array))
        fail(begin, fmt::format("{} is an array of arrays, which is not supported", key));
      if (count > kMaxGgufElements) {
        fail(begin,
             fmt::format("{} has {} elements; the limit is {}", key, count, kMaxGgufElements));
      }
    }
    if (type > static_cast<std::uint32_t>(GgufType::f64))
      fail(begin, fmt::format("{} has the unknown type {}", key, type));
    const auto known = static_cast<GgufType>(type);
    return {known, is_array, items(known, count, key)};
  }

 private:
  GgufValue::Items items(GgufType type, std::uint64_t count, std::string_view key) {
    switch (type) {
      case GgufType::u8: return numbers<std::uint8_t, std::int64_t>(count, key);
      case GgufType::i8: return numbers<std::int8_t, std::int64_t>(count, key);
      case GgufType::u16: return numbers<std::uint16_t, std::int64_t>(count, key);
      case GgufType::i16: return numbers<std::int16_t, std::int64_t>(count, key);
      case GgufType::u32: return numbers<std::uint32_t, std::int64_t>(count, key);
      case GgufType::i32: return numbers<std::int32_t, std::int64_t>(count, key);
      case GgufType::u64: return numbers<std::uint64_t, std::int64_t>(count, key);
      case GgufType::i64: return numbers<std::int64_t, std::int64_t>(count, key);
      case GgufType::f32: return numbers<float, double>(count, key);
      case GgufType::f64: return numbers<double, double>(count, key);
      case GgufType::boolean: return bools(count, key);
      case GgufType::string:
      case GgufType::array: break;
    }
    std::vector<std::string> strings;
    for (std::uint64_t i = 0; i < count; ++i) strings.emplace_back(string(key));
    return strings;
  }
  template <class Stored, class Item>
  std::vector<Item> numbers(std::uint64_t count, std::string_view key) {
    const char* from = bytes(count * sizeof(Stored), key).data();
    std::vector<Item> result(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      Stored value;
      std::memcpy(&value, from + i * sizeof(Stored), sizeof(Stored));
      result[i] = static_cast<Item>(value);
    }
    return result;
  }
  std::vector<std::int64_t> bools(std::uint64_t count, std::string_view key) {
    const std::uint64_t begin = at_;
    std::vector<std::int64_t> result = numbers<std::uint8_t, std::int64_t>(count, key);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (result[i] > 1)
        fail(begin + i,
             fmt::format("{} has the bool {}, which is neither 0 nor 1", key, result[i]));
    }
    return result;
  }

  const MappedFile& file_;
  std::uint64_t at_ = 0;
};

void read_version(GgufHeader& header, const MappedFile& file) {
  const std::string_view head(reinterpret_cast<const char*>(file.data()), file.bytes());
  if (!head.starts_with("GGUF")) {
    header.fail(0, fmt::format("the file does not start with 'GGUF'{}", foreign_hint(head)));
  }
  header.bytes(4, "the magic number");
  const std::uint64_t at = header.at();
  const auto version = header.number<std::uint32_t>("the version");
  if (version != 0 && (version & 0xFFFF) == 0) {
    header.fail(at,
                "the file is big-endian, which is not supported: convert it with "
                "gguf_convert_endian.py of llama.cpp");
  }
  if (version != 2 && version != 3) {
    header.fail(at, fmt::format("the file has GGUF version {}; versions 2 and 3 can be read: "
                                "convert the model again with a current llama.cpp",
                                version));
  }
}

GgufMetadata read_metadata(GgufHeader& header, std::uint64_t count, const std::string& path) {
  GgufMetadata metadata(path);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = header.at();
    const std::string key = header.name(fmt::format("metadata key {} of {}", i + 1, count));
    if (metadata.contains(key))
      header.fail(at, fmt::format("the key '{}' occurs twice", excerpt(key)));
    metadata.set(key, header.value(excerpt(key)), at);
  }
  return metadata;
}

std::uint64_t read_alignment(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  const std::int64_t alignment =
      metadata.find<std::int64_t>(kKey).value_or(static_cast<std::int64_t>(kDefaultAlignment));
  if (alignment < 1 || alignment > (1 << 30) || (alignment & (alignment - 1)) != 0)
    metadata.fail(kKey, fmt::format("is {}, but must be a power of two", alignment));
  return static_cast<std::uint64_t>(alignment);
}

// The description of a tensor, before its data is located.
struct TensorInfo {
  GgufTensor tensor = {};
  std::uint64_t at = 0;  // of the description in the file
  std::uint64_t begin = 0, bytes = 0;
};

TensorInfo read_tensor_info(GgufHeader& header, std::string_view what) {
  TensorInfo info{.at = header.at()};
  GgufTensor& tensor = info.tensor;
  tensor.name = header.name(what);
  const auto fail = [&](std::string_view problem) {
    header.fail(info.at, fmt::format("tensor '{}' {}", excerpt(tensor.name), problem));
  };
  const auto axes = header.number<std::uint32_t>(what);
  if (axes > kMaxGgufAxes) fail(fmt::format("has {} axes; the limit is {}", axes, kMaxGgufAxes));
  for (std::uint32_t i = 0; i < axes; ++i) {
    const auto size = header.number<std::uint64_t>(what);
    if (size > kMaxTensorBytes) fail(fmt::format("has an axis of size {}", size));
    tensor.sizes.insert(tensor.sizes.begin(), static_cast<std::int64_t>(size));
  }
  const auto type = header.number<std::uint32_t>(what);
  if (!is_readable_ggml_type(type)) {
    fail(
        fmt::format("has type {}, which cannot be read (readable: {}): convert the file, for "
                    "example with 'llama-quantize --allow-requantize FILE OUT Q8_0'",
                    ggml_type_name(type), readable_ggml_types()));
  }
  tensor.type = static_cast<GgmlType>(type);
  try {
    checked_tensor_bytes(DType::f64, tensor.sizes);  // no later size can overflow
  } catch (const FormatError& e) {
    fail(fmt::format("is too large: {}", e.what()));
  }
  const std::int64_t block = ggml_block_elements(tensor.type);
  const std::int64_t row = tensor.sizes.empty() ? 1 : tensor.sizes.back();
  if (row % block != 0) {
    fail(fmt::format("has rows of {} elements, which are not a multiple of the {} in a block of {}",
                     row, block, ggml_type_name(tensor.type)));
  }
  info.bytes = static_cast<std::uint64_t>(num_elements(tensor.sizes) / block *
                                          ggml_block_bytes(tensor.type));
  info.begin = header.number<std::uint64_t>(what);
  return info;
}

/// Makes the tensors views of the file. The data of no two tensors overlaps.
void locate(GgufHeader& header, std::vector<TensorInfo>& infos, std::uint64_t alignment,
            const std::shared_ptr<MappedFile>& file) {
  const std::uint64_t data = (header.at() + alignment - 1) / alignment * alignment;
  const std::uint64_t size = file->bytes();
  const auto buffer = Buffer::borrow(const_cast<std::byte*>(file->data()), size, file, false);
  std::vector<const TensorInfo*> order;
  for (TensorInfo& info : infos) {
    const auto fail = [&](std::string_view problem) {
      header.fail(info.at, fmt::format("tensor '{}' {}", excerpt(info.tensor.name), problem));
    };
    if (info.begin % alignment != 0)
      fail(fmt::format("has the offset {}, which is not a multiple of the alignment {}", info.begin,
                       alignment));
    const std::uint64_t left = data > size ? 0 : size - data;
    if (info.begin > left || info.bytes > left - info.begin)
      fail(
          fmt::format("has {} bytes at offset {} of the data, but the data has {} bytes: the file "
                      "is truncated or damaged",
                      info.bytes, info.begin, left));
    info.tensor.data = info.bytes == 0
                           ? Tensor::empty(DType::u8, {0}).read_only()
                           : Tensor::view(DType::u8, {static_cast<std::int64_t>(info.bytes)},
                                          buffer, data + info.begin);
    if (info.bytes > 0) order.push_back(&info);
  }
  std::sort(order.begin(), order.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TensorInfo &before = *order[i - 1], &after = *order[i];
    if (before.begin + before.bytes > after.begin) {
      header.fail(after.at, fmt::format("the data of tensor '{}' overlaps that of tensor '{}'",
                                        excerpt(after.tensor.name), excerpt(before.tensor.name)));
    }
  }
}

GgufFile read_part(const std::string& path) {
  const std::shared_ptr<MappedFile> file = MappedFile::open(path);
  GgufHeader header(*file);
  read_version(header, *file);
  const auto tensors = header.number<std::uint64_t>("the number of tensors");
  const auto keys = header.number<std::uint64_t>("the number of metadata keys");
  GgufFile result{path, read_metadata(header, keys, path), {}};
  const std::uint64_t alignment = read_alignment(result.metadata);
  std::vector<TensorInfo> infos;
  std::set<std::string, std::less<>> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    infos.push_back(read_tensor_info(header, fmt::format("tensor {} of {}", i + 1, tensors)));
    if (!names.insert(infos.back().tensor.name).second) {
      header.fail(infos.back().at,
                  fmt::format("the tensor '{}' occurs twice", excerpt(infos.back().tensor.name)));
    }
  }
  locate(header, infos, alignment, file);
  for (TensorInfo& info : infos) result.tensors.push_back(std::move(info.tensor));
  return result;
}

/// Returns the path of a part. `stem` is the path of the model without "-00001-of-00003.gguf".
std::string part_path(std::string_view stem, std::int64_t part, std::int64_t parts) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", stem, part + 1, parts);
}

/// Appends the tensors of the other parts of a split model.
void add_parts(GgufFile& file, std::int64_t parts) {
  constexpr std::string_view kNumber = "split.no", kCount = "split.count";
  const std::int64_t number = file.metadata.get<std::int64_t>(kNumber);
  if (number < 0 || number >= parts)
    file.metadata.fail(kNumber, fmt::format("is {}, but the model has {} parts", number, parts));
  const std::string ending = part_path("", number, parts);
  if (!file.path.ends_with(ending)) {
    file.metadata.fail(kNumber, fmt::format("is {}: the name of part {} of a model that is split "
                                            "into {} must end with {}",
                                            number, number + 1, parts, ending));
  }
  const std::string stem = file.path.substr(0, file.path.size() - ending.size());
  if (number != 0) {
    file.metadata.fail(kNumber, fmt::format("is {}: open the first part of the model, \"{}\"",
                                            number, part_path(stem, 0, parts)));
  }
  std::set<std::string, std::less<>> names;
  for (const GgufTensor& tensor : file.tensors) names.insert(tensor.name);
  for (std::int64_t i = 1; i < parts; ++i) {
    const std::string path = part_path(stem, i, parts);
    GgufFile part;
    try {
      part = read_part(path);
    } catch (const IoError& e) {
      e.rethrow_as(
          fmt::format("{} (part {} of {} of the model \"{}\")", e.what(), i + 1, parts, file.path));
    }
    for (const auto& [key, wanted] : {std::pair(kNumber, i), {kCount, parts}}) {
      const std::int64_t found = part.metadata.get<std::int64_t>(key);
      if (found != wanted)
        part.metadata.fail(
            key, fmt::format("is {}, but must be {} in this part of the model", found, wanted));
    }
    for (GgufTensor& tensor : part.tensors) {
      if (!names.insert(tensor.name).second) {
        throw FormatError(
            fmt::format("\"{}\": the tensor '{}' is also in another part of the model", path,
                        excerpt(tensor.name)));
      }
      file.tensors.push_back(std::move(tensor));
    }
  }
  const auto total = file.metadata.find<std::int64_t>("split.tensors.count");
  if (total && *total != static_cast<std::int64_t>(file.tensors.size())) {
    file.metadata.fail("split.tensors.count",
                       fmt::format("is {}, but the parts of the model contain {} tensors", *total,
                                   file.tensors.size()));
  }
}

}  // namespace

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const GgufTensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

GgufFile read_gguf(const std::string& path) {
  GgufFile file = read_part(path);
  const std::int64_t parts = file.metadata.find<std::int64_t>("split.count").value_or(1);
  if (parts > 1) add_parts(file, parts);
  return file;
}

}  // namespace weft
