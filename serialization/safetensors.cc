#include "weft/serialization/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/foreign_file.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::uint64_t kLengthBytes = 8;

constexpr std::pair<std::string_view, DType> kDTypes[] = {
    {"F64", DType::f64},   {"F32", DType::f32}, {"F16", DType::f16},
    {"BF16", DType::bf16}, {"I64", DType::i64}, {"I32", DType::i32},
    {"I8", DType::i8},     {"U8", DType::u8},   {"BOOL", DType::boolean}};

struct Entry {
  std::string name, dtype = {};
  std::vector<std::uint64_t> shape = {}, offsets = {};
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Reads the JSON header from parser events, because a document tree would silently merge duplicate
// names. Accepts
//   {name: {"dtype": text, "shape": [..], "data_offsets": [begin, end]},
//    "__metadata__": {name: text}}
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string error;
  std::size_t error_at = 0;

  bool start_object(std::size_t) override {
    if (array_ != nullptr || depth_ == 2) return wrong("an object");
    ++depth_;
    if (depth_ == 2) {
      if (!names_.insert(key_).second)
        return stop(fmt::format("the name '{}' occurs twice", excerpt(key_)));
      in_metadata_ = key_ == "__metadata__";
      if (!in_metadata_) entries.push_back({.name = key_});
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) {
      const Entry& e = entries.back();
      if (!e.has_dtype || !e.has_shape || !e.has_offsets) {
        return stop(fmt::format("tensor '{}' lacks {}", excerpt(e.name),
                                !e.has_dtype   ? "dtype"
                                : !e.has_shape ? "shape"
                                               : "data_offsets"));
      }
    }
    --depth_;
    return true;
  }
  bool key(string_t& key) override {
    key_ = key;
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ != 2 || array_ != nullptr) return wrong("a string");
    if (in_metadata_) {
      if (!metadata.emplace(key_, text).second) {
        return stop(fmt::format("the metadata key '{}' occurs twice", excerpt(key_)));
      }
      return true;
    }
    Entry& e = entries.back();
    if (key_ != "dtype") return wrong("a string");
    if (e.has_dtype) return stop(fmt::format("tensor '{}' has two dtypes", excerpt(e.name)));
    e.dtype = text;
    e.has_dtype = true;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || array_ != nullptr) return wrong("an array");
    Entry& e = entries.back();
    if (key_ != "shape" && key_ != "data_offsets") return wrong("an array");
    bool& has = key_ == "shape" ? e.has_shape : e.has_offsets;
    if (has) return stop(fmt::format("tensor '{}' has two fields '{}'", excerpt(e.name), key_));
    has = true;
    array_ = key_ == "shape" ? &e.shape : &e.offsets;
    return true;
  }
  bool end_array() override {
    array_ = nullptr;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (array_ == nullptr) return wrong("a number");
    array_->push_back(value);
    return true;
  }
  bool null() override { return wrong("null"); }
  bool boolean(bool) override { return wrong("true or false"); }
  bool number_integer(number_integer_t) override { return wrong("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return wrong("a fraction"); }
  bool binary(binary_t&) override { return wrong("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    error = "the header is not valid JSON";
    error_at = position > 0 ? position - 1 : 0;
    return false;
  }

 private:
  bool stop(std::string what) {
    error = std::move(what);
    return false;
  }
  bool wrong(std::string_view what) {
    return stop(fmt::format("{} is not allowed here, after '{}'", what, excerpt(key_)));
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;
  std::set<std::string> names_;
  std::vector<std::uint64_t>* array_ = nullptr;
};

std::string_view dtype_text(DType dtype) {
  for (const auto& [name, d] : kDTypes) {
    if (d == dtype) return name;
  }
  return "";
}

}  // namespace

Safetensors read_safetensors(const std::string& path) {
  const auto file = MappedFile::open(path);
  const auto fail = [&](std::uint64_t offset, std::string_view what) {
    throw FormatError(fmt::format("\"{}\" at byte {}: {}", path, offset, what));
  };
  const std::uint64_t size = file->bytes();
  // A header that is invalid may be the beginning of a file in another format.
  const auto fail_header = [&](std::uint64_t offset, std::string_view what) {
    const std::string_view head(reinterpret_cast<const char*>(file->data()), size);
    fail(offset, std::string(what) + foreign_hint(head, path));
  };
  if (size < kLengthBytes)
    fail_header(0, fmt::format("the file has {} bytes, which is too few for a header", size));
  std::uint64_t header = 0;
  std::memcpy(&header, file->data(), kLengthBytes);
  if (header > kMaxHeader) {
    fail_header(0,
                fmt::format("the header declares {} bytes; the limit is {}", header, kMaxHeader));
  }
  if (header > size - kLengthBytes) {
    fail_header(0, fmt::format("the header declares {} bytes, but only {} are left", header,
                               size - kLengthBytes));
  }
  const char* text = reinterpret_cast<const char*>(file->data()) + kLengthBytes;
  if (header == 0 || text[0] != '{')
    fail_header(kLengthBytes, "the header does not start with '{'");

  HeaderReader reader;
  if (!nlohmann::json::sax_parse(text, text + header, &reader)) {
    fail(kLengthBytes + reader.error_at, reader.error);
  }

  const std::uint64_t start = kLengthBytes + header, data_bytes = size - start;
  std::vector<Entry>& entries = reader.entries;
  for (const Entry& e : entries) {
    if (e.offsets.size() != 2 || e.offsets[0] > e.offsets[1] || e.offsets[1] > data_bytes) {
      fail(kLengthBytes,
           fmt::format("tensor '{}': its data_offsets [{}] are not a range within the {} "
                       "bytes of data",
                       excerpt(e.name), excerpt(fmt::format("{}", fmt::join(e.offsets, ", "))),
                       data_bytes));
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.offsets[0], a.offsets[1]) < std::pair(b.offsets[0], b.offsets[1]);
  });

  Safetensors result;
  result.metadata = std::move(reader.metadata);
  const auto buffer = Buffer::borrow(const_cast<std::byte*>(file->data()), size, file, false);
  std::uint64_t end = 0;
  for (const Entry& e : entries) {
    const std::uint64_t begin = e.offsets[0], bytes = e.offsets[1] - begin;
    if (begin != end) {
      fail(start + std::min(begin, end),
           fmt::format(
               "tensor '{}' starts at byte {} of the data, but the previous tensor ends at {}: "
               "{}",
               excerpt(e.name), begin, end, begin > end ? "a gap" : "an overlap"));
    }
    end = e.offsets[1];
    const auto known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                    [&](const auto& d) { return d.first == e.dtype; });
    if (known == std::end(kDTypes)) {
      throw DTypeError(
          fmt::format("\"{}\": tensor '{}' has dtype {}, which Weft does not support (supported: "
                      "F64, F32, F16, BF16, I64, I32, I8, U8, BOOL)",
                      path, excerpt(e.name), excerpt(e.dtype)));
    }
    Sizes sizes;
    for (const std::uint64_t n : e.shape) {
      if (n > (std::uint64_t{1} << 62)) {
        fail(kLengthBytes, fmt::format("tensor '{}' has an axis of size {}", excerpt(e.name), n));
      }
      sizes.push_back(static_cast<std::int64_t>(n));
    }
    Tensor tensor;
    try {
      const std::uint64_t wanted = checked_tensor_bytes(known->second, sizes);
      if (wanted != bytes) {
        throw FormatError(fmt::format("{}{} needs {} bytes, but its data has {} bytes", e.dtype,
                                      excerpt(to_string(sizes)), wanted, bytes));
      }
      if ((start + begin) % dtype_size(known->second) == 0) {
        tensor = Tensor::view(known->second, sizes, buffer, start + begin);
      } else {
        tensor = Tensor::empty(known->second, sizes);
        if (bytes > 0) std::memcpy(tensor.mutable_raw(), file->data() + start + begin, bytes);
      }
    } catch (const Error& error) {
      fail(kLengthBytes, fmt::format("tensor '{}': {}", excerpt(e.name), error.what()));
    }
    if (known->second == DType::boolean) {
      for (std::uint64_t i = 0; i < bytes; ++i) {
        if (file->data()[start + begin + i] > std::byte{1}) {
          fail(start + begin + i,
               fmt::format("tensor '{}': a BOOL is neither 0 nor 1", excerpt(e.name)));
        }
      }
    }
    result.tensors.emplace(e.name, std::move(tensor));
  }
  if (end != data_bytes) {
    fail(start + end, fmt::format("{} bytes of data belong to no tensor", data_bytes - end));
  }
  return result;
}

void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const TensorMap::value_type*> order;
  for (const auto& entry : tensors) {
    if (!entry.second.defined() || entry.first == "__metadata__") {
      throw ArgumentError(fmt::format("write_safetensors: '{}' {}", entry.first,
                                      entry.second.defined() ? "is reserved" : "is undefined"));
    }
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return dtype_size(a->second.dtype()) > dtype_size(b->second.dtype());
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const auto* entry : order) {
    const Tensor& t = entry->second;
    header[entry->first] = {{"dtype", dtype_text(t.dtype())},
                            {"shape", t.sizes()},
                            {"data_offsets", {at, at + t.bytes()}}};
    at += t.bytes();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw ArgumentError("write_safetensors: a name or the metadata is not valid UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeader) {
    throw FormatError(
        fmt::format("write_safetensors: the header would have {} bytes; the limit is {}",
                    text.size(), kMaxHeader));
  }
  AtomicFile file(path);
  const std::uint64_t length = text.size();
  file.write(&length, kLengthBytes);
  file.write(text.data(), text.size());
  for (const auto* entry : order) file.write(entry->second.raw(), entry->second.bytes());
  file.commit();
}

}  // namespace weft
