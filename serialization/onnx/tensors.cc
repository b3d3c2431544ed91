#include "weft/serialization/onnx/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/checked_size.h"

namespace weft::onnx {
namespace {

using DataType = onnx_proto::Tensor;

struct NamedType {
  std::int32_t number;
  std::string_view name;
  std::optional<DType> dtype = {};
};
constexpr NamedType kTypes[] = {{DataType::FLOAT, "float", DType::f32},
                                {DataType::UINT8, "uint8", DType::u8},
                                {DataType::INT8, "int8", DType::i8},
                                {DataType::UINT16, "uint16"},
                                {DataType::INT16, "int16"},
                                {DataType::INT32, "int32", DType::i32},
                                {DataType::INT64, "int64", DType::i64},
                                {DataType::STRING, "string"},
                                {DataType::BOOL, "bool", DType::boolean},
                                {DataType::FLOAT16, "float16", DType::f16},
                                {DataType::DOUBLE, "double", DType::f64},
                                {DataType::UINT32, "uint32"},
                                {DataType::UINT64, "uint64"},
                                {DataType::COMPLEX64, "complex64"},
                                {DataType::COMPLEX128, "complex128"},
                                {DataType::BFLOAT16, "bfloat16", DType::bf16},
                                {DataType::FLOAT8E4M3FN, "float8e4m3fn"},
                                {DataType::FLOAT8E4M3FNUZ, "float8e4m3fnuz"},
                                {DataType::FLOAT8E5M2, "float8e5m2"},
                                {DataType::FLOAT8E5M2FNUZ, "float8e5m2fnuz"},
                                {DataType::UINT4, "uint4", DType::u8},
                                {DataType::INT4, "int4", DType::i8},
                                {DataType::FLOAT4E2M1, "float4e2m1"}};

const NamedType* find_type(std::int32_t number) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const NamedType& t) { return t.number == number; });
  return found == std::end(kTypes) ? nullptr : found;
}

bool is_four_bits(std::int32_t number) {
  return number == DataType::UINT4 || number == DataType::INT4;
}

Sizes sizes_of(const google::protobuf::RepeatedField<std::int64_t>& dims, const std::string& what) {
  for (const std::int64_t dim : dims) {
    if (dim < 0) throw FormatError(fmt::format("{} has the negative size {}", what, dim));
  }
  return {dims.begin(), dims.end()};
}

// Widens packed 4-bit integers; the first of two is in the low half of a byte.
template <class T>
void widen(const unsigned char* from, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int bits = from[i / 2] >> (i % 2 * 4) & 15;
    to[i] = static_cast<T>(std::is_signed_v<T> && bits > 7 ? bits - 16 : bits);
  }
}

void widen(const void* from, Tensor& to) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  if (to.dtype() == DType::i8)
    widen(bytes, to.numel(), to.mutable_data<std::int8_t>());
  else
    widen(bytes, to.numel(), to.mutable_data<std::uint8_t>());
}

// Bool tensors of files may contain any byte.
void normalise_bools(Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  std::byte* bytes = tensor.mutable_raw();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) bytes[i] = std::byte{bytes[i] != std::byte{0}};
}

std::uint64_t data_bytes(std::int32_t number, DType dtype, const Sizes& sizes) {
  const std::uint64_t bytes = checked_tensor_bytes(dtype, sizes);
  return is_four_bits(number) ? (bytes + 1) / 2 : bytes;
}

// Copies the elements of a typed field, whose element type may be wider than T.
template <class T, class Field>
void copy_field(const Field& field, Tensor& to) {
  T* out = to.mutable_data<T>();
  for (int i = 0; i < field.size(); ++i) out[i] = static_cast<T>(field[i]);
}

Tensor from_field(const onnx_proto::Tensor& tensor, DType dtype, const Sizes& sizes,
                  const std::string& what) {
  const std::int64_t count =
      static_cast<std::int64_t>(checked_tensor_bytes(dtype, sizes) / dtype_size(dtype));
  const bool four_bits = is_four_bits(tensor.data_type());
  const std::int64_t wanted = four_bits ? (count + 1) / 2 : count;
  const int given = dtype == DType::f32   ? tensor.float_data_size()
                    : dtype == DType::f64 ? tensor.double_data_size()
                    : dtype == DType::i64 ? tensor.int64_data_size()
                                          : tensor.int32_data_size();
  if (given != wanted) {
    throw FormatError(fmt::format("{} has {} elements, but its sizes {} require {}", what, given,
                                  to_string(sizes), wanted));
  }
  Tensor result = Tensor::empty(dtype, sizes);
  const auto& ints = tensor.int32_data();
  switch (dtype) {
    case DType::f32: copy_field<float>(tensor.float_data(), result); break;
    case DType::f64: copy_field<double>(tensor.double_data(), result); break;
    case DType::i64: copy_field<std::int64_t>(tensor.int64_data(), result); break;
    case DType::i32: copy_field<std::int32_t>(ints, result); break;
    case DType::boolean:
      for (int i = 0; i < ints.size(); ++i) result.mutable_data<bool>()[i] = ints[i] != 0;
      break;
    case DType::f16:
      for (int i = 0; i < ints.size(); ++i)
        result.mutable_data<Float16>()[i].bits = static_cast<std::uint16_t>(ints[i]);
      break;
    case DType::bf16:
      for (int i = 0; i < ints.size(); ++i)
        result.mutable_data<BFloat16>()[i].bits = static_cast<std::uint16_t>(ints[i]);
      break;
    case DType::i8:
    case DType::u8:
      if (four_bits) {
        std::string packed;
        for (const std::int32_t pair : ints) packed += static_cast<char>(pair);
        widen(packed.data(), result);
      } else if (dtype == DType::i8) {
        copy_field<std::int8_t>(ints, result);
      } else {
        copy_field<std::uint8_t>(ints, result);
      }
      break;
  }
  return result;
}

std::uint64_t parse_number(const std::string& text, const std::string& what) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw FormatError(fmt::format("{}: '{}' is not a number of bytes", what, excerpt(text)));
  return value;
}

// Returns the data as a tensor: a view if possible, otherwise a copy.
Tensor from_bytes(std::int32_t number, DType dtype, const Sizes& sizes, const void* data,
                  std::uint64_t bytes, const std::shared_ptr<const void>& owner) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % dtype_size(dtype) == 0;
  if (owner != nullptr && aligned && !is_four_bits(number) && dtype != DType::boolean) {
    // The view is read-only.
    return Tensor::view(dtype, sizes, Buffer::borrow(const_cast<void*>(data), bytes, owner, false));
  }
  Tensor result = Tensor::empty(dtype, sizes);
  if (is_four_bits(number))
    widen(data, result);
  else if (bytes > 0)
    std::memcpy(result.mutable_raw(), data, bytes);
  normalise_bools(result);
  return result;
}

}  // namespace

std::optional<DType> dtype_of_number(std::int32_t data_type) {
  const NamedType* type = find_type(data_type);
  return type == nullptr ? std::nullopt : type->dtype;
}

std::int32_t number_of_dtype(DType dtype) {
  return std::find_if(std::begin(kTypes), std::end(kTypes),
                      [&](const NamedType& t) { return t.dtype == dtype; })
      ->number;
}

std::string data_type_name(std::int32_t data_type) {
  const NamedType* type = find_type(data_type);
  return type == nullptr ? fmt::format("number {}", data_type) : std::string(type->name);
}

TensorReader::TensorReader(std::string path, std::shared_ptr<const void> messages)
    : path_(std::move(path)), messages_(std::move(messages)) {}
TensorReader::~TensorReader() = default;

Tensor TensorReader::read(const onnx_proto::Tensor& tensor, std::string_view what) {
  const std::string name(what);
  const std::int32_t number = tensor.data_type();
  const std::optional<DType> dtype = dtype_of_number(number);
  if (!dtype) {
    throw FormatError(
        fmt::format("{}: tensors of type {} are not supported", name, data_type_name(number)));
  }
  if (tensor.has_segment())
    throw FormatError(fmt::format("{}: tensors in several segments are not supported", name));
  const Sizes sizes = sizes_of(tensor.dims(), name);
  const std::uint64_t bytes = data_bytes(number, *dtype, sizes);
  if (tensor.data_location() == onnx_proto::Tensor::EXTERNAL)
    return external(tensor, *dtype, sizes, name);
  if (!tensor.has_raw_data()) return from_field(tensor, *dtype, sizes, name);
  const std::string& raw = tensor.raw_data();
  if (raw.size() != bytes) {
    throw FormatError(fmt::format("{} has {} bytes of data, but its type {}{} requires {}", name,
                                  raw.size(), dtype_name(*dtype), to_string(sizes), bytes));
  }
  return from_bytes(number, *dtype, sizes, raw.data(), bytes, messages_);
}

Tensor TensorReader::external(const onnx_proto::Tensor& tensor, DType dtype, const Sizes& sizes,
                              const std::string& what) {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value(), what);
    if (entry.key() == "length") length = parse_number(entry.value(), what);
  }
  const std::filesystem::path relative(location);
  const bool leaves =
      std::any_of(relative.begin(), relative.end(), [](const auto& part) { return part == ".."; });
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() ||
      leaves) {
    throw FormatError(
        fmt::format("{}: the file of its external data, '{}', is not in the folder of the model",
                    what, excerpt(location)));
  }
  const std::uint64_t bytes = data_bytes(tensor.data_type(), dtype, sizes);
  if (length && *length != bytes) {
    throw FormatError(fmt::format("{} has {} bytes of external data, but its type {}{} requires {}",
                                  what, *length, dtype_name(dtype), to_string(sizes), bytes));
  }
  const std::string path = (std::filesystem::path(path_).parent_path() / relative).string();
  auto& file = files_[path];
  if (file == nullptr) file = MappedFile::open(path);
  if ((CheckedSize(offset) + bytes).value() > file->bytes()) {
    throw FormatError(fmt::format("{}: its data at byte {}, {} bytes, is beyond the end of '{}'",
                                  what, offset, bytes, path));
  }
  return from_bytes(tensor.data_type(), dtype, sizes, file->data() + offset, bytes, file);
}

Tensor TensorReader::read(const onnx_proto::SparseTensor& tensor, std::string_view what,
                          std::uint64_t max_bytes) {
  const std::string name(what);
  const Tensor values = read(tensor.values(), name);
  const Tensor indices = read(tensor.indices(), fmt::format("the indices of {}", name));
  const Sizes sizes = sizes_of(tensor.dims(), name);
  if (checked_tensor_bytes(values.dtype(), sizes) > max_bytes) {
    throw FormatError(
        fmt::format("{} is sparse and has {} bytes as a dense tensor; "
                    "OnnxReadOptions::max_memory permits {}",
                    name, checked_tensor_bytes(values.dtype(), sizes), max_bytes));
  }
  const std::int64_t count = values.numel(), rank = static_cast<std::int64_t>(sizes.size());
  const bool flat = indices.rank() == 1 && indices.size(0) == count;
  if (indices.dtype() != DType::i64 || (!flat && indices.sizes() != Sizes{count, rank})) {
    throw FormatError(fmt::format("the indices of {} are {}, but must be i64[{}] or i64[{}, {}]",
                                  name, indices.type_str(), count, count, rank));
  }
  Tensor result = Tensor::zeros(values.dtype(), sizes);
  const std::int64_t* index = indices.data<std::int64_t>();
  const std::size_t size = dtype_size(values.dtype());
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    if (flat) {
      at = index[i];
      if (at < 0 || at >= result.numel())
        throw FormatError(fmt::format("index {} of {} is out of range", at, name));
    } else {
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        const std::int64_t j = index[i * rank + axis], n = sizes[static_cast<std::size_t>(axis)];
        if (j < 0 || j >= n)
          throw FormatError(fmt::format("index {} of {} is out of range", j, name));
        at = at * n + j;
      }
    }
    std::memcpy(result.mutable_raw() + static_cast<std::size_t>(at) * size,
                values.raw() + static_cast<std::size_t>(i) * size, size);
  }
  return result;
}

}  // namespace weft::onnx
