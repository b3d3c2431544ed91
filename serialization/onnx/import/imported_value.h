// The values of an ONNX graph while it is read.
#pragma once

#include <vector>

#include "weft/graph/ir/value.h"

namespace weft::onnx {

/// A value of the ONNX graph: a tensor, a sequence of tensors whose length is known when the file
/// is read, or an empty optional. Optional values that are not empty are represented by their
/// contents.
struct ImportedValue {
  enum class Kind { tensor, sequence, none };
  Kind kind = Kind::tensor;
  Value tensor = {};
  std::vector<ImportedValue> sequence = {};

  /// An operand or output that does not exist.
  ImportedValue() = default;
  ImportedValue(Value value) : tensor(value) {}  // NOLINT(google-explicit-constructor)
  static ImportedValue sequence_of(std::vector<ImportedValue> elements) {
    ImportedValue v;
    v.kind = Kind::sequence;
    v.sequence = std::move(elements);
    return v;
  }
  bool exists() const { return kind != Kind::tensor || tensor.defined(); }
  static ImportedValue none() {
    ImportedValue v;
    v.kind = Kind::none;
    return v;
  }
};

}  // namespace weft::onnx
