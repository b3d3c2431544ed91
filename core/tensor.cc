#include "weft/core/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "weft/core/convert.h"
#include "weft/core/error.h"

namespace weft {
namespace {

std::string type_text(DType dtype, const Sizes& sizes) {
  return fmt::format("{}{}", dtype_name(dtype), to_string(sizes));
}

template <class T>
constexpr bool kHalf = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <class To>
To float_to_integer(double x) {
  if (x != x) return 0;
  constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min());
  // max() + 1 is a power of two and therefore exactly representable as a double, unlike max() of a
  // 64-bit type.
  constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
  constexpr double kEnd = static_cast<double>(kHalf) * 2.0;
  if (x <= kLow) return std::numeric_limits<To>::min();
  if (x >= kEnd) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kHalf<From>) {
    return convert<To>(to_float(x));
  } else if constexpr (kHalf<To>) {
    if constexpr (std::is_integral_v<From>) {
      return convert<To>(integer_to_double_sticky(static_cast<std::int64_t>(x)));
    } else if constexpr (std::is_same_v<To, BFloat16>) {
      return to_bfloat16(x);
    } else {
      return to_float16(x);
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return float_to_integer<To>(static_cast<double>(x));
  } else {  // narrowing integer conversions wrap around
    return static_cast<To>(x);
  }
}

// Loading a bool from a byte that is neither 0 nor 1 is undefined behaviour, and files may contain
// such bytes.
template <class T>
T load(const std::byte* base, std::int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return base[i] != std::byte{0};
  } else {
    return reinterpret_cast<const T*>(base)[i];
  }
}

}  // namespace

std::size_t tensor_bytes(DType dtype, const Sizes& sizes) {
  bool empty = false, too_large = false;
  std::size_t bytes = dtype_size(dtype);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) {
      throw ShapeError(
          fmt::format("size {} of axis {} of {} is negative", sizes[i], i, to_string(sizes)));
    }
    if (sizes[i] == 0) {
      empty = true;
      continue;
    }
    too_large = too_large ||
                __builtin_mul_overflow(bytes, static_cast<std::size_t>(sizes[i]), &bytes) ||
                bytes > kMaxTensorBytes;
  }
  if (too_large) {
    throw ShapeError(fmt::format("{}: size overflows the address space{}", type_text(dtype, sizes),
                                 empty ? " (axes of size 0 ignored)" : ""));
  }
  return empty ? 0 : bytes;
}

Tensor Tensor::empty(DType dtype, Sizes sizes) {
  auto buffer = Buffer::allocate(tensor_bytes(dtype, sizes));
  return view(dtype, std::move(sizes), std::move(buffer));
}

std::vector<Tensor> Tensor::empty_together(const std::vector<std::pair<DType, Sizes>>& types) {
  std::vector<std::size_t> bytes;
  for (const auto& [dtype, sizes] : types) bytes.push_back(tensor_bytes(dtype, sizes));
  auto buffers = Buffer::allocate_together(bytes);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < types.size(); ++i)
    result.push_back(view(types[i].first, types[i].second, std::move(buffers[i])));
  return result;
}

Tensor Tensor::zeros(DType dtype, Sizes sizes) {
  Tensor t = empty(dtype, std::move(sizes));
  std::memset(t.mutable_raw(), 0, t.bytes());
  return t;
}

Tensor Tensor::full(DType dtype, Sizes sizes, double value) {
  Tensor t = empty(dtype, std::move(sizes));
  t.fill(value);
  return t;
}

void Tensor::fill(double value) {
  visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(reinterpret_cast<T*>(mutable_raw()), numel_, convert<T>(value));
  });
}

Tensor Tensor::view(DType dtype, Sizes sizes, std::shared_ptr<Buffer> buffer,
                    std::size_t byte_offset) {
  if (buffer == nullptr) throw ArgumentError("Tensor::view needs a buffer, not null");
  const std::size_t bytes = tensor_bytes(dtype, sizes);
  if (byte_offset > buffer->bytes() || bytes > buffer->bytes() - byte_offset) {
    throw ShapeError(fmt::format("{} needs {} bytes at offset {}, but the buffer has {} bytes",
                                 type_text(dtype, sizes), bytes, byte_offset, buffer->bytes()));
  }
  const std::size_t element = dtype_size(dtype);
  if (byte_offset % element != 0) {
    throw ShapeError(
        fmt::format("byte offset {} is not a multiple of {} bytes, the element size of {}",
                    byte_offset, element, dtype_name(dtype)));
  }
  if (reinterpret_cast<std::uintptr_t>(buffer->data()) % element != 0) {
    throw ShapeError(fmt::format(
        "the address of the buffer is not a multiple of {} bytes, the element size of {}: copy "
        "the data first",
        element, dtype_name(dtype)));
  }
  Tensor t;
  t.dtype_ = dtype;
  t.numel_ = num_elements(sizes);
  t.sizes_ = std::move(sizes);
  t.buffer_ = std::move(buffer);
  t.offset_ = byte_offset;
  return t;
}

Tensor Tensor::borrow(DType dtype, Sizes sizes, void* data) {
  const std::size_t bytes = tensor_bytes(dtype, sizes);
  return view(dtype, std::move(sizes), Buffer::borrow(data, bytes, nullptr, true));
}

Tensor Tensor::over_bytes(DType dtype, Sizes sizes, const void* data, bool writable,
                          std::shared_ptr<const void> owner) {
  const std::size_t bytes = tensor_bytes(dtype, sizes), element = dtype_size(dtype);
  if (reinterpret_cast<std::uintptr_t>(data) % element != 0) {
    throw ShapeError(fmt::format(
        "Tensor::over: the address of the elements of {} is not a multiple of the element "
        "size, {} bytes: copy the elements (Tensor::of)",
        type_text(dtype, sizes), element));
  }
  // The const_cast is safe: mutable_raw() throws for buffers that are not writable.
  return view(dtype, std::move(sizes),
              Buffer::borrow(const_cast<void*>(data), bytes, std::move(owner), writable));
}

void Tensor::check_strides(const Sizes& sizes, const std::vector<std::int64_t>& strides) {
  const Sizes wanted = row_major_strides(sizes);
  bool same = strides.size() == sizes.size();
  for (std::size_t i = 0; same && i < sizes.size(); ++i)
    same = strides[i] == wanted[i] || sizes[i] == 1;
  if (same || (strides.size() == sizes.size() && num_elements(sizes) == 0)) return;
  throw ShapeError(fmt::format(
      "Tensor::over: strides {} of {} are not row-major (expected {}): copy the elements in "
      "row-major order (Tensor::of)",
      to_string(strides), to_string(sizes), to_string(wanted)));
}

std::int64_t Tensor::size(int axis) const {
  return sizes_[static_cast<std::size_t>(normalize_axis(axis, rank()))];
}

const std::byte* Tensor::raw() const {
  if (buffer_ == nullptr) throw StateError("the tensor is undefined: it has no data");
  return static_cast<const Buffer&>(*buffer_).data() + offset_;
}

std::byte* Tensor::mutable_raw() {
  if (buffer_ == nullptr) throw StateError("the tensor is undefined: it has no data");
  if (!buffer_->writable()) {
    throw StateError(fmt::format(
        "the buffer of {} is read-only (a mapped file, const memory, or the value of a variable): "
        "clone() the tensor to get a writable copy",
        type_str()));
  }
  return buffer_->data() + offset_;
}

double Tensor::at(std::int64_t index) const {
  if (index < 0 || index >= numel_) {
    throw DataError(
        fmt::format("element {} is out of range: {} has {} elements", index, type_str(), numel_));
  }
  return visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert<double>(load<T>(raw(), index));
  });
}

Tensor Tensor::reshape(Sizes sizes) const {
  const std::byte* defined_or_throw = raw();
  static_cast<void>(defined_or_throw);
  tensor_bytes(dtype_, sizes);  // throws if the sizes are invalid
  if (num_elements(sizes) != numel_) {
    throw ShapeError(fmt::format("cannot reshape {} with {} elements to {} with {}", type_str(),
                                 numel_, to_string(sizes), num_elements(sizes)));
  }
  Tensor t = *this;
  t.sizes_ = std::move(sizes);
  return t;
}

Tensor Tensor::read_only() const {
  const std::byte* data = raw();
  if (!buffer_->writable()) return *this;
  Tensor t = *this;
  t.buffer_ = Buffer::borrow(const_cast<std::byte*>(data), bytes(), buffer_, false);
  t.offset_ = 0;
  return t;
}

Tensor Tensor::clone() const {
  const std::byte* source = raw();
  Tensor t = empty(dtype_, sizes_);
  if (bytes() > 0) std::memcpy(t.mutable_raw(), source, bytes());
  return t;
}

Tensor Tensor::to(DType dtype) const {
  const std::byte* source = raw();
  if (dtype == dtype_) return *this;
  Tensor t = empty(dtype, sizes_);
  visit_dtype(dtype_, [&](auto from) {
    visit_dtype(dtype, [&](auto to) {
      using From = typename decltype(from)::type;
      using To = typename decltype(to)::type;
      To* out = reinterpret_cast<To*>(t.mutable_raw());
      for (std::int64_t i = 0; i < numel_; ++i) out[i] = convert<To>(load<From>(source, i));
    });
  });
  return t;
}

std::string Tensor::type_str() const {
  return defined() ? type_text(dtype_, sizes_) : std::string("undefined");
}

std::string Tensor::str() const {
  if (!defined()) return "undefined";
  constexpr std::int64_t kShown = 8;
  std::string text = type_str() + " {";
  for (std::int64_t i = 0; i < std::min(numel_, kShown); ++i) {
    if (i > 0) text += ", ";
    visit_dtype(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T x = load<T>(raw(), i);
      if constexpr (kHalf<T>) {
        text += fmt::format("{}", to_float(x));
      } else if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
        text += fmt::format("{}", x);
      } else {
        text += fmt::format("{}", static_cast<std::int64_t>(x));
      }
    });
  }
  return text + (numel_ > kShown ? ", ...}" : "}");
}

void Tensor::check_dtype(DType wanted) const {
  if (wanted != dtype_) {
    throw DTypeError(fmt::format("{} cannot be accessed as {}", type_str(), dtype_name(wanted)));
  }
}

void Tensor::check_item(DType wanted) const {
  if (numel_ != 1) {
    throw ShapeError(
        fmt::format("item() needs a tensor with one element; {} has {}", type_str(), numel_));
  }
  if (defined() && wanted != dtype_) {
    throw DTypeError(fmt::format(
        "item() of {} was called with type {}: use the dtype of the tensor or .at(0), which "
        "converts "
        "any dtype to double, or convert with .to(DType::{})",
        type_str(), dtype_name(wanted), wanted == DType::boolean ? "boolean" : dtype_name(wanted)));
  }
}

void Tensor::check_value_count(const Sizes& sizes, std::size_t count) {
  const std::int64_t n = num_elements(sizes);
  if (static_cast<std::size_t>(n) != count) {
    throw ShapeError(
        fmt::format("{} has {} elements, but {} values were passed", to_string(sizes), n, count));
  }
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace weft
