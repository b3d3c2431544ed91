// The messages of an ONNX file, and the lookup of its operators.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

/// Parses a file. Throws FormatError if it is no ONNX model, is damaged or exceeds 2 GiB, and
/// IoError if it cannot be read.
std::shared_ptr<const onnx_proto::Model> parse_model(const std::string& path);

/// The doc_string of initialisers in files that Weft writes, by which they are read as the same
/// kind of value. Other files do not distinguish constants from parameters.
inline constexpr const char *kConstantMark = "weft: constant", *kParameterMark = "weft: parameter",
                            *kFrozenMark = "weft: frozen parameter", *kBufferMark = "weft: buffer";

/// Versions of operator sets, by domain. The default domain is "".
using Opsets = std::map<std::string, std::int64_t, std::less<>>;
Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx_proto::OperatorSet>& imports);
/// Returns "" for "ai.onnx", which is another name of the default domain.
std::string_view canonical_domain(std::string_view domain);
/// Returns "Conv" or "com.microsoft.FastGelu".
std::string operator_name(const onnx_proto::Node& node);

}  // namespace weft::onnx
