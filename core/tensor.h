// Concrete data: dtype, sizes and a shared buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/core/rounding.h"
#include "weft/core/shape.h"

namespace WEFT_API weft {

/// Most bytes of one tensor: what a process can address on the 64-bit CPUs of today (128 TiB).
inline constexpr std::size_t kMaxTensorBytes = std::size_t{1} << 47;

/// Bytes of a tensor: the one place where sizes become bytes, for tensors, plans and scratch.
/// Throws ShapeError that names the sizes for a negative size and for more than kMaxTensorBytes.
/// Axes of size 0 are left out of that bound, so that [0, 2^40, 2^40] is refused as well: kernels
/// may multiply any of a tensor's sizes without overflow.
std::size_t tensor_bytes(DType dtype, const Sizes& sizes);

/// A block of bytes with an owner. Tensors share it.
class Buffer {
 public:
  /// Fresh memory, 64-byte aligned, not initialised; blocks of 2 MiB and more ask for huge pages.
  /// Zero bytes give a valid pointer. Throws StateError where there is no memory.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes);
  /// As allocate() for each of `bytes`, but those below 16 MiB lie in one block, which they keep
  /// alive together: matrices that are read one after the other then share huge pages, which is up
  /// to twice as fast as small pages of their own.
  static std::vector<std::shared_ptr<Buffer>> allocate_together(std::span<const std::size_t> bytes);
  /// Memory that somebody else keeps alive; `owner` (may be null) is released with the buffer.
  static std::shared_ptr<Buffer> borrow(void* data, std::size_t bytes,
                                        std::shared_ptr<const void> owner, bool writable);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// The first byte; never null.
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  /// True for memory of allocate() and allocate_together(): nobody reaches it but through the
  /// handles of this Buffer.
  bool allocated() const { return allocated_; }

 private:
  Buffer() = default;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool owned_ = false;
  bool allocated_ = false;
  bool writable_ = true;
  std::shared_ptr<const void> owner_;
};

/// A file mapped into memory, read-only. Throws IoError with path and reason.
class MappedFile {
 public:
  /// Maps all of a file.
  static std::shared_ptr<MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::string path_;
};

/// Row-major, contiguous data of one dtype. A handle: copies share the buffer (clone() does not).
/// A default-made Tensor is undefined.
class Tensor {
 public:
  Tensor() = default;

  /// Memory that is not initialised: O(1), whatever the sizes.
  static Tensor empty(DType dtype, Sizes sizes);
  /// One for each pair, in memory as Buffer::allocate_together gives it.
  static std::vector<Tensor> empty_together(const std::vector<std::pair<DType, Sizes>>& types);
  /// Every element 0.
  static Tensor zeros(DType dtype, Sizes sizes);
  /// Every element `value`, converted to `dtype`.
  static Tensor full(DType dtype, Sizes sizes, double value);
  static Tensor scalar(DType dtype, double value) { return full(dtype, {}, value); }
  /// Copies `values`; throws ShapeError if their number does not fit the sizes.
  template <class T>
  static Tensor of(Sizes sizes, std::span<const T> values);
  template <class T>
  static Tensor of(Sizes sizes, std::initializer_list<T> values) {
    return of<T>(std::move(sizes), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor of(Sizes sizes, const std::vector<T>& values) {
    return of<T>(std::move(sizes), std::span<const T>(values));
  }
  /// A tensor over `buffer` from `byte_offset` on; throws ShapeError if it does not fit inside, and
  /// if the offset or the buffer's address is not a multiple of the element size.
  static Tensor view(DType dtype, Sizes sizes, std::shared_ptr<Buffer> buffer,
                     std::size_t byte_offset = 0);
  /// A tensor over the caller's memory, which must outlive every copy of the tensor.
  static Tensor borrow(DType dtype, Sizes sizes, void* data);

  /// A tensor over elements that lie elsewhere, row-major, without a copy; read-only where T is
  /// const, else what is written goes there. The caller goes on owning them: they stay where they
  /// are until the last copy of the tensor is gone, or `owner` keeps them alive, which is released
  /// then. Any address of whole elements will do: nothing needs to be aligned beyond T. Throws
  /// ShapeError unless there are as many elements as the sizes say, and for an address that is not
  /// aligned for T.
  ///   std::vector<float> pixels(height * width);
  ///   session.run(predict, {{"x", Tensor::over(pixels, {height, width})}});
  template <class T, std::size_t N>
  static Tensor over(std::span<T, N> values, Sizes sizes,
                     std::shared_ptr<const void> owner = nullptr);
  template <class T>
  static Tensor over(std::vector<T>& values, Sizes sizes) {
    return over(std::span<T>(values), std::move(sizes));
  }
  template <class T>
  static Tensor over(const std::vector<T>& values, Sizes sizes) {
    return over(std::span<const T>(values), std::move(sizes));
  }
  /// Elements that die with this line.
  template <class T>
  static Tensor over(const std::vector<T>&& values, Sizes sizes) = delete;
  /// The same where the caller knows the distance between neighbours along each axis, in elements.
  /// Tensors are row-major without gaps: throws ShapeError for any other strides (those of axes of
  /// size 1 do not count), with those that would do.
  template <class T, std::size_t N>
  static Tensor over(std::span<T, N> values, Sizes sizes, const std::vector<std::int64_t>& strides,
                     std::shared_ptr<const void> owner = nullptr) {
    check_strides(sizes, strides);
    return over(values, std::move(sizes), std::move(owner));
  }

  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  std::int64_t size(int axis) const;  // negative counts from the end
  int rank() const { return static_cast<int>(sizes_.size()); }
  std::int64_t numel() const { return numel_; }
  std::size_t bytes() const { return static_cast<std::size_t>(numel_) * dtype_size(dtype_); }

  const std::byte* raw() const;
  /// Throws StateError where the buffer is read-only (a mapped file, say).
  std::byte* mutable_raw();
  /// Typed access; throws DTypeError naming both types if T is not the tensor's.
  template <class T>
  const T* data() const {
    check_dtype(dtype_of<T>);
    return reinterpret_cast<const T*>(raw());
  }
  template <class T>
  T* mutable_data() {
    check_dtype(dtype_of<T>);
    return reinterpret_cast<T*>(mutable_raw());
  }
  template <class T>
  std::span<const T> span() const {
    return {data<T>(), static_cast<std::size_t>(numel_)};
  }
  template <class T>
  std::vector<T> to_vector() const;
  /// The only element of a tensor with one element; throws ShapeError otherwise, and DTypeError if
  /// T is not the tensor's (at(0) gives any dtype as a double).
  template <class T>
  T item() const {
    check_item(dtype_of<T>);
    return *data<T>();
  }

  /// Element `index` of the flattened tensor as a double, whatever the dtype.
  double at(std::int64_t index) const;
  /// Makes every element `value`, converted to the dtype. Throws StateError where the buffer is
  /// read-only.
  void fill(double value);
  /// Same data, other sizes with as many elements.
  Tensor reshape(Sizes sizes) const;
  /// The same data through a handle that cannot write them (mutable_raw() throws).
  Tensor read_only() const;
  Tensor clone() const;
  /// A converted copy (the tensor itself where the dtype is the same), as op cast makes it. Into a
  /// shorter float: rounded once, to nearest even. Float to integer: truncated towards zero,
  /// saturated where out of range, NaN gives 0. Integer to integer: wraps around. To bool: x != 0
  /// (so NaN gives true); bool counts as 0 or 1.
  Tensor to(DType dtype) const;

  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  std::size_t byte_offset() const { return offset_; }
  /// "f32[2, 3]".
  std::string type_str() const;
  /// Type and the first elements.
  std::string str() const;

 private:
  void check_dtype(DType wanted) const;
  void check_item(DType wanted) const;
  static void check_value_count(const Sizes& sizes, std::size_t count);
  static void check_strides(const Sizes& sizes, const std::vector<std::int64_t>& strides);
  static Tensor over_bytes(DType dtype, Sizes sizes, const void* data, bool writable,
                           std::shared_ptr<const void> owner);

  DType dtype_ = DType::f32;
  Sizes sizes_;
  std::int64_t numel_ = 0;
  std::shared_ptr<Buffer> buffer_;
  std::size_t offset_ = 0;
};

/// Same dtype, sizes and bytes (NaNs compare by bits).
bool bitwise_equal(const Tensor& a, const Tensor& b);

template <class T>
Tensor Tensor::of(Sizes sizes, std::span<const T> values) {
  check_value_count(sizes, values.size());
  Tensor t = empty(dtype_of<T>, std::move(sizes));
  T* out = t.mutable_data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return t;
}

template <class T, std::size_t N>
Tensor Tensor::over(std::span<T, N> values, Sizes sizes, std::shared_ptr<const void> owner) {
  check_value_count(sizes, values.size());
  return over_bytes(dtype_of<std::remove_const_t<T>>, std::move(sizes), values.data(),
                    !std::is_const_v<T>, std::move(owner));
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const T* p = data<T>();
  return std::vector<T>(p, p + numel_);
}

}  // namespace weft
