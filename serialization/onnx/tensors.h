// Conversion between the tensors and types of ONNX files and those of Weft. Internal: protobuf
// stays out of public headers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"
#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

/// Returns the dtype of a TensorProto.DataType, or nullopt if Weft has none (uint16, string, ...).
std::optional<DType> dtype_of_number(std::int32_t data_type);
/// Returns the TensorProto.DataType of a dtype.
std::int32_t number_of_dtype(DType dtype);
/// Returns "uint16" or "string" for a TensorProto.DataType, and "number 99" for an unknown one.
std::string data_type_name(std::int32_t data_type);

/// Reads tensors of one file, with external data from files in the folder of `path`.
class TensorReader {
 public:
  /// If `messages` is given, it owns the messages that are read, and tensors are views of their raw
  /// data. Otherwise, the data is copied. External data is mapped.
  explicit TensorReader(std::string path, std::shared_ptr<const void> messages = nullptr);
  ~TensorReader();

  /// Returns the tensor. 4-bit integers are widened to i8 or u8. `what` describes the tensor in
  /// errors. Throws FormatError for a dtype that Weft does not have, sizes that do not match the
  /// data, and external data outside of its file or of the folder.
  Tensor read(const onnx_proto::Tensor& tensor, std::string_view what);
  /// Returns a sparse tensor as a dense one. Throws FormatError if it has more than `max_bytes`.
  Tensor read(const onnx_proto::SparseTensor& tensor, std::string_view what,
              std::uint64_t max_bytes);

 private:
  Tensor external(const onnx_proto::Tensor& tensor, DType dtype, const Sizes& sizes,
                  const std::string& what);

  std::string path_;
  std::shared_ptr<const void> messages_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // files of external data
};

}  // namespace weft::onnx
