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

/// The maximum number of bytes of one tensor: the address space of a process on current 64-bit CPUs
/// (128 TiB).
inline constexpr std::size_t kMaxTensorBytes = std::size_t{1} << 47;

/// Returns the number of bytes of a tensor. All tensors, plans and scratch buffers compute their
/// size with this function. Throws ShapeError that names the sizes if a size is negative or if the
/// total exceeds kMaxTensorBytes. Axes of size 0 do not count towards that limit, so that [0, 2^40,
/// 2^40] is rejected as well: kernels may multiply any of a tensor's sizes without overflow.
std::size_t tensor_bytes(DType dtype, const Sizes& sizes);

/// A block of memory with an owner; shared by tensors.
class Buffer {
 public:
  /// Allocates uninitialised memory, aligned to 64 bytes; blocks of 2 MiB and more request huge
  /// pages. The pointer is valid even for zero bytes. Throws StateError if memory is exhausted.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes);
  /// Allocates one buffer for each element of `bytes`, as allocate() does, but places all buffers
  /// below 16 MiB in one block, which is freed with the last of them. Matrices that are read one
  /// after the other then share huge pages, which is up to twice as fast as separate small pages.
  static std::vector<std::shared_ptr<Buffer>> allocate_together(std::span<const std::size_t> bytes);
  /// Wraps memory owned by the caller or by `owner`. `owner` may be null; it is released with the
  /// buffer.
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
  /// True for memory from allocate() and allocate_together(): it is accessible through handles of
  /// this Buffer only.
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
  /// Maps a whole file.
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

/// Row-major, contiguous data of one dtype. A Tensor is a handle: copies share the buffer, clone()
/// copies it. A default-constructed Tensor is undefined.
class Tensor {
 public:
  Tensor() = default;

  /// An uninitialised tensor; takes O(1) time for any size.
  static Tensor empty(DType dtype, Sizes sizes);
  /// Uninitialised tensors, one for each pair, allocated by Buffer::allocate_together().
  static std::vector<Tensor> empty_together(const std::vector<std::pair<DType, Sizes>>& types);
  /// A tensor of zeros.
  static Tensor zeros(DType dtype, Sizes sizes);
  /// A tensor in which every element is `value`, converted to `dtype`.
  static Tensor full(DType dtype, Sizes sizes, double value);
  static Tensor scalar(DType dtype, double value) { return full(dtype, {}, value); }
  /// A copy of `values`; throws ShapeError if their number does not match the sizes.
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
  /// A view of `buffer`, starting at `byte_offset`. Throws ShapeError if it does not fit into the
  /// buffer, or if the offset or the buffer's address is not a multiple of the element size.
  static Tensor view(DType dtype, Sizes sizes, std::shared_ptr<Buffer> buffer,
                     std::size_t byte_offset = 0);
  /// A view of the caller's memory, which must outlive every copy of the tensor.
  static Tensor borrow(DType dtype, Sizes sizes, void* data);

  /// A view of existing row-major elements, without a copy. It is read-only if T is const;
  /// otherwise writes to the tensor modify the elements. The elements must stay valid until the
  /// last copy of the tensor is destroyed; `owner`, if given, keeps them alive and is released
  /// then. The address needs no alignment beyond that of T. Throws ShapeError if the number of
  /// elements does not match the sizes, or if the address is not aligned for T.
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
  /// Deleted: the elements of a temporary would be destroyed at the end of the statement.
  template <class T>
  static Tensor over(const std::vector<T>&& values, Sizes sizes) = delete;
  /// As above, for data with known strides (in elements). Tensors are row-major without gaps, so
  /// this throws ShapeError for any other strides, naming the required ones. Strides of axes of
  /// size 1 are ignored.
  template <class T, std::size_t N>
  static Tensor over(std::span<T, N> values, Sizes sizes, const std::vector<std::int64_t>& strides,
                     std::shared_ptr<const void> owner = nullptr) {
    check_strides(sizes, strides);
    return over(values, std::move(sizes), std::move(owner));
  }

  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  /// The size of an axis; a negative axis counts from the end.
  std::int64_t size(int axis) const;
  int rank() const { return static_cast<int>(sizes_.size()); }
  std::int64_t numel() const { return numel_; }
  std::size_t bytes() const { return static_cast<std::size_t>(numel_) * dtype_size(dtype_); }

  const std::byte* raw() const;
  /// Throws StateError if the buffer is read-only (for example a mapped file).
  std::byte* mutable_raw();
  /// Typed access; throws DTypeError that names both types if T does not match the dtype.
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
  /// The element of a tensor with one element. Throws ShapeError for other tensors, and DTypeError
  /// if T does not match the dtype (at(0) converts any dtype to double).
  template <class T>
  T item() const {
    check_item(dtype_of<T>);
    return *data<T>();
  }

  /// Element `index` of the flattened tensor, converted to double from any dtype.
  double at(std::int64_t index) const;
  /// Sets every element to `value`, converted to the dtype. Throws StateError if the buffer is
  /// read-only.
  void fill(double value);
  /// The same data with other sizes; the number of elements must be equal.
  Tensor reshape(Sizes sizes) const;
  /// A read-only view of the same data (mutable_raw() throws).
  Tensor read_only() const;
  Tensor clone() const;
  /// Returns a copy converted to `dtype`, or the tensor itself if it already has that dtype. The
  /// rules are those of the cast op. To a narrower float: rounds once, to nearest even. Float to
  /// integer: truncates towards zero, saturates values that are out of range, and maps NaN to 0.
  /// Integer to integer: wraps around. To bool: x != 0 (so NaN becomes true). From bool: 0 or 1.
  Tensor to(DType dtype) const;

  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  std::size_t byte_offset() const { return offset_; }
  /// "f32[2, 3]".
  std::string type_str() const;
  /// The type and the first elements, for messages.
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

/// Returns true if dtype, sizes and bytes are equal (NaNs compare by bits).
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
