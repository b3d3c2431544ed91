// Conversion between the tensors and types of ONNX files and those of Weft. Internal: protobuf
// stays out of public headers.
#pragma once

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
  explicit TensorReader(std::string path);
  ~TensorReader();

  /// Returns the tensor. 4-bit integers are widened to i8 or u8. `what` describes the tensor in
  /// errors. Throws FormatError for a dtype that Weft does not have, sizes that do not match the
  /// data, and external data outside of its file or of the folder.
  Tensor read(const onnx_proto::Tensor& tensor, std::string_view what);

 private:
  struct Files;
  std::string path_;
  std::unique_ptr<Files> files_;  // the mapped files of external data, by name
};

}  // namespace weft::onnx
