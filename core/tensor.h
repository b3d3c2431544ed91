// Tensors: concrete data with a dtype, sizes and a shared buffer.
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

/// The maximum size of a tensor in bytes: the size of the address space of a process on current
/// 64-bit CPUs (128 TiB).
inline constexpr std::size_t kMaxTensorBytes = std::size_t{1} << 47;

/// Returns the number of bytes of a tensor. The sizes of all tensors, plans and scratch buffers are
/// computed with this function. Throws ShapeError, naming the sizes, if a size is negative or if
/// the total exceeds kMaxTensorBytes. Axes of size 0 are ignored when checking this limit, so [0,
/// 2^40, 2^40] is rejected as well. Kernels may therefore multiply any of a tensor's sizes without
/// overflow.
std::size_t tensor_bytes(DType dtype, const Sizes& sizes);

/// A block of memory with an owner, shared by tensors.
class Buffer {
 public:
  /// Allocates uninitialised memory, aligned to 64 bytes; blocks of 2 MiB and more request huge
  /// pages. The pointer is valid even for zero bytes. Throws StateError if memory is exhausted.
  static std::shared_ptr<Buffer> allocate(std::size_t bytes);
  /// Allocates one buffer for each element of `bytes` as allocate() does, but places all buffers
  /// smaller than 16 MiB in one block. The block is freed together with the last of these buffers.
  /// Matrices that are read one after another then share huge pages. Reading them is up to twice as
  /// fast as with separate small pages.
  static std::vector<std::shared_ptr<Buffer>> allocate_together(std::span<const std::size_t> bytes);
  /// Wraps memory owned by the caller or by `owner`. `owner` may be null; it is released with the
  /// buffer.
  static std::shared_ptr<Buffer> borrow(void* data, std::size_t bytes,
                                        std::shared_ptr<const void> owner, bool writable);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Returns a pointer to the first byte; never null.
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }
  /// Returns true for memory from allocate() and allocate_together(), which is accessible only
  /// through this Buffer.
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

/// A file that is mapped into memory, read-only.
class MappedFile {
 public:
  /// Maps a whole file. Throws IoError with the path and the reason.
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

/// Row-major, contiguous data of one dtype. A Tensor is a handle: copies share the buffer, whereas
/// clone() copies the data. A default-constructed Tensor is undefined.
class Tensor {
 public:
  Tensor() = default;

  /// Returns an uninitialised tensor. Takes O(1) time for any size.
  static Tensor empty(DType dtype, Sizes sizes);
  /// Returns one uninitialised tensor for each pair, allocated by Buffer::allocate_together().
  static std::vector<Tensor> empty_together(const std::vector<std::pair<DType, Sizes>>& types);
  /// Returns a tensor of zeros.
  static Tensor zeros(DType dtype, Sizes sizes);
  /// Returns a tensor in which every element is `value`, converted to `dtype`.
  static Tensor full(DType dtype, Sizes sizes, double value);
  static Tensor scalar(DType dtype, double value) { return full(dtype, {}, value); }
  /// Returns a tensor with a copy of `values`. Throws ShapeError if their number does not match the
  /// sizes.
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
  /// Returns a view of `buffer`, starting at `byte_offset`. Throws ShapeError if the view does not
  /// fit into the buffer, or if the offset or the address of the buffer is not a multiple of the
  /// element size.
  static Tensor view(DType dtype, Sizes sizes, std::shared_ptr<Buffer> buffer,
                     std::size_t byte_offset = 0);
  /// Returns a view of the caller's memory, which must outlive every copy of the tensor.
  static Tensor borrow(DType dtype, Sizes sizes, void* data);

  /// Returns a view of existing row-major elements without copying them. The view is read-only if T
  /// is const; otherwise, writes to the tensor modify the elements. The elements must stay valid
  /// until the last copy of the tensor is destroyed. `owner`, if given, keeps them alive and is
  /// released at that point. No alignment beyond the alignment of T is required. Throws ShapeError
  /// if the number of elements does not match the sizes, or if the address is not aligned for T.
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
  /// this function throws ShapeError, naming the required strides, for any other strides. Strides
  /// of axes of size 1 are ignored.
  template <class T, std::size_t N>
  static Tensor over(std::span<T, N> values, Sizes sizes, const std::vector<std::int64_t>& strides,
                     std::shared_ptr<const void> owner = nullptr) {
    check_strides(sizes, strides);
    return over(values, std::move(sizes), std::move(owner));
  }

  bool defined() const { return buffer_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Sizes& sizes() const { return sizes_; }
  /// Returns the size of an axis. A negative axis counts from the end.
  std::int64_t size(int axis) const;
  int rank() const { return static_cast<int>(sizes_.size()); }
  std::int64_t numel() const { return numel_; }
  std::size_t bytes() const { return static_cast<std::size_t>(numel_) * dtype_size(dtype_); }

  const std::byte* raw() const;
  /// Throws StateError if the buffer is read-only (for example a mapped file).
  std::byte* mutable_raw();
  /// Typed access to the elements. Throws DTypeError, naming both types, if T does not match the
  /// dtype.
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
  /// Returns the only element of a tensor. Throws ShapeError if the tensor does not have exactly
  /// one element, and DTypeError if T does not match the dtype (at(0) converts any dtype to
  /// double).
  template <class T>
  T item() const {
    check_item(dtype_of<T>);
    return *data<T>();
  }

  /// Returns element `index` of the flattened tensor, converted from any dtype to double.
  double at(std::int64_t index) const;
  /// Sets every element to `value`, converted to the dtype. Throws StateError if the buffer is
  /// read-only.
  void fill(double value);
  /// Returns a tensor that shares the data but has other sizes. The number of elements must be
  /// equal.
  Tensor reshape(Sizes sizes) const;
  /// Returns a read-only view of the same data. mutable_raw() of the view throws.
  Tensor read_only() const;
  Tensor clone() const;
  /// Returns a copy converted to `dtype`, or the tensor itself if it already has that dtype. The
  /// conversion rules are the same as for the cast op. Conversions to a narrower float round once,
  /// to nearest even. Conversions from float to integer truncate towards zero, saturate values that
  /// are out of range, and map NaN to 0. Conversions between integers wrap around. Conversions to
  /// bool yield x != 0, so NaN becomes true. Conversions from bool yield 0 or 1.
  Tensor to(DType dtype) const;

  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  std::size_t byte_offset() const { return offset_; }
  /// Returns, for example, "f32[2, 3]".
  std::string type_str() const;
  /// Returns the type and the first elements, for messages.
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
