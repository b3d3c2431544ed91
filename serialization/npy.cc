#include "weft/serialization/npy.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/serialization/files/atomic_file.h"

namespace weft {
namespace {

/// Returns NumPy's name for a dtype, including the byte order.
const char* descriptor(DType dtype) {
  switch (dtype) {
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    case DType::f16: return "<f2";
    case DType::i64: return "<i8";
    case DType::i32: return "<i4";
    case DType::i8: return "|i1";
    case DType::u8: return "|u1";
    case DType::boolean: return "|b1";
    default: break;
  }
  throw DTypeError(
      fmt::format("NumPy files do not support {}: cast the tensor to f32", dtype_name(dtype)));
}

}  // namespace

void write_npy(const std::string& path, const Tensor& tensor) {
  constexpr std::size_t kAligned = 64, kInFront = 10;  // magic, version, length of the header
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += fmt::format("{},", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descriptor(tensor.dtype()), shape);
  const std::size_t whole = (kInFront + header.size() + 1 + kAligned - 1) / kAligned * kAligned;
  header.resize(whole - kInFront - 1, ' ');
  header += '\n';
  const std::string front = std::string(kNpyMagic) + '\x01' + '\0' +
                            static_cast<char>(header.size() & 0xFF) +
                            static_cast<char>(header.size() >> 8);
  AtomicFile file(path);
  file.write(front.data(), front.size());
  file.write(header.data(), header.size());
  file.write(tensor.raw(), tensor.bytes());
  file.commit();
}

}  // namespace weft
