// Parser for the terms in graph text statements: types, sizes, numbers, attributes and tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/error.h"
#include "weft/core/tensor.h"
#include "weft/graph/ir/graph.h"
#include "weft/graph/text/scanner.h"
#include "weft/graph/text/text.h"

namespace WEFT_API weft {

/// Parses terms with a Scanner. Errors are FormatErrors with line and column.
class Terms {
 public:
  /// `scan` and `options` must outlive this object. Only ParseOptions::constants is used.
  Terms(Scanner& scan, const ParseOptions& options) : scan_(scan), options_(options) {}

  /// Runs `build` and converts errors thrown by the graph to a FormatError at `position`.
  template <class F>
  auto guard(std::size_t position, F&& build) {
    try {
      return build();
    } catch (const FormatError&) {
      throw;
    } catch (const Error& e) {
      rethrow_at(position, e);
    }
  }

  /// Parse a type, dtype, shape or dim. Symbols must be declared in `g`. A dim ends before one of
  /// `stops`.
  ValueType type(Graph& g);
  DType dtype();
  Shape shape(Graph& g);
  Dim dim(Graph& g, std::string_view stops);

  /// Parses a floating-point number.
  double real();
  /// Parses an integer in [low, high].
  std::int64_t whole(std::int64_t low, std::int64_t high);

  /// Returns true if a dtype with a shape is next. (The name of an op is never followed by "[".)
  bool at_tensor();
  /// Parses a constant, "f32[2] {1, 2}" or "f32[2] constant NAME".
  Tensor tensor(Graph& g);
  /// Parses the value of attribute `name` of `op`. The value has the same type as `like`.
  Attribute attribute(Graph& g, const Attribute& like, const OpRecord& op, std::string_view name);

 private:
  [[noreturn]] void rethrow_at(std::size_t position, const Error& error) const;
  Tensor named_constant(const ValueType& type, const Sizes& sizes);
  template <class F>
  void each(F&& element);

  Scanner& scan_;
  const ParseOptions& options_;
};

}  // namespace weft
